/**
 * Tokens at rest: sealed texts by place and version, in a small database of their own beside the store.
 *
 * A store has one owner, its tokens have many users: any process of this user may open the file, for as long as it likes.
 * What is overwritten or removed is named by its version, so that nobody undoes what somebody else did meanwhile.
 */
import { DatabaseSync } from 'node:sqlite'

import { ComityError } from '../core/words/errors.ts'
import { pragmaNumber } from './migrations/migrate.ts'
import { createPrivately } from './private-file.ts'
import { isBusy, judgeFault } from './sqlite-fault.ts'
import { createLeases, LEASE_SCHEMA, type LeaseOptions } from './tokens-lease.ts'
import {
  createSealer,
  loadTokenKey,
  makeTokenKey,
  parseTokenKey,
  tokenKeyFileOf,
  type Sealer,
} from './tokens-seal.ts'

export interface TokenFileOptions extends LeaseOptions {
  /** The store beside which it lies, whether or not that one is there. */
  readonly store: string
  /** 32 bytes as base64 or hexadecimal. Default: a file beside the store, made when there is none. */
  readonly key?: string
}

/** Where a text lies: what kind of text, then whose. No part of it is secret. */
export type SealedPlace = readonly [kind: string, ...parts: string[]]

export interface SealedText {
  readonly version: number
  readonly text: string
}

/** Every method throws ComityError `store_unwritable` when the disk refuses, `store_corrupt` when the file is damaged. */
export interface TokenFile {
  /** @throws ComityError `store_corrupt` when what lies there was changed or put there by others. */
  load(place: SealedPlace): SealedText | undefined
  /** 0 when nothing lies there. Also of what does not open. */
  versionOf(place: SealedPlace): number
  /** All places with a text whose beginning is this. */
  places(beginning: SealedPlace): readonly SealedPlace[]
  /** @param version that lies there, 0 for none. @returns false when it is another: then nothing is written. */
  save(place: SealedPlace, text: string, version: number): boolean
  /** As `save`. */
  remove(place: SealedPlace, version: number): boolean
  /** Another number whenever anybody, in this process or another, has written. Cheap. */
  revision(): number
  /** Runs `work` while nobody else runs any for the same place. @throws ComityError `conflict` when others take too long. */
  exclusively<T>(place: SealedPlace, work: () => Promise<T>): Promise<T>
  /** What runs exclusively may still write: it may hold what nobody else will ever get again. */
  close(): void
}

/** Marks the file as ours in its header: "comt". */
const APPLICATION_ID = 0x63_6f_6d_74
const SCHEMA_VERSION = 1
const BUSY_MS = 5000
/** A removed text leaves its version behind: whoever still holds it must not take the next one's for its own. */
const SCHEMA = `
CREATE TABLE sealed (place TEXT PRIMARY KEY, version INTEGER NOT NULL, value BLOB) STRICT, WITHOUT ROWID;
CREATE TABLE key_check (value BLOB NOT NULL) STRICT;
${LEASE_SCHEMA};`
/** What the key is tried on. Not secret. */
const CHECK_WORDS = 'comity tokens'

/** Where the tokens of a store lie. */
export function tokenFileOf(storeFile: string): string {
  return `${storeFile}.tokens`
}

/**
 * Opens the tokens of a store; makes the file, and its key, when there are none.
 *
 * @throws ComityError `config_invalid` for a key that is none, `not_allowed` for a key file that others can read,
 *   `store_corrupt` for another key than the one they were sealed with, `store_unwritable`, `not_in_this_version`.
 */
export function openTokenFile(options: TokenFileOptions): TokenFile {
  const path = tokenFileOf(options.store)
  createPrivately(path)
  const db = new DatabaseSync(path, { timeout: BUSY_MS })
  try {
    return guarded(path, () => {
      useLog(db)
      const sealer = openSealed(db, path, options)
      return assemble(db, path, sealer, options)
    })
  } catch (error) {
    db.close()
    throw error
  }
}

