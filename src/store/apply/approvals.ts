/**
 * Approvals: asked, answered, spent once. Spending happens inside `open`, so that no approval lets two calls through.
 *
 * A clock set back must not lengthen an approval: one that was asked or answered in the future counts as expired.
 */
import type { ApprovalCase, ApprovalState, Approval } from '../../core/words/approval.ts'
import { ComityError } from '../../core/words/errors.ts'
import { clip } from '../canonical-text.ts'
import { rowSum } from '../chain.ts'
import type { ApprovalAnswerCommand, ApprovalRequestCommand } from '../commands.ts'
import type { Row, Writer } from '../writer.ts'

/** Most approvals of one principal that may wait at one time, so that nobody keeps another's from being asked. */
const MAX_PENDING = 250
/** Longest case, in characters of its JSON text. */
const MAX_CASE = 8_388_608
/** How far a clock may step back before approvals lapse. */
const CLOCK_SLACK_MS = 5000

export interface ApprovalRow {
  readonly id: string
  readonly seq: number
  readonly digest: string
  readonly state: 'pending' | 'approved' | 'denied' | 'spent'
  /** The case as JSON text. */
  readonly asked: string
  readonly askedAt: number
  readonly expiresAt: number
  readonly answeredAt: number | null
  readonly answeredBy: string | null
  readonly spentBy: string | null
}

const COLUMNS = `id, seq, digest, state, asked, asked_at AS askedAt, expires_at AS expiresAt,
  answered_at AS answeredAt, answered_by AS answeredBy, spent_by AS spentBy, sum`

const SELECT_APPROVAL = `SELECT ${COLUMNS} FROM approvals WHERE id = :id`
/** Newest first. */
export const SELECT_APPROVALS_BY_DIGEST = `SELECT ${COLUMNS} FROM approvals
  WHERE digest = :digest AND state <> 'spent' ORDER BY seq DESC LIMIT 20`
export const SELECT_APPROVALS = `SELECT ${COLUMNS} FROM approvals ORDER BY seq DESC LIMIT :limit`

/** Reads a row's columns and checks its sum. @throws ComityError `store_corrupt` when it does not fit. */
export function parseApprovalRow(row: Row): ApprovalRow {
  const approval = row as unknown as ApprovalRow & { readonly sum: string }
  if (sumOf(approval) !== approval.sum) {
    throw new ComityError(
      'store_corrupt',
      `the record of approval ${approval.id} does not fit its checksum: restore the store from a copy`,
    )
  }
  return approval
}

/** An approval as core knows it, at this moment. */
export function readApproval(row: ApprovalRow, now: number): Approval {
  const asked = JSON.parse(row.asked) as ApprovalCase
  return {
    ...asked,
    id: row.id,
    state: stateOf(row, now),
    askedAt: new Date(row.askedAt).toISOString(),
    expiresAt: new Date(row.expiresAt).toISOString(),
    ...(row.answeredAt === null ? {} : { answeredAt: new Date(row.answeredAt).toISOString() }),
  }
}

/** Its state at this moment; only what waits or is approved can expire, and a denial stands until its expiry too. */
export function stateOf(row: ApprovalRow, now: number): ApprovalState {
  if (row.state === 'spent') return 'spent'
  const newest = row.answeredAt ?? row.askedAt
  return now >= row.expiresAt || now < newest - CLOCK_SLACK_MS ? 'expired' : row.state
}

/** Asks for an approval; an unexpired one that waits for the same digest is returned instead of a second. */
export function requestApproval(writer: Writer, command: ApprovalRequestCommand): ApprovalRow {
  const waiting = writer
    .all(SELECT_APPROVALS_BY_DIGEST, { digest: command.digest })
    .map(parseApprovalRow)
    .find((row) => stateOf(row, writer.now) === 'pending')
  if (waiting !== undefined) return waiting
  expectRoom(writer, command)
  const asked = Buffer.from(command.asked, 'utf8')
  const kept = { bytes: asked.byteLength, digest: writer.keep(writer.next, { bytes: asked }) }
  const seq = writer.append({
    kind: 'approval_asked',
    facts: { ...command.facts, approvalId: command.id, case: kept, ttlMs: command.ttlMs },
  })
  const row: ApprovalRow = {
    id: command.id,
    seq,
    digest: command.digest,
    state: 'pending',
    asked: command.asked,
    askedAt: writer.now,
    expiresAt: writer.now + command.ttlMs,
    answeredAt: null,
    answeredBy: null,
    spentBy: null,
  }
  writer.run(
    `INSERT INTO approvals (id, seq, digest, state, asked, asked_at, expires_at, answered_at, answered_by, spent_by, sum, principal)
     VALUES (:id, :seq, :digest, :state, :asked, :askedAt, :expiresAt, :answeredAt, :answeredBy, :spentBy, :sum, :principal)`,
    { ...row, sum: sumOf(row), principal: principalOf(command) },
  )
  return row
}

