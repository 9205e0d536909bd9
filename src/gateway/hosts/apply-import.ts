/**
 * Does what a plan says. Order: secrets and config, checked by loading them; then a copy of each host's file and the
 * record of all; only then the hosts' files. What fails before the last step leaves nothing behind.
 */
import { readFileSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ComityError } from '../../core/words/errors.ts'
import { checkConfig } from '../config/load-config.ts'
import { sayMistakes } from '../config/mistakes.ts'
import type { HostName } from './host-files.ts'
import { digestOf, importFolder, recordFile } from './import-record.ts'
import type { HostRecord, ImportRecord } from './import-record.ts'
import type { ImportPlan, PlannedHost } from './plan-import.ts'
import { makePrivateFolder, replaceFile, writeNew } from './write-file.ts'

export interface ApplyOptions {
  /** Hosts whose files are pointed at comity; the others keep theirs. */
  readonly hosts: readonly HostName[]
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface AppliedImport {
  /** Files made, the config last. */
  readonly written: readonly string[]
  /** Hosts' files that were changed, each with its copy. */
  readonly pointed: readonly {
    readonly host: HostName
    readonly label: string
    readonly path: string
    readonly backup: string
  }[]
}

/**
 * Writes what was planned.
 *
 * @throws ComityError `conflict` when the config is there already or a host's file changed since the plan was made.
 */
export function applyImport(plan: ImportPlan, options: ApplyOptions): AppliedImport {
  const chosen = plan.hosts.filter(({ state }) => options.hosts.includes(state.host))
  const made = createUndoList()
  try {
    const files = [...plan.secrets, { path: plan.configFile, text: plan.configText }]
    for (const { path, text } of files) made.write(path, text)
    checkWritten(plan.configFile, options.env)
    for (const host of chosen) checkUnchanged(host)
    const hosts = chosen.map((host) => backUp(host, plan, made))
    const record: ImportRecord = {
      version: 1,
      files: files.map(({ path, text }) => ({ path, digest: digestOf(text) })),
      hosts,
    }
    made.write(recordFile(plan.configFile), `${JSON.stringify(record, null, 2)}\n`)
    for (const host of chosen) pointHost(host)
    return {
      written: files.map(({ path }) => path),
      pointed: hosts.map(({ host, label, path, backup }) => ({ host, label, path, backup })),
    }
  } catch (error) {
    made.undoUnless(() => chosen.some(isPointed))
    throw error
  }
}

interface UndoList {
  write(path: string, content: string | Uint8Array): void
  /** Removes what was written, unless something depends on it already. */
  undoUnless(needed: () => boolean): void
}

function createUndoList(): UndoList {
  const written: string[] = []
  return {
    write: (path, content) => {
      try {
        makePrivateFolder(dirname(path))
        writeNew(path, content)
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'unwritable'
        if (code === 'EEXIST') {
          const message = `${path} is there already and is not changed; move it away, or name another config with -c`
          throw new ComityError('conflict', message, { cause: error })
        }
        throw new ComityError('not_allowed', `${path} cannot be written (${code})`, {
          cause: error,
        })
      }
      written.push(path)
    },
    undoUnless: (needed) => {
      if (needed()) return
      for (const path of written) rmSync(path, { force: true })
      // The config's own folder holds the others: it goes last.
      const folders = new Set(written.map((path) => dirname(path)))
      for (const folder of [...folders].toSorted((one, other) => other.length - one.length)) {
        removeIfEmpty(folder)
      }
    },
  }
}

/** Removes a folder that has become empty; any other stays. */
export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // Not empty, or not ours to remove: it may stay.
  }
}

function checkWritten(configFile: string, env: ApplyOptions['env']): void {
  const checked = checkConfig(configFile, env)
  if ('config' in checked) return
  throw new ComityError(
    'config_invalid',
    `the config made from the hosts' files does not load, nothing was changed. ${sayMistakes(configFile, checked.mistakes)}`,
  )
}

function checkUnchanged({ state }: PlannedHost): void {
  try {
    if (readFileSync(state.realPath).equals(state.bytes)) return
  } catch {
    // Gone is changed, too.
  }
  throw new ComityError(
    'conflict',
    `${state.label}'s file changed while the import was under way; nothing was changed. Run it again`,
  )
}

function backUp(host: PlannedHost, plan: ImportPlan, made: UndoList): HostRecord {
  const { state } = host
  const before = digestOf(state.bytes)
  const backup = join(importFolder(plan.configFile), `${state.host}-${before.slice(0, 12)}.backup`)
  made.write(backup, state.bytes)
  return {
    host: state.host,
    label: state.label,
    path: state.realPath,
    before,
    after: digestOf(host.text),
    backup,
    taken: [...host.taken],
    entry: JSON.stringify(host.entry),
  }
}

/** The host's file keeps its permissions: it is the host's. */
function pointHost({ state, text }: PlannedHost): void {
  replaceFile(state.realPath, text, statSync(state.realPath).mode & 0o777)
}

function isPointed({ state, text }: PlannedHost): boolean {
  try {
    return readFileSync(state.realPath, 'utf8') === text
  } catch {
    return true
  }
}