function assemble(
  db: DatabaseSync,
  path: string,
  sealer: Sealer,
  options: LeaseOptions,
): TokenFile {
  const leases = createLeases(db, options)
  const { wrote, revision } = countWrites(db)
  const { load, versionOf, save, remove } = createRows(db, path, sealer)
  const all = db.prepare('SELECT place FROM sealed WHERE value IS NOT NULL ORDER BY place')
  const guard = <T>(work: () => T): T => guarded(path, work)
  let running = 0
  let closed = false
  const closeIfDone = (): void => {
    if (closed && running === 0 && db.isOpen) db.close()
  }
  return {
    load: (place) => guard(() => load(place)),
    versionOf: (place) => guard(() => versionOf(place)),
    places: (beginning) =>
      guard(() =>
        all.all().flatMap((row) => {
          const place = parsePlace(row['place'])
          return place !== undefined && beginning.every((part, index) => part === place[index])
            ? [place]
            : []
        }),
      ),
    save: (place, text, version) => guard(() => wrote(save(place, text, version))),
    remove: (place, version) => guard(() => wrote(remove(place, version))),
    revision: () => guard(revision),
    async exclusively(place, work) {
      running += 1
      try {
        return await leases.exclusively(JSON.stringify(place), sayPlace(place), work)
      } finally {
        running -= 1
        closeIfDone()
      }
    },
    close() {
      closed = true
      closeIfDone()
    },
  }
}

/** SQLite counts what other connections wrote; what this one wrote is counted here. */
function countWrites(db: DatabaseSync): {
  wrote(changed: boolean): boolean
  revision(): number
} {
  const seen = db.prepare('PRAGMA data_version')
  let count = 0
  let last = Number(seen.get()?.['data_version'])
  return {
    wrote(changed) {
      if (changed) count += 1
      return changed
    },
    revision() {
      const now = Number(seen.get()?.['data_version'])
      if (now !== last) count += 1
      last = now
      return count
    },
  }
}

type Rows = Pick<TokenFile, 'load' | 'versionOf' | 'save' | 'remove'>

function createRows(db: DatabaseSync, path: string, sealer: Sealer): Rows {
  const read = db.prepare('SELECT version, value FROM sealed WHERE place = ?')
  const insert = db.prepare(
    `INSERT INTO sealed (place, version, value) VALUES (:place, :next, :value)
     ON CONFLICT (place) DO UPDATE SET version = excluded.version, value = excluded.value
     WHERE version = :last AND value IS NULL`,
  )
  const update = db.prepare(
    'UPDATE sealed SET version = :next, value = :value WHERE place = :place AND version = :version AND value IS NOT NULL',
  )
  const rowOf = (place: SealedPlace): { version: number; value: Uint8Array | undefined } => {
    const row = read.get(JSON.stringify(place))
    const value = row?.['value']
    return {
      version: Number(row?.['version'] ?? 0),
      value: value instanceof Uint8Array ? value : undefined,
    }
  }
  return {
    load(place) {
      const { version, value } = rowOf(place)
      if (value === undefined) return undefined
      const text = sealer.open(value, boundTo(place, version))
      if (text === undefined) throw sayTampered(path, place)
      return { version, text }
    },
    versionOf(place) {
      const { version, value } = rowOf(place)
      return value === undefined ? 0 : version
    },
    save(given, text, version) {
      const place = JSON.stringify(given)
      const last = version === 0 ? rowOf(given).version : version
      const next = last + 1
      const value = sealer.seal(text, boundTo(given, next))
      const { changes } =
        version === 0
          ? insert.run({ place, next, value, last })
          : update.run({ place, next, value, version })
      return changes === 1
    },
    remove(given, version) {
      const place = JSON.stringify(given)
      return update.run({ place, next: version + 1, value: null, version }).changes === 1
    },
  }
}

