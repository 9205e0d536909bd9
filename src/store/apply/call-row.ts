/** The row of one call: its state moves open → caller_gone → unknown → settled, and its checksum moves with it. */
import type { Recorded } from '../../core/ports/ledger.ts'
import { ComityError } from '../../core/words/errors.ts'
import { rowSum } from '../chain.ts'
import type { Row, Writer } from '../writer.ts'

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
  /** The caller's key, hashed with its principal; only of calls that were opened. */
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
  const row = writer.get(SELECT_CALL, { callId })
  return row === undefined ? undefined : parseCallRow(row)
}

export function insertCallRow(writer: Writer, call: CallRow): void {
  writer.run(
    `INSERT INTO calls (call_id, opened_seq, opened_at, state, side_effect, act_key, principal, task_id, outcome, settled_at,
       idempotency_key, idempotency_digest, sum)
     VALUES (:callId, :openedSeq, :openedAt, :state, :sideEffect, :actKey, :principal, :taskId, :outcome, :settledAt,
       :idempotencyKey, :idempotencyDigest, :sum)`,
    { ...call, sum: sumOf(call) },
  )
}

/** Moves a call. A settled call's act key is dropped: it is an unsalted digest and no twin can need it. */
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
  writer.run(
    `UPDATE calls SET state = :state, act_key = :actKey, outcome = :outcome, settled_at = :settledAt, sum = :sum
     WHERE call_id = :callId`,
    {
      callId: next.callId,
      state: next.state,
      actKey: next.actKey,
      outcome: next.outcome,
      settledAt: next.settledAt,
      sum: sumOf(next),
    },
  )
}

/** What is on record under a key. */
export function readRecorded(call: CallRow, digest: string): Recorded {
  const { callId, taskId } = call
  if (call.idempotencyDigest !== digest) return { kind: 'key_conflict', callId }
  return { kind: 'recorded', callId, ...(taskId === null ? {} : { taskId }) }
}

function sumOf(call: CallRow): string {
  return rowSum(
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
  )
}
