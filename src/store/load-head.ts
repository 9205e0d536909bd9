/** Reads where the chain is: its end, one of its hashes, its beginning. */
import type { DatabaseSync } from 'node:sqlite'

import { chainStart, linkHash } from './chain.ts'
import type { ChainHead } from './commands.ts'
import { ENTRY_COLUMNS, type EntryRow, unfoldRow } from './entry-row.ts'

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
  const row = db
    .prepare(`SELECT ${ENTRY_COLUMNS} FROM entries WHERE seq >= :seq ORDER BY seq LIMIT 1`)
    .get({ seq }) as EntryRow | undefined
  return row?.seq === seq ? row.hash : row && hashInside(db, row, seq)
}

/** Of an entry that is not the last of its row. */
function hashInside(db: DatabaseSync, row: EntryRow, seq: number): string | undefined {
  const links = unfoldRow(db, row)
  const first = links[0]?.seq ?? row.seq
  let hash = first > seq ? undefined : hashAt(db, first - 1)
  for (const link of links) {
    if (hash === undefined || link.seq > seq) return hash
    hash = linkHash(hash, link)
  }
  return undefined
}

function loadStart(db: DatabaseSync): string {
  return chainStart(loadStoreId(db))
}

/** The id that the store's chain begins with. */
export function loadStoreId(db: DatabaseSync): string {
  return String(db.prepare('SELECT id FROM store').get()?.['id'])
}