function expectRoom(writer: Writer, command: ApprovalRequestCommand): void {
  if (command.asked.length > MAX_CASE) {
    throw new ComityError(
      'not_allowed',
      `an approval of ${command.asked.length} characters cannot be shown to a person, at most ${MAX_CASE} are kept`,
    )
  }
  const waiting = writer.get(
    `SELECT count(*) AS waiting FROM approvals
     WHERE state = 'pending' AND principal = :principal AND expires_at > :now`,
    { now: writer.now, principal: principalOf(command) },
  )
  if (Number(waiting?.['waiting']) >= MAX_PENDING) {
    throw new ComityError(
      'not_allowed',
      `${MAX_PENDING} approvals of ${clip(principalOf(command), 100)} wait already: a person answers them (comity approvals), or they expire`,
    )
  }
}

function principalOf(command: ApprovalRequestCommand): string {
  return (JSON.parse(command.asked) as ApprovalCase).principal
}

/** A person's answer to a waiting approval. */
export function answerApproval(writer: Writer, command: ApprovalAnswerCommand): ApprovalRow {
  const found = writer.get(SELECT_APPROVAL, { id: command.id })
  if (found === undefined) {
    throw new ComityError('not_found', `there is no approval ${clip(command.id, 100)}`)
  }
  const row = parseApprovalRow(found)
  const state = stateOf(row, writer.now)
  if (state !== 'pending') {
    throw new ComityError(
      'conflict',
      `approval ${row.id} is ${state}: only one that waits can be answered; the same call asks again`,
    )
  }
  const next: ApprovalRow = {
    ...row,
    state: command.state,
    answeredAt: writer.now,
    answeredBy: clip(command.by, 200),
  }
  writer.append({
    kind: 'approval_answered',
    facts: { approvalId: row.id, state: command.state, by: next.answeredBy },
  })
  update(writer, next)
  return next
}

/**
 * Spends an approval for one call. The round that holds a spent one hands it on to the one that continues it, once, so that
 * no round of a call passes twice.
 *
 * @returns false when it is not approved, expired, spent by any other call, or another's.
 */
export function spendApproval(
  writer: Writer,
  id: string,
  call: {
    readonly callId: string
    readonly principal: string
    readonly endpoint: string
    readonly continues: string | null
  },
): boolean {
  const found = writer.get(SELECT_APPROVAL, { id })
  if (found === undefined) return false
  const row = parseApprovalRow(found)
  const state = stateOf(row, writer.now)
  const handedOn = state === 'spent' && row.spentBy === call.continues
  if (state !== 'approved' && !handedOn) return false
  const asked = JSON.parse(row.asked) as ApprovalCase
  if (asked.principal !== call.principal || asked.endpoint !== call.endpoint) return false
  update(writer, { ...row, state: 'spent', spentBy: call.callId })
  return true
}

function update(writer: Writer, row: ApprovalRow): void {
  writer.run(
    `UPDATE approvals SET state = :state, answered_at = :answeredAt, answered_by = :answeredBy, spent_by = :spentBy, sum = :sum
     WHERE id = :id`,
    {
      id: row.id,
      state: row.state,
      answeredAt: row.answeredAt,
      answeredBy: row.answeredBy,
      spentBy: row.spentBy,
      sum: sumOf(row),
    },
  )
}

function sumOf(row: ApprovalRow): string {
  return rowSum(
    row.id,
    row.seq,
    row.digest,
    row.state,
    row.asked,
    row.askedAt,
    row.expiresAt,
    row.answeredAt,
    row.answeredBy,
    row.spentBy,
  )
}
