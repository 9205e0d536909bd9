/**
 * One owner process per store: an exclusive transaction on `<file>.lock`, which the operating system ends with the process,
 * however it ends. `<file>.owner.json` only says who that is and how to reach it; it decides nothing.
 */
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

import { ComityError } from '../core/words/errors.ts'
import { createPrivately } from './private-file.ts'
import { isBusy } from './sqlite-fault.ts'

/** Who owns a store, and the ways to it. */
export interface StoreOwner {
  readonly pid: number
  /** ISO string. */
  readonly since: string
  /** The socket that only this user can open. */
  readonly socket?: string
  readonly url?: string
}

export interface StoreLock {
  /** Says how this process can be reached. */
  announce(ways: { readonly socket?: string; readonly url?: string }): void
  release(): void
}

/** Most bytes of an owner file that are read. */
const MAX_OWNER_FILE = 8192

/**
 * Takes the store for this process.
 *
 * @throws ComityError `store_locked` naming the owner and how to reach it; `store_unwritable` when the disk refuses.
 */
export function lockStore(file: string, now: number): StoreLock {
  const path = `${file}.lock`
  createPrivately(path)
  const db = new DatabaseSync(path)
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (isBusy(error)) throw sayLocked(file)
    throw new ComityError('store_unwritable', `the lock ${path} cannot be taken`, { cause: error })
  }
  const owner: StoreOwner = { pid: process.pid, since: new Date(now).toISOString() }
  try {
    writeOwner(file, owner)
  } catch (error) {
    db.close()
    throw error
  }
  return {
    announce: (ways) => writeOwner(file, { ...owner, ...ways }),
    release: () => {
      const said = parseOwner(file)
      // Not another's: it may have taken the store over.
      if (said?.pid === owner.pid && said.since === owner.since) {
        rmSync(ownerFileOf(file), { force: true })
      }
      db.close()
    },
  }
}

/**
 * Who owns the store now.
 *
 * @returns undefined when nobody does. A file left by an owner that died does not count: the lock is asked.
 */
export function readOwner(file: string): StoreOwner | undefined {
  return isLocked(`${file}.lock`) ? (parseOwner(file) ?? { pid: 0, since: '' }) : undefined
}

function isLocked(path: string): boolean {
  let db: DatabaseSync
  try {
    db = new DatabaseSync(path, { readOnly: true })
  } catch {
    return false
  }
  try {
    // Reading needs a shared lock, which the owner's exclusive one refuses.
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    return false
  } catch (error) {
    return isBusy(error)
  } finally {
    db.close()
  }
}

function sayLocked(file: string): ComityError {
  const owner = parseOwner(file)
  if (owner === undefined) {
    return new ComityError('store_locked', `the store ${file} is in use by another process`)
  }
  const ways = [owner.url, owner.socket === undefined ? undefined : `socket ${owner.socket}`]
  const reach = ways.filter((way) => way !== undefined).join(', ')
  return new ComityError(
    'store_locked',
    `the store ${file} is in use by process ${owner.pid}${owner.since === '' ? '' : ` since ${owner.since}`}; ` +
      (reach === ''
        ? 'stop that process, or name another store'
        : `reach it at ${reach}, or end it (comity stop), or name another store`),
  )
}

function ownerFileOf(file: string): string {
  return `${file}.owner.json`
}

function writeOwner(file: string, owner: StoreOwner): void {
  const path = ownerFileOf(file)
  try {
    // Renamed into place: a reader never sees half of it.
    writeFileSync(`${path}.new`, `${JSON.stringify(owner)}\n`, { mode: 0o600 })
    chmodSync(`${path}.new`, 0o600)
    renameSync(`${path}.new`, path)
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    throw new ComityError(
      'store_unwritable',
      `${path} cannot be written (${words}): free space or make its folder writable, then try again`,
      { cause },
    )
  }
}

function parseOwner(file: string): StoreOwner | undefined {
  try {
    const text = readFileSync(ownerFileOf(file), 'utf8').slice(0, MAX_OWNER_FILE)
    const said: unknown = JSON.parse(text)
    if (typeof said !== 'object' || said === null) return undefined
    const pid = 'pid' in said && typeof said.pid === 'number' ? said.pid : undefined
    if (pid === undefined) return undefined
    return {
      pid,
      since: 'since' in said && typeof said.since === 'string' ? said.since : '',
      ...('socket' in said && typeof said.socket === 'string' ? { socket: said.socket } : {}),
      ...('url' in said && typeof said.url === 'string' ? { url: said.url } : {}),
    }
  } catch {
    return undefined
  }
}
