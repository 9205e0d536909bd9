/**
 * Opening a call: idempotency key, twin check, approval spent, task row, entry. All of it or none of it, by the savepoint around the command.
 *
 * The order matters: the same message again is not its own twin, and a twin must not spend the approval of the call it is a twin of.
 */
import type { Opened } from '../../core/ports/ledger.ts'
import { type OpenTerms, type OpenWords, OPENED, type RefuseCommand } from '../commands.ts'
import type { Row, Writer } from '../writer.ts'
import { spendApproval } from './approvals.ts'
import {
  type CallRow,
  insertCallRow,
  parseCallRow,
  readRecorded,
  SELECT_CALL_BY_KEY,
} from './call-row.ts'
import { newestInsisting, recordInsist } from './insists.ts'
import { insertTask } from './task-row.ts'

/** The newest unsettled equal act: whoever overrides that one, or what was sent in its place, knows of all before it. */
const NEWEST_TWIN = `SELECT call_id, opened_at, state FROM calls
  WHERE act_key = :actKey AND state IN ('unknown', 'caller_gone') AND side_effect = 1
  ORDER BY opened_seq DESC LIMIT 1`

/** What nothing else hangs on. */
export const NO_TERMS: OpenTerms = {
  endpoint: '',
  insist: null,
  approvalId: null,
  continues: null,
  idempotency: null,
  task: null,
}

/** Opens a call. */
export function openCall(
  writer: Writer,
  callId: string,
  words: OpenWords,
  terms: OpenTerms,
): Opened {
  const { idempotency } = terms
  const known =
    idempotency === null ? undefined : writer.get(SELECT_CALL_BY_KEY, { key: idempotency.key })
  if (known !== undefined && idempotency !== null)
    return readRecorded(parseCallRow(known), idempotency.digest)
  const twin = words.sideEffect ? writer.get(NEWEST_TWIN, { actKey: words.actKey }) : undefined
  const newest = twin === undefined ? null : newestInsisting(writer, String(twin['call_id']))
  if (twin !== undefined && newest !== null && newest !== terms.insist) return sayTwin(twin, newest)
  if (terms.approvalId !== null) {
    const { endpoint, continues } = terms
    const spender = { callId, principal: words.principal, endpoint, continues }
    if (!spendApproval(writer, terms.approvalId, spender)) return { kind: 'approval_spent' }
  }
  insertCallRow(writer, appendOpening(writer, callId, words, terms))
  if (newest !== null) recordInsist(writer, newest, callId)
  if (terms.task !== null) insertTask(writer, terms.task)
  return OPENED
}

/** Writes the entry of an opening. @returns the row of its call, which nobody holds yet. */
export function appendOpening(
  writer: Writer,
  callId: string,
  words: OpenWords,
  { task, idempotency }: OpenTerms,
): CallRow {
  const facts = writer.withPayload(writer.next, words.facts, words.payload)
  const taskId = task?.id ?? null
  const openedSeq = writer.append({ kind: 'opened', callId, taskId, facts })
  return {
    callId,
    openedSeq,
    openedAt: words.openedAt,
    state: 'open',
    sideEffect: words.sideEffect ? 1 : 0,
    actKey: words.sideEffect ? words.actKey : null,
    principal: words.principal,
    taskId,
    outcome: null,
    settledAt: null,
    idempotencyKey: idempotency?.key ?? null,
    idempotencyDigest: idempotency?.digest ?? null,
  }
}

/** Records a call that the gate stopped: nothing left, nothing ran. */
export function refuseCall(writer: Writer, command: RefuseCommand): void {
  const facts = writer.withPayload(writer.next, command.facts, command.payload)
  const { outcome } = command
  const openedSeq = writer.append({
    kind: 'refused',
    callId: command.callId,
    facts: `{"call":${facts},"outcome":${outcome}}`,
  })
  insertCallRow(writer, {
    callId: command.callId,
    openedSeq,
    openedAt: command.openedAt,
    state: 'refused',
    sideEffect: 0,
    actKey: null,
    principal: command.principal,
    taskId: null,
    outcome,
    settledAt: writer.now,
    idempotencyKey: null,
    idempotencyDigest: null,
  })
}

function sayTwin(twin: Row, newest: string): Opened {
  const callId = String(twin['call_id'])
  return {
    kind: 'twin',
    callId,
    ...(newest === callId ? {} : { insistedBy: newest }),
    openedAt: new Date(Number(twin['opened_at'])).toISOString(),
    state: twin['state'] === 'unknown' ? 'unknown' : 'open_caller_gone',
  }
}