/** Several processes may try this at once on a new file, and SQLite does not wait for its turn there. */
function useLog(db: DatabaseSync): void {
  const started = performance.now()
  for (;;) {
    try {
      if (db.prepare('PRAGMA journal_mode').get()?.['journal_mode'] === 'wal') return
      db.exec('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() - started > BUSY_MS) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}

/** Schema and key, in one transaction: of processes that begin at once, one makes them. */
function openSealed(db: DatabaseSync, path: string, options: TokenFileOptions): Sealer {
  db.exec('BEGIN IMMEDIATE')
  try {
    const isNew = makeSchema(db, path)
    const sealer = createSealer(keyOf(options, isNew ? undefined : path))
    if (isNew) {
      const check = sealer.seal(CHECK_WORDS, CHECK_WORDS)
      db.prepare('INSERT INTO key_check (value) VALUES (?)').run(check)
    } else {
      const check = db.prepare('SELECT value FROM key_check').get()?.['value']
      const opened = check instanceof Uint8Array ? sealer.open(check, CHECK_WORDS) : undefined
      if (opened !== CHECK_WORDS) throw sayOtherKey(path, options)
    }
    db.exec('COMMIT')
    return sealer
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/** @returns whether it is new. */
function makeSchema(db: DatabaseSync, path: string): boolean {
  const version = pragmaNumber(db, 'user_version')
  const mark = pragmaNumber(db, 'application_id')
  if (version === 0 && mark === 0) {
    const tables = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n']
    if (tables === 0) {
      db.exec(SCHEMA)
      db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; PRAGMA application_id = ${APPLICATION_ID}`)
      return true
    }
  }
  if (mark !== APPLICATION_ID) {
    throw new ComityError(
      'store_corrupt',
      `${path} is a database, but holds no tokens of comity: move it away`,
    )
  }
  if (version > SCHEMA_VERSION) {
    throw new ComityError(
      'not_in_this_version',
      `${path} has schema ${version}, this comity knows up to ${SCHEMA_VERSION}: use the newer comity that made it`,
    )
  }
  return false
}

/** @param holding the file, when there are tokens already: then a key is not made up. */
function keyOf({ key, store }: TokenFileOptions, holding: string | undefined): Uint8Array {
  if (key !== undefined) {
    const parsed = parseTokenKey(key)
    if (parsed !== undefined) return parsed
    throw new ComityError(
      'config_invalid',
      'COMITY_TOKEN_KEY expects 32 bytes as base64 or hexadecimal (openssl rand -base64 32); what is set (not shown) is none',
    )
  }
  const keyFile = tokenKeyFileOf(store)
  const kept = loadTokenKey(keyFile)
  if (kept !== undefined) return kept
  if (holding === undefined) return makeTokenKey(keyFile)
  throw new ComityError(
    'store_corrupt',
    `${keyFile} is missing, and without it the tokens in ${holding} cannot be opened: restore it or set COMITY_TOKEN_KEY, ` +
      `or remove ${holding} and log in anew`,
  )
}

function boundTo(place: SealedPlace, version: number): string {
  return JSON.stringify([version, ...place])
}

function parsePlace(text: unknown): SealedPlace | undefined {
  try {
    const said: unknown = JSON.parse(String(text))
    if (!Array.isArray(said)) return undefined
    const [kind, ...parts] = said.map(String)
    return kind === undefined ? undefined : [kind, ...parts]
  } catch {
    return undefined
  }
}

function sayPlace([kind, ...parts]: SealedPlace): string {
  return `${kind} of ${parts.filter((part) => part !== '').join(', ')}`
}

function sayTampered(path: string, place: SealedPlace): ComityError {
  return new ComityError(
    'store_corrupt',
    `in ${path} the ${sayPlace(place)} do not open: they were changed, or put there from elsewhere. Log out and in again`,
  )
}

function sayOtherKey(path: string, { key, store }: TokenFileOptions): ComityError {
  const which = key === undefined ? tokenKeyFileOf(store) : 'COMITY_TOKEN_KEY'
  return new ComityError(
    'store_corrupt',
    `${which} is not the key that ${path} was sealed with: use that one, or remove ${path} and log in anew`,
  )
}

/** SQLite's faults in our words. */
function guarded<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof ComityError) throw error
    const { code, message } = judgeFault(error)
    if (code === 'store_corrupt' || code === 'store_unwritable') {
      const todo =
        code === 'store_corrupt' ? 'remove it and log in anew' : 'free space or make it writable'
      throw new ComityError(code, `the tokens in ${path} cannot be used: ${todo}`, { cause: error })
    }
    throw new ComityError('internal', `${path}: ${message ?? 'failed'}`, { cause: error })
  }
}
