/** Reads the record back: entries, calls, payloads, the chain. On a read-only connection; never waits for the writer. */
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'

import type { Entry, EntryKind } from '../core/words/entry.ts'
import { ComityError } from '../core/words/errors.ts'
import { type CallRow, parseCallRow, SELECT_CALL } from './apply/call-row.ts'
import { saltedSha256 } from './chain.ts'
import { checkHead, checkLinks } from './check-store.ts'
import { checkCheckpoints } from './checkpoint-check.ts'
import { readCheckpoints } from './checkpoint-file.ts'
import { loadCheckpointKey } from './checkpoint-key.ts'
import { readHead } from './head-file.ts'
import { loadHead } from './load-head.ts'
import type { EntryQuery, Records, StoredCall, StoredPayload, Verification } from './store.ts'

const MAX_ENTRIES = 10_000
const MAX_ENTRIES_OF_CALL = 1000
/** Links recomputed before other work gets its turn. */
const VERIFY_SLICE = 1000

const ENTRY_COLUMNS = `seq, at, kind, call_id AS callId, task_id AS taskId, facts, hash`

/** The records of a store's file. */
export function createRecords(db: DatabaseSync, file: string): Records {
  return {
    entries: (query) => loadEntries(db, query ?? {}),
    call: (callId) => loadCall(db, callId),
    payload: (digest) => loadPayload(db, digest),
    verify: () => verify(db, file),
  }
}

function loadEntries(db: DatabaseSync, query: EntryQuery): readonly Entry[] {
  const wanted: Record<string, string | number> = {}
  const conditions: string[] = []
  const where = (condition: string, name: string, value: string | number | undefined): void => {
    if (value === undefined) return
    conditions.push(condition)
    wanted[name] = value
  }
  where('call_id = :callId', 'callId', query.callId)
  where('task_id = :taskId', 'taskId', query.taskId)
  where('kind = :kind', 'kind', query.kind)
  where('seq > :after', 'after', query.after)
  const limit = Math.min(Math.max(query.limit ?? 100, 1), MAX_ENTRIES)
  const order = query.after === undefined ? 'DESC' : 'ASC'
  const rows = db
    .prepare(
      `SELECT ${ENTRY_COLUMNS} FROM entries ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}
       ORDER BY seq ${order} LIMIT ${limit}`,
    )
    .all(wanted)
    .map(parseEntry)
  return order === 'DESC' ? rows.toReversed() : rows
}

function parseEntry(row: Record<string, unknown>): Entry {
  return {
    seq: Number(row['seq']),
    at: String(row['at']),
    kind: String(row['kind']) as EntryKind,
    ...(row['callId'] === null ? {} : { callId: String(row['callId']) }),
    ...(row['taskId'] === null ? {} : { taskId: String(row['taskId']) }),
    facts: parseFacts(String(row['facts'])),
    hash: String(row['hash']),
  }
}

function parseFacts(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>
}

function loadCall(db: DatabaseSync, callId: string): StoredCall | undefined {
  const row = db.prepare(SELECT_CALL).get({ callId })
  if (row === undefined) return undefined
  const call: CallRow = parseCallRow(row)
  const facts = loadOpening(db, call)
  const outcome = call.outcome === null ? undefined : parseFacts(call.outcome)
  const args = payloadOf(db, callId, facts['arguments'])
  const result = payloadOf(db, callId, outcome?.['result'])
  return {
    callId: call.callId,
    state: call.state,
    openedAt: new Date(call.openedAt).toISOString(),
    ...(call.settledAt === null ? {} : { settledAt: new Date(call.settledAt).toISOString() }),
    principal: call.principal,
    sideEffect: call.sideEffect === 1,
    ...(call.taskId === null ? {} : { taskId: call.taskId }),
    facts,
    ...(outcome === undefined ? {} : { outcome }),
    ...(args === undefined ? {} : { arguments: args }),
    ...(result === undefined ? {} : { result }),
    entries: loadEntries(db, { callId, after: 0, limit: MAX_ENTRIES_OF_CALL }),
  }
}

/** What the call is stands in the chain, once. */
function loadOpening(db: DatabaseSync, call: CallRow): Readonly<Record<string, unknown>> {
  const entry = db.prepare('SELECT kind, facts FROM entries WHERE seq = :seq').get({
    seq: call.openedSeq,
  })
  if (entry === undefined) {
    throw new ComityError(
      'store_corrupt',
      `entry ${call.openedSeq}, which opened call ${call.callId}, is missing: restore the store from a copy`,
    )
  }
  const facts = parseFacts(String(entry['facts']))
  const inside = entry['kind'] === 'refused' ? facts['call'] : facts
  return typeof inside === 'object' && inside !== null
    ? (inside as Readonly<Record<string, unknown>>)
    : {}
}

const PAYLOAD = 'SELECT digest, call_id, kind, size, salt, bytes FROM payloads'

function payloadOf(db: DatabaseSync, callId: string, said: unknown): StoredPayload | undefined {
  if (typeof said !== 'object' || said === null || !('digest' in said)) return undefined
  const row = db
    .prepare(`${PAYLOAD} WHERE call_id = :callId AND digest = :digest`)
    .get({ callId, digest: String(said.digest) })
  return row === undefined ? undefined : parsePayload(row)
}

// Without an index: random digests would cost every commit two more pages, and this is a person's question.
function loadPayload(db: DatabaseSync, digest: string): StoredPayload | undefined {
  const row = db.prepare(`${PAYLOAD} WHERE digest = :digest`).get({ digest })
  return row === undefined ? undefined : parsePayload(row)
}

function parsePayload(row: Record<string, unknown>): StoredPayload {
  const digest = String(row['digest'])
  const salt = row['salt'] as Uint8Array
  const bytes = row['bytes'] as Uint8Array | null
  if (bytes !== null && saltedSha256(salt, bytes) !== digest) {
    throw new ComityError(
      'store_corrupt',
      `the payload ${digest} does not fit its digest: it was damaged or changed from outside`,
    )
  }
  return {
    digest,
    callId: String(row['call_id']),
    kind: String(row['kind']),
    size: Number(row['size']),
    salt,
    ...(bytes === null ? {} : { bytes }),
  }
}

function checkEnd(db: DatabaseSync, file: string): ReturnType<typeof checkHead> {
  // The file before the chain: the chain only ever moves on.
  const acknowledged = readHead(file)
  return checkHead(db, loadHead(db), acknowledged)
}

async function verify(db: DatabaseSync, file: string): Promise<Verification> {
  // Files before the chain: the chain only ever moves on.
  const outside = readCheckpoints(file)
  const key = loadCheckpointKey(file)
  const head = loadHead(db)
  // Asked twice: an owner may be writing the head file at this very moment.
  const ended = checkEnd(db, file) === undefined ? undefined : checkEnd(db, file)
  for (let reached = 0; reached < head.seq;) {
    const links = checkLinks(db, reached, Math.min(VERIFY_SLICE, head.seq - reached))
    if (links.fault !== undefined) return { sound: false, ...links.fault }
    if (links.reached === reached) break
    reached = links.reached
    await nextTurn()
  }
  if (ended !== undefined) return { sound: false, ...ended }
  const checkpoints = await checkCheckpoints({ db, file, key }, outside)
  if ('reason' in checkpoints) return { sound: false, ...checkpoints }
  return { sound: true, entries: head.seq, head: head.hash, checkpoints }
}
