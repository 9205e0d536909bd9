/**
 * Is the file what it was when the last owner left it? Asked before anything is written to it.
 *
 * Whatever is wrong is said and stays as it is: nothing is repaired by dropping, nothing is created anew in its place.
 */
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

import { ComityError } from '../core/words/errors.ts'
import { linkHash } from './chain.ts'
import { judgeCheckpoint } from './checkpoint-check.ts'
import { checkpointFileOf, readNewest } from './checkpoint-file.ts'
import { loadCheckpointKey } from './checkpoint-key.ts'
import type { ChainHead } from './commands.ts'
import { ENTRY_COLUMNS, type EntryRow, unfoldRow } from './entry-row.ts'
import { headFileOf, readHead } from './head-file.ts'
import { type ChainFault, hashAt, loadHead } from './load-head.ts'
import { judgeSchema, pragmaNumber } from './migrations/migrate.ts'

/** Entries checked at every open; `verify` checks all. */
const CHECKED_AT_OPEN = 10_000
/** Files up to this size get SQLite's full check at open, larger ones its quick one. */
const FULL_CHECK_BYTES = 67_108_864

/** @throws ComityError `store_corrupt` when a store that was acknowledged is gone. */
export function expectPresent(file: string): void {
  if (!existsSync(file) || statSync(file).size === 0) expectUnborn(file)
}

/**
 * Looks at the file without writing to it: not even SQLite's own clearing away of a log, which may be the evidence.
 *
 * @throws ComityError `store_corrupt`, `not_in_this_version`.
 */
export function judgeFile(file: string): void {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    if (judgeSchema(db, file) > 0) checkStore(db, file)
    else expectUnborn(file)
  } finally {
    db.close()
  }
}

/** An empty store is begun only where none was. */
function expectUnborn(file: string): void {
  const acknowledged = readHead(file)?.seq ?? 0
  const signed = readNewest(file)?.checkpoint?.seq ?? 0
  const entries = Math.max(acknowledged, signed)
  if (entries === 0) return
  throw new ComityError(
    'store_corrupt',
    `the store ${file} is gone or empty, though ${entries} entries were acknowledged: restore it, or delete ${headFileOf(file)} and ${checkpointFileOf(file)} to begin an empty one`,
  )
}

/** @throws ComityError `store_corrupt`, saying what does not fit. */
function checkStore(db: DatabaseSync, file: string): void {
  const full = pragmaNumber(db, 'page_count') * pragmaNumber(db, 'page_size') <= FULL_CHECK_BYTES
  const found = db.prepare(`PRAGMA ${full ? 'integrity_check' : 'quick_check'}(1)`).all()
  const words = Object.values(found[0] ?? {})[0]
  if (words !== 'ok') throw corrupt(file, `SQLite says: ${String(words)}`)
  const head = loadHead(db)
  const fault =
    checkHead(db, head, readHead(file)) ??
    checkNewestCheckpoint(db, file) ??
    checkLinks(db, Math.max(0, head.seq - CHECKED_AT_OPEN), CHECKED_AT_OPEN).fault
  if (fault !== undefined) throw corrupt(file, `entry ${fault.seq}: ${fault.reason}`)
}

/** The newest checkpoint outside must be of this chain: where the head file went with the tail, it is what is left to show it. */
function checkNewestCheckpoint(db: DatabaseSync, file: string): ChainFault | undefined {
  const newest = readNewest(file)
  if (newest === undefined) return undefined
  const where = `the newest line of ${checkpointFileOf(file)}`
  if (newest.checkpoint === undefined) return { seq: 0, reason: `${where} is no checkpoint` }
  return judgeCheckpoint({ db, file, key: loadCheckpointKey(file) }, newest.checkpoint, where)
}

/** Compares the chain's end with what was acknowledged. */
export function checkHead(
  db: DatabaseSync,
  head: ChainHead,
  acknowledged: ChainHead | undefined,
): ChainFault | undefined {
  if (acknowledged === undefined) return undefined
  if (acknowledged.seq > head.seq) {
    return {
      seq: head.seq + 1,
      reason: `missing, with all up to ${acknowledged.seq}, which were acknowledged`,
    }
  }
  const there = hashAt(db, acknowledged.seq)
  return there === acknowledged.hash
    ? undefined
    : { seq: acknowledged.seq, reason: 'is not the entry that was acknowledged' }
}

/** Recomputes the links of at most `limit` rows after the entry `after`. @returns how far it got, and the first fault. */
export function checkLinks(
  db: DatabaseSync,
  after: number,
  limit: number,
): { readonly reached: number; readonly fault?: ChainFault } {
  let previous = hashAt(db, after)
  if (previous === undefined) return { reached: after, fault: { seq: after, reason: 'missing' } }
  let seq = after
  const rows = db.prepare(
    `SELECT ${ENTRY_COLUMNS} FROM entries WHERE seq > :after ORDER BY seq LIMIT :limit`,
  )
  for (const some of rows.iterate({ after, limit })) {
    const row = some as unknown as EntryRow
    for (const link of unfoldRow(db, row)) {
      // Of a row that begins before.
      if (link.seq <= after) continue
      seq += 1
      if (link.seq !== seq) return { reached: seq, fault: { seq, reason: 'missing' } }
      previous = linkHash(previous, link)
    }
    // Of several in one row only the last has its hash beside it, so the row is what is known not to fit.
    if (previous !== row.hash) {
      return { reached: seq, fault: { seq, reason: 'does not fit its hash and the one before it' } }
    }
  }
  return { reached: seq }
}

function corrupt(file: string, words: string): ComityError {
  return new ComityError(
    'store_corrupt',
    `the store ${file} is damaged or was changed from outside (${words}): nothing was touched; keep it, and restore a copy together with its ${headFileOf(file)} and ${checkpointFileOf(file)}`,
  )
}
