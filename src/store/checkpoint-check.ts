/**
 * What checkpoints prove about a chain, and what is wrong when they do not fit it.
 *
 * A chain by itself cannot show that its end was cut off; the newest checkpoint outside the database can. What is missing is
 * said, too: without the key, or without the file outside, nothing is proven.
 */
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { type Checkpoint, isSigned } from './checkpoint.ts'
import type { ReadCheckpoints } from './checkpoint-file.ts'
import { checkpointFileOf } from './checkpoint-file.ts'
import { type CheckpointKey, checkpointKeyOf } from './checkpoint-key.ts'
import { type ChainFault, hashAt, loadHead, loadStoreId } from './load-head.ts'
import type { CheckpointReport } from './store.ts'

/** Signatures checked before other work gets its turn. */
const SLICE = 100

/** What checkpoints are held against. */
export interface Against {
  readonly db: DatabaseSync
  readonly file: string
  readonly key: CheckpointKey | undefined
}

/** What is wrong with one checkpoint. @param where it stands, in words. */
export function judgeCheckpoint(
  { db, key }: Against,
  checkpoint: Checkpoint,
  where: string,
): ChainFault | undefined {
  const { seq, at } = checkpoint
  if (checkpoint.store !== loadStoreId(db)) {
    return { seq, reason: `${where} is of another store: this database took the place of its own` }
  }
  if (!isSigned(checkpoint)) {
    return { seq, reason: `${where} was changed: its signature does not fit what it says` }
  }
  if (key !== undefined && checkpoint.key !== key.publicKey && seq > key.since) {
    return { seq, reason: `${where} is signed with a foreign key, not with this store's` }
  }
  const hash = hashAt(db, seq)
  if (hash === checkpoint.hash) return undefined
  if (hash !== undefined) {
    return { seq, reason: `is not the entry that was signed on ${at} (${where})` }
  }
  const { seq: last } = loadHead(db)
  return {
    seq: Math.min(seq, last + 1),
    reason: `the chain was cut: it ends at entry ${last}, though entry ${seq} was signed on ${at} (${where})`,
  }
}

/**
 * Holds every checkpoint against the chain.
 *
 * @param outside the file as it was read before the chain was: the chain only ever moves on.
 */
export async function checkCheckpoints(
  against: Against,
  outside: ReadCheckpoints | undefined,
): Promise<CheckpointReport | ChainFault> {
  const inside = loadCheckpoints(against.db)
  // Outside first: where a whole database was put in place of another, its own checkpoints fit it.
  const path = checkpointFileOf(against.file)
  for (const [index, checkpoint] of (outside?.lines ?? []).entries()) {
    if (index % SLICE === SLICE - 1) await nextTurn()
    const where = `line ${index + 1} of ${outside?.cut === true ? 'the end of ' : ''}${path}`
    if (checkpoint === undefined) {
      return { seq: loadHead(against.db).seq, reason: `${where} is no checkpoint: it was changed` }
    }
    const fault = judgeCheckpoint(against, checkpoint, where)
    if (fault !== undefined) return fault
  }
  for (const [index, checkpoint] of inside.entries()) {
    if (index % SLICE === SLICE - 1) await nextTurn()
    const where = `the checkpoint of entry ${checkpoint.seq} in the database`
    const fault = judgeCheckpoint(against, checkpoint, where)
    if (fault !== undefined) return fault
  }
  return report(against, inside, outside)
}

function report(
  { db, file, key }: Against,
  inside: readonly Checkpoint[],
  outside: ReadCheckpoints | undefined,
): CheckpointReport {
  const lines = (outside?.lines ?? []).filter((line) => line !== undefined)
  const count = new Set([...inside, ...lines].map(({ seq }) => seq)).size
  const notes: string[] = []
  if (count === 0) {
    notes.push(
      'there is no checkpoint yet: a tail cut off together with the head file would not show',
    )
    return { state: 'none', count, notes }
  }
  const newest = lines.at(-1)
  if (newest === undefined) {
    notes.push(
      `${checkpointFileOf(file)} is missing or empty, though the database has ${inside.length} checkpoints: a cut tail would not show; restore it from a copy`,
    )
  }
  if (key === undefined) {
    notes.push(
      `${checkpointKeyOf(file)} is missing: anybody could have signed these checkpoints; restore it from a copy`,
    )
  }
  const earlier = lines.filter((line) => key !== undefined && line.key !== key.publicKey).length
  if (earlier > 0) {
    notes.push(
      `${earlier} checkpoints up to entry ${key?.since ?? 0} are of an earlier key that is gone: they show damage, not forgery`,
    )
  }
  if (outside?.cut === true) notes.push('only the end of the file of checkpoints was read')
  const after = newest === undefined ? 0 : loadHead(db).seq - newest.seq
  if (after > 0) notes.push(`${after} entries are newer than the newest checkpoint`)
  return {
    state: newest === undefined || key === undefined ? 'unproven' : 'proven',
    count,
    ...(newest === undefined ? {} : { newest: { seq: newest.seq, at: newest.at } }),
    ...(key === undefined ? {} : { key: key.publicKey }),
    notes,
  }
}

function loadCheckpoints(db: DatabaseSync): readonly Checkpoint[] {
  // A store that no newer comity has opened yet has no such table.
  const known = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'checkpoints'`).get()
  if (known === undefined) return []
  const store = loadStoreId(db)
  return db
    .prepare('SELECT seq, at, hash, key, signature FROM checkpoints ORDER BY seq')
    .all()
    .map((row) => ({
      store,
      seq: Number(row['seq']),
      at: String(row['at']),
      hash: String(row['hash']),
      key: String(row['key']),
      signature: String(row['signature']),
    }))
}
