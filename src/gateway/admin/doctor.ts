/**
 * The doctor: what of this installation will not work, or not as one thinks, and what to do about each.
 *
 * Looks only: starts no server, owns no store, and asks an address for no more than whether somebody answers.
 */
import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../config/cross-checks.ts'
import { checkConfig } from '../config/load-config.ts'
import { sayPath } from '../config/mistakes.ts'
import { ownerAt } from './call-socket.ts'
import { examineHosts } from './doctor-hosts.ts'
import { examineLogins } from './doctor-logins.ts'
import { examinePeers } from './doctor-peers.ts'
import { examineRevisions } from './doctor-revisions.ts'
import { lookAtFiles, verifyRecordOf } from './look-at-store.ts'
import { OWNER_WORDS } from './owner.ts'

/** One thing that was looked at. */
export interface Finding {
  readonly about: string
  readonly state: 'ok' | 'note' | 'problem'
  /** What was found. Secrets are masked. */
  readonly text: string
  /** What to do about it. */
  readonly todo?: string
}

export interface DoctorPlace {
  readonly configFile: string
  readonly socketOf: (config: Config) => string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly userId: number
  readonly now: number
}

const SPARSE_BYTES = 200 * 1024 * 1024

/** Looks at everything. @returns in the order in which a person would go through it. */
export async function examine(place: DoctorPlace): Promise<readonly Finding[]> {
  const node: Finding = { about: 'node', state: 'ok', text: `Node.js ${process.version}` }
  const checked = checkConfig(place.configFile, place.environment)
  if ('mistakes' in checked) {
    const found = checked.mistakes.map(({ path, line, message }): Finding => ({
      about: 'config',
      state: 'problem',
      text: `${place.configFile}${line === undefined ? '' : `:${line}`}: ${sayPath(path)}: ${message}`,
      todo: 'mend this; nothing else can be looked at before',
    }))
    return [node, ...found]
  }
  const { config } = checked
  const peers = await examinePeers(config, place.environment, place.now)
  return [
    node,
    { about: 'config', state: 'ok', text: `${config.file}: ${sayPeers(config)}` },
    ...config.ignored.map(({ path, reason }): Finding => ({
      about: 'config',
      state: 'note',
      text: `${path} has no effect: ${reason}`,
    })),
    ...(await examineStore(config)),
    examineSocketFolder(dirname(place.socketOf(config)), place.userId),
    await examineOwner(place.socketOf(config)),
    ...peers,
    ...(await examineRevisions(place.socketOf(config))),
    ...examineLogins(config),
    examineCallers(config),
    ...examineHosts(config),
  ]
}

function sayPeers({ peers }: Config): string {
  return peers.length === 0 ? 'no peers' : `${peers.length} peer${peers.length === 1 ? '' : 's'}`
}

async function examineStore({ store }: Config): Promise<readonly Finding[]> {
  const about = 'store'
  const { empty, unwritable, freeBytes } = lookAtFiles(store)
  if (unwritable !== undefined)
    return [
      {
        about,
        state: 'problem',
        text: `${store}: ${unwritable}`,
        todo: 'make it writable for this user, or name another store: in the configuration',
      },
    ]
  const sparse: Finding[] =
    freeBytes !== undefined && freeBytes < SPARSE_BYTES
      ? [
          {
            about,
            state: 'note',
            text: `its disk has ${Math.floor(freeBytes / 1024 / 1024)} MiB left`,
            todo: 'free space: on a full disk acts are refused',
          },
        ]
      : []
  if (empty) return [{ about, state: 'ok', text: `${store}: made at first use` }, ...sparse]
  return [await examineChain(store), ...sparse]
}

async function examineChain(store: string): Promise<Finding> {
  const about = 'store'
  try {
    const { entries, fault, unproven = [] } = await verifyRecordOf(store)
    if (fault !== undefined) {
      const todo = 'the record was changed or damaged outside comity: restore it from a backup'
      return { about, state: 'problem', text: `${store}: ${fault}`, todo }
    }
    const sound = `${store}: chain verified, ${entries} entries`
    if (unproven.length === 0) return { about, state: 'ok', text: sound }
    const todo =
      'restore the missing file from a copy; without one comity makes it anew at its next start and the record says so'
    return {
      about,
      state: 'problem',
      text: `${sound}, but not its end: ${unproven.join('; ')}`,
      todo,
    }
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    const todo = 'restore it from a backup together with its .head and .key, or name another store'
    return { about, state: 'problem', text: words, todo }
  }
}

function examineSocketFolder(folder: string, userId: number): Finding {
  const about = 'socket'
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found === undefined)
    return { about, state: 'ok', text: `${folder}: made at first use, for this user alone` }
  if (!found.isDirectory() || found.uid !== userId)
    return {
      about,
      state: 'problem',
      text: `${folder} is no folder of this user's`,
      todo: 'remove it, or set XDG_RUNTIME_DIR to a folder of yours: whoever owns it could stand in for comity',
    }
  if ((found.mode & 0o077) !== 0)
    return {
      about,
      state: 'note',
      text: `${folder} can be entered by others (mode ${(found.mode & 0o777).toString(8)})`,
      todo: `chmod 700 ${folder}; comity does so itself when it next opens a store`,
    }
  return { about, state: 'ok', text: `${folder}: for this user alone` }
}

async function examineOwner(socket: string): Promise<Finding> {
  const about = 'process'
  try {
    const owner = await ownerAt(socket)
    return owner === undefined
      ? { about, state: 'ok', text: 'none is up; comity mcp and comity up start one' }
      : { about, state: 'ok', text: `process ${owner.pid} is up: ${OWNER_WORDS[owner.kind]}` }
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    return { about, state: 'problem', text: words, todo: 'end that process, then start again' }
  }
}

/** Who may call, as the configuration has it. */
function examineCallers({ tokens, listen }: Config): Finding {
  const about = 'callers'
  if (tokens !== undefined)
    return {
      about,
      state: 'ok',
      text: `${tokens.length} token${tokens.length === 1 ? '' : 's'}: every caller over HTTP has a name`,
    }
  if (!isLoopback(listen.host))
    return {
      about,
      state: 'problem',
      text: `listen.host is ${listen.host} and there is no tokens: section`,
      todo: 'add tokens:, or listen on 127.0.0.1: comity up refuses this',
    }
  return {
    about,
    state: 'note',
    text: 'without tokens: every process on this machine that reaches the loopback port of comity up acts as the principal local, whichever user runs it (Host and Origin are checked against web pages)',
    todo: 'add tokens: where other users share this machine; comity mcp is open to its own user alone',
  }
}
