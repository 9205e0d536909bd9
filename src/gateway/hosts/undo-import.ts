/**
 * Takes an import back. A host's file that is as the import left it is restored byte for byte; in one that was changed
 * since, only our entry goes and the entries we took come back.
 */
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { removeIfEmpty } from './apply-import.ts'
import { readHostBytes } from './host-files.ts'
import type { HostFile, HostName } from './host-files.ts'
import { digestOf, importFolder, readRecord, recordFile } from './import-record.ts'
import type { HostRecord } from './import-record.ts'
import { sameJson } from '../checks/same-json.ts'
import { HOST_ENTRY_NAME } from './plan-import.ts'
import { replaceFile } from './write-file.ts'

export interface UndoneHost {
  readonly host: HostName
  readonly label: string
  readonly path: string
  /**
   * `restored`: byte for byte as before. `untouched`: it already was. `merged`: changed since, so only our entry was
   * taken out and ours put back. `gone`, `unusable`: nothing was done, the copy is at `backup`.
   */
  readonly result: 'restored' | 'untouched' | 'merged' | 'gone' | 'unusable'
  /** In words, for people. */
  readonly detail: string
  /** The copy of the file as it was; undefined when it is not needed any more and was removed. */
  readonly backup?: string
}

export interface UndoneImport {
  readonly hosts: readonly UndoneHost[]
  /** Files of the import that were removed, and those that were kept because they were changed or are still needed. */
  readonly removed: readonly string[]
  readonly kept: readonly string[]
}

/**
 * Undoes the import that wrote this config. Can be repeated when a host's file could not be used.
 *
 * @param configFile absolute.
 * @throws ComityError `not_found` when there is no record of one.
 */
export function undoImport(configFile: string): UndoneImport {
  const record = readRecord(configFile)
  const hosts = record.hosts.map(undoHost)
  const files = record.files.map(({ path }) => path)
  // Without its file the host may still start comity by this config.
  const open = hosts.some(({ result }) => result === 'gone' || result === 'unusable')
  if (open) return { hosts, removed: [], kept: files }

  const removed: string[] = []
  const kept: string[] = []
  const unchanged = record.files.every(
    ({ path, digest }) => existsSync(path) && digestOf(readFileSync(path)) === digest,
  )
  for (const path of files) {
    // A changed config may still name the secrets: then all stay.
    if (unchanged) rmSync(path)
    const list = unchanged ? removed : kept
    list.push(path)
  }
  rmSync(recordFile(configFile))
  for (const folder of new Set(removed.map((path) => dirname(path)))) {
    if (folder !== dirname(configFile)) removeIfEmpty(folder)
  }
  removeIfEmpty(importFolder(configFile))
  return { hosts, removed, kept }
}

function undoHost(record: HostRecord): UndoneHost {
  const { host, label, path, backup } = record
  const base = { host, label, path }
  if (!existsSync(path)) {
    const detail = `${label}'s file is gone; as it was before the import it is at ${backup}`
    return { ...base, result: 'gone', detail, backup }
  }
  const now = readFileSync(path)
  const digest = digestOf(now)
  if (digest === record.before) {
    rmSync(backup, { force: true })
    return {
      ...base,
      result: 'untouched',
      detail: `${label}'s file is as it was before the import`,
    }
  }
  const original = readFileSync(backup)
  if (digest === record.after && digestOf(original) === record.before) {
    replaceFile(path, original, statSync(path).mode & 0o777)
    rmSync(backup)
    return { ...base, result: 'restored', detail: `${label}'s file is restored byte for byte` }
  }
  return mergeHost(record, now, original)
}

function mergeHost(record: HostRecord, now: Buffer, original: Buffer): UndoneHost {
  const { host, label, path, backup } = record
  const base = { host, label, path, backup }
  const file: HostFile = { host, label, path }
  const current = readHostBytes(file, path, now)
  const before = readHostBytes(file, path, original)
  const problem = 'problem' in current ? current.problem : undefined
  if ('problem' in current || 'problem' in before || current.servers === undefined) {
    const reason = problem ?? 'it has no list of servers'
    const detail = `${label}'s file was changed since and cannot be used: ${reason}. As it was before the import it is at ${backup}`
    return { ...base, result: 'unusable', detail }
  }
  const { servers } = current.servers
  const present = new Set(servers.map(({ name }) => name))
  const ours = servers.filter(
    ({ name, value }) => name === HOST_ENTRY_NAME && sameJson(value, JSON.parse(record.entry)),
  )
  const texts = new Map((before.servers?.servers ?? []).map(({ name, text }) => [name, text]))
  const back = record.taken.filter(
    (name) => !present.has(name) || ours.some((entry) => entry.name === name),
  )
  const text = current.servers.replace({
    remove: ours.map(({ name }) => name),
    put: back.flatMap((name) => {
      const own = texts.get(name)
      return own === undefined ? [] : [[name, own] as const]
    }),
  })
  replaceFile(path, text, statSync(path).mode & 0o777)
  const entry =
    ours.length > 0 ? 'our entry was taken out' : 'our entry was gone or changed already'
  const names = back.length > 0 ? `${back.join(', ')} put back` : 'nothing was left to put back'
  const detail = `${label}'s file was changed since the import: ${entry}, ${names}, everything else was kept. As it was before the import it is at ${backup}`
  return { ...base, result: 'merged', detail }
}
