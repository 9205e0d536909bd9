/**
 * Opening a call: idempotency key, twin check, approval spent, task row, entry. All of it or none of it, by the savepoint around the command.
 *
 * The order matters: the same message again is not its own twin, and a twin must not spend the approval of the call it is a twin of.
 */
import type { Opened } from '../../core/ports/ledger.ts'
import { factsText } from '../canonical-text.ts'
import type { OpenCommand, RefuseCommand } from '../commands.ts'
import type { Row, Writer } from '../writer.ts'
import { spendApproval } from './approvals.ts'
import { insertCallRow, parseCallRow, readRecorded, SELECT_CALL_BY_KEY } from './call-row.ts'
import { newestInsisting, recordInsist } from './insists.ts'
import { insertTask } from './task-row.ts'

/** The newest unsettled equal act: whoever overrides that one, or what was sent in its place, knows of all before it. */
const NEWEST_TWIN = `SELECT call_id, opened_at, state FROM calls
  WHERE act_key = :actKey AND state IN ('unknown', 'caller_gone') AND side_effect = 1
  ORDER BY opened_seq DESC LIMIT 1`

/** Opens a call. */
export function openCall(writer: Writer, command: OpenCommand): Opened {
  const { idempotency } = command
  const known =
    idempotency === null ? undefined : writer.get(SELECT_CALL_BY_KEY, { key: idempotency.key })
  if (known !== undefined && idempotency !== null)
    return readRecorded(parseCallRow(known), idempotency.digest)
  const twin = command.sideEffect ? writer.get(NEWEST_TWIN, { actKey: command.actKey }) : undefined
  const newest = twin === undefined ? null : newestInsisting(writer, String(twin['call_id']))
  if (twin !== undefined && newest !== null && newest !== command.insist)
    return sayTwin(twin, newest)
  if (command.approvalId !== null && !spendApproval(writer, command.approvalId, command)) {
    return { kind: 'approval_spent' }
  }
  const facts = factsText(writer.withPayload(command.callId, command.facts, command.payload))
  const taskId = command.task?.id ?? null
  const openedSeq = writer.append({ kind: 'opened', callId: command.callId, taskId, facts })
  insertCallRow(writer, {
    callId: command.callId,
    openedSeq,
    openedAt: command.openedAt,
    state: 'open',
    sideEffect: command.sideEffect ? 1 : 0,
    actKey: command.sideEffect ? command.actKey : null,
    principal: command.principal,
    taskId,
    outcome: null,
    settledAt: null,
    idempotencyKey: idempotency?.key ?? null,
    idempotencyDigest: idempotency?.digest ?? null,
  })
  if (newest !== null) recordInsist(writer, newest, command.callId)
  if (command.task !== null) insertTask(writer, command.task)
  return { kind: 'opened' }
}

/** Records a call that the gate stopped: nothing left, nothing ran. */
export function refuseCall(writer: Writer, command: RefuseCommand): void {
  const facts = factsText(writer.withPayload(command.callId, command.facts, command.payload))
  const outcome = factsText(command.outcome)
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
