/** The row of one call: its state moves open → caller_gone → unknown → settled, and its checksum moves with it. */
import type { Recorded } from '../../core/ports/ledger.ts'
import { ComityError } from '../../core/words/errors.ts'
import { rowSum } from '../chain.ts'
import type { Row, Writer } from '../writer.ts'
import { loadWhole } from './whole-call.ts'

export type CallState = 'open' | 'caller_gone' | 'unknown' | 'settled' | 'refused'

export interface CallRow {
  readonly callId: string
  /** The entry that says what the call is: `opened` or `refused`. */
  readonly openedSeq: number
  readonly openedAt: number
  readonly state: CallState
  readonly sideEffect: number
  /** Kept only while a twin could come. */
  readonly actKey: string | null
  readonly principal: string
  readonly taskId: string | null
  /** Canonical text of the outcome's facts. */
  readonly outcome: string | null
  readonly settledAt: number | null
  /** The caller's key, hashed with its principal; only of calls that were opened and not known never to have run. */
  readonly idempotencyKey: string | null
  /** Of what the caller said under that key. */
  readonly idempotencyDigest: string | null
}

const COLUMNS = `call_id AS callId, opened_seq AS openedSeq, opened_at AS openedAt, state,
  side_effect AS sideEffect, act_key AS actKey, principal, task_id AS taskId, outcome,
  settled_at AS settledAt, idempotency_key AS idempotencyKey,
  idempotency_digest AS idempotencyDigest, sum`

/** The query for one call's row. */
export const SELECT_CALL = `SELECT ${COLUMNS} FROM calls WHERE call_id = :callId`

/** The query for the call that holds an idempotency key. */
export const SELECT_CALL_BY_KEY = `SELECT ${COLUMNS} FROM calls WHERE idempotency_key = :key`

/** Reads a row's columns and checks its sum. @throws ComityError `store_corrupt` when it does not fit. */
export function parseCallRow(row: Row): CallRow {
  const call = row as unknown as CallRow & { readonly sum: string }
  if (sumOf(call) !== call.sum) {
    throw new ComityError(
      'store_corrupt',
      `the record of call ${call.callId} does not fit its checksum: restore the store from a copy`,
    )
  }
  return call
}

/** The row, or undefined when there is no such call. */
export function loadCallRow(writer: Writer, callId: string): CallRow | undefined {
  const held = writer.calls.get(callId)
  if (held !== undefined) return held
  writer.rows.flush()
  const row = writer.get(SELECT_CALL, { callId })
  // One that stands whole in the chain moves no more, and is not held.
  if (row === undefined) return loadWhole(writer.db, callId)
  const call = parseCallRow(row)
  writer.calls.keep(call)
  return call
}

/** The row of a new call. The table has it after the next flush. @throws ComityError `internal` when the id was given out before. */
export function insertCallRow(writer: Writer, call: CallRow): void {
  if (writer.calls.get(call.callId) !== undefined)
    throw new ComityError('internal', `call ${call.callId} is in this store already`)
  writer.calls.put(call, false)
}

/**
 * Moves a call. A settled call's act key is dropped: it is an unsalted digest and no twin can need it.
 *
 * @param call as it was loaded.
 */
export function moveCallRow(
  writer: Writer,
  call: CallRow,
  move: { readonly state: CallState; readonly outcome?: string },
): void {
  const settled = move.state === 'settled'
  const next: CallRow = {
    ...call,
    state: move.state,
    actKey: settled ? null : call.actKey,
    outcome: move.outcome ?? call.outcome,
    settledAt: settled ? writer.now : call.settledAt,
  }
  writer.calls.put(next, true)
}

/**
 * Gives a caller's key back: a call that is known not to have run must not keep the same message from being sent.
 *
 * @param call as it was loaded. With a task it keeps its key: the task is what the message came to.
 */
export function releaseKey(writer: Writer, call: CallRow): CallRow {
  if (call.idempotencyKey === null || call.taskId !== null) return call
  // The column is indexed, so it stays out of what is written for every call; the row's sum follows with the move.
  writer.runAt(RELEASE_KEY, call.callId)
  return { ...call, idempotencyKey: null, idempotencyDigest: null }
}

/** Gives an open call its task. @param call as it was loaded. */
export function nameTask(writer: Writer, call: CallRow, taskId: string): void {
  writer.runAt(NAME_TASK, taskId, call.callId)
  writer.calls.put({ ...call, taskId }, true)
}

const NAME_TASK = `UPDATE calls SET task_id = ? WHERE call_id = ?`

const RELEASE_KEY = `UPDATE calls SET idempotency_key = NULL, idempotency_digest = NULL WHERE call_id = ?`

const UPDATE_CALL = `UPDATE calls SET state = ?, act_key = ?, outcome = ?, settled_at = ?, sum = ? WHERE call_id = ?`

/** Writes what is held. @throws when the disk refuses, or a call or a key is there twice. */
export function flushCallRows(writer: Writer): void {
  writer.calls.flush((call, stored) => {
    const columns = columnsOf(call)
    const sum = rowSum(...columns)
    if (stored) {
      const { state, actKey, outcome, settledAt, callId } = call
      writer.runAt(UPDATE_CALL, state, actKey, outcome, settledAt, sum, callId)
    } else writer.rows.calls.add([...columns, sum])
  })
  writer.rows.flush()
}

/** What is on record under a key. */
export function readRecorded(call: CallRow, digest: string): Recorded {
  const { callId, taskId } = call
  if (call.idempotencyDigest !== digest) return { kind: 'key_conflict', callId }
  return { kind: 'recorded', callId, ...(taskId === null ? {} : { taskId }) }
}

function sumOf(call: CallRow): string {
  return rowSum(...columnsOf(call))
}

/** In the order of the table, which is the sum's. */
function columnsOf(call: CallRow): (string | number | null)[] {
  return [
    call.callId,
    call.openedSeq,
    call.openedAt,
    call.state,
    call.sideEffect,
    call.actKey,
    call.principal,
    call.taskId,
    call.outcome,
    call.settledAt,
    call.idempotencyKey,
    call.idempotencyDigest,
  ]
}
