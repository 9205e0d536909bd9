/** Reads the record back: entries, calls, payloads, the chain. On a read-only connection; never waits for the writer. */
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'

import type { Entry, EntryKind } from '../core/words/entry.ts'
import { ComityError } from '../core/words/errors.ts'
import { type CallRow, parseCallRow, SELECT_CALL } from './apply/call-row.ts'
import { loadWhole } from './apply/whole-call.ts'
import { type Link, linkHash } from './chain.ts'
import { checkHead, checkLinks } from './check-store.ts'
import { checkCheckpoints } from './checkpoint-check.ts'
import { readCheckpoints } from './checkpoint-file.ts'
import { loadCheckpointKey } from './checkpoint-key.ts'
import { ENTRY_COLUMNS, type EntryRow, parseFacts, SEVERAL, unfoldRow } from './entry-row.ts'
import { readHead } from './head-file.ts'
import { hashAt, loadHead } from './load-head.ts'
import { loadPayload, loadPayloadOf } from './payloads.ts'
import type { EntryQuery, Records, StoredCall, Verification } from './store.ts'

const MAX_ENTRIES = 10_000
const MAX_ENTRIES_OF_CALL = 1000
/** Links recomputed before other work gets its turn. */
const VERIFY_SLICE = 1000

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
  where(`kind IN (:kind, '${SEVERAL}')`, 'kind', query.kind)
  where('seq > :after', 'after', query.after)
  const limit = Math.min(Math.max(query.limit ?? 100, 1), MAX_ENTRIES)
  const { after } = query
  const order = after === undefined ? 'DESC' : 'ASC'
  const rows = db.prepare(
    `SELECT ${ENTRY_COLUMNS} FROM entries ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}
     ORDER BY seq ${order}`,
  )
  const found: Entry[] = []
  for (const row of rows.iterate(wanted)) {
    const entries = entriesOf(db, row as unknown as EntryRow).filter(
      ({ seq, kind }) => seq > (after ?? 0) && (query.kind ?? kind) === kind,
    )
    found.push(...(after === undefined ? entries.toReversed() : entries))
    if (found.length >= limit) break
  }
  found.length = Math.min(found.length, limit)
  return after === undefined ? found.toReversed() : found
}

/** The entries of a row; of several in one, those before the last have the hashes that follow from the row before. */
function entriesOf(db: DatabaseSync, row: EntryRow): readonly Entry[] {
  const links = unfoldRow(db, row)
  let hash = links.length > 1 ? (hashAt(db, (links[0]?.seq ?? row.seq) - 1) ?? '') : ''
  return links.map((link) => {
    hash = link.seq === row.seq ? row.hash : linkHash(hash, link)
    return entryOf(link, hash)
  })
}

function entryOf({ seq, at, kind, callId, taskId, facts }: Link, hash: string): Entry {
  return {
    seq,
    at,
    kind: kind as EntryKind,
    ...(callId === null ? {} : { callId }),
    ...(taskId === null ? {} : { taskId }),
    facts: parseFacts(facts),
    hash,
  }
}

function loadCall(db: DatabaseSync, callId: string): StoredCall | undefined {
  const row = db.prepare(SELECT_CALL).get({ callId })
  const call = row === undefined ? loadWhole(db, callId) : parseCallRow(row)
  if (call === undefined) return undefined
  const facts = loadOpening(db, call)
  const outcome = call.outcome === null ? undefined : parseFacts(call.outcome)
  const args = loadPayloadOf(db, callId, 'arguments', facts['arguments'])
  const result = loadPayloadOf(db, callId, 'result', outcome?.['result'])
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
  const row = db
    .prepare(`SELECT ${ENTRY_COLUMNS} FROM entries WHERE seq >= :seq ORDER BY seq LIMIT 1`)
    .get({ seq: call.openedSeq }) as EntryRow | undefined
  const links = row === undefined ? [] : unfoldRow(db, row)
  const entry = links.find(({ seq }) => seq === call.openedSeq)
  if (entry === undefined) {
    throw new ComityError(
      'store_corrupt',
      `entry ${call.openedSeq}, which opened call ${call.callId}, is missing: restore the store from a copy`,
    )
  }
  const facts = parseFacts(entry.facts)
  const inside = entry.kind === 'refused' ? facts['call'] : facts
  return typeof inside === 'object' && inside !== null
    ? (inside as Readonly<Record<string, unknown>>)
    : {}
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
