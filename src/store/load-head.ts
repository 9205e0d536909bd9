/** Reads where the chain is: its end, one of its hashes, its beginning. */
import type { DatabaseSync } from 'node:sqlite'

import { chainStart } from './chain.ts'
import type { ChainHead } from './commands.ts'

/** The first entry that is wrong, and why. */
export type ChainFault = { readonly seq: number; readonly reason: string }

/** The newest entry as the database has it. */
export function loadHead(db: DatabaseSync): ChainHead {
  const last = db.prepare('SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1').get()
  if (last !== undefined) return { seq: Number(last['seq']), hash: String(last['hash']) }
  return { seq: 0, hash: loadStart(db) }
}

/** @returns undefined when there is no such entry. */
export function hashAt(db: DatabaseSync, seq: number): string | undefined {
  if (seq === 0) return loadStart(db)
  const row = db.prepare('SELECT hash FROM entries WHERE seq = :seq').get({ seq })
  return row === undefined ? undefined : String(row['hash'])
}

function loadStart(db: DatabaseSync): string {
  return chainStart(loadStoreId(db))
}

/** The id that the store's chain begins with. */
export function loadStoreId(db: DatabaseSync): string {
  return String(db.prepare('SELECT id FROM store').get()?.['id'])
}
