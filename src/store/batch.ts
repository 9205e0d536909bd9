/**
 * One batch, one transaction, one barrier. A batch with a bad command in it is applied anew with a savepoint around each, so
 * that the bad one does not take the others.
 *
 * When the disk refuses the whole batch, each command is tried alone: one that is too large must not refuse the small ones.
 */
import type { DatabaseSync } from 'node:sqlite'

import { assertNever } from '../core/words/assert-never.ts'
import { ComityError } from '../core/words/errors.ts'
import { answerApproval, requestApproval } from './apply/approvals.ts'
import { applyCallWords } from './apply/call-words.ts'
import { flushCallRows } from './apply/call-row.ts'
import { commitTask } from './apply/commit-task.ts'
import { keepAsTask } from './apply/keep-task.ts'
import { forgetVerdict, writeVerdict } from './apply/era-verdicts.ts'
import { writeListing } from './apply/kept-listings.ts'
import { claimEffects, releaseEffect } from './apply/leases.ts'
import { openCall, refuseCall } from './apply/open-call.ts'
import { acceptPin, forgetChange, recordChange } from './apply/pins.ts'
import { recoverCalls } from './apply/recover.ts'
import { decideRevision } from './apply/revision-decisions.ts'
import { removeSessions, saveSession, touchSession } from './apply/sessions.ts'
import { markCallerGone, noteCall, settleCall, settleCallByHand } from './apply/settle-call.ts'
import { type Applied, type Command, plainAnswer } from './commands.ts'
import { loadHead } from './load-head.ts'
import { judgeFault } from './sqlite-fault.ts'
import type { Writer } from './writer.ts'

/** What became of a batch. */
export interface BatchApplied {
  /** Whether anything of it was written. */
  readonly written: boolean
  /** By place, the answers that are not the plain ones. */
  readonly told: readonly (readonly [place: number, applied: Applied])[]
}

/**
 * Applies commands in order. Never throws: each command has its own answer.
 *
 * @param read gives them from the first on, each time anew.
 */
export function commitBatch(writer: Writer, read: () => Iterable<Command>): BatchApplied {
  const plainly = inTransaction(writer, () => inOrder(read(), (one) => applyPlainly(writer, one)))
  if ('done' in plainly) return plainly.done
  if (!plainly.committing) {
    const apart = inTransaction(writer, () => inOrder(read(), (one) => applyOne(writer, one)))
    if ('done' in apart) return apart.done
  }
  return inOrder(read(), (command) => {
    const alone = inTransaction(writer, () => applyPlainly(writer, command))
    return 'done' in alone ? alone.done : judgeFault(alone.error)
  })
}

/** @returns what the work did, or why nothing of it stands and whether that was said by the commit itself. */
function inTransaction<T>(
  writer: Writer,
  work: () => T,
): { readonly done: T } | { readonly error: unknown; readonly committing: boolean } {
  const before = writer.head
  let done: T | undefined
  let committing = false
  try {
    writer.runAt('BEGIN IMMEDIATE')
    writer.expectOwner()
    writer.writeTexts()
    done = work()
    flushCallRows(writer)
    committing = true
    writer.runAt('COMMIT')
    writer.keptTexts()
    return { done }
  } catch (error) {
    const reached = writer.head
    writer.calls.clear()
    writer.rows.clear()
    rollBack(writer.db)
    const kept = rereadHead(writer, before)
    // A commit may report a fault after it was done: then the chain has moved, and applying again would double.
    if (done !== undefined && committing && kept.seq > before.seq && kept.hash === reached.hash)
      return { done }
    return { error, committing }
  }
}

/** What comes after a refused word about a call is refused with it: a call must not be settled before it is opened. */
function inOrder(commands: Iterable<Command>, apply: (command: Command) => Applied): BatchApplied {
  const refused = new Map<string, Applied>()
  const told: (readonly [number, Applied])[] = []
  let written = false
  let place = 0
  for (const command of commands) {
    const callId = 'callId' in command ? command.callId : undefined
    const before = callId === undefined || refused.size === 0 ? undefined : refused.get(callId)
    const applied = before ?? apply(command)
    if (applied.ok) written = true
    else if (callId !== undefined && applied.unwritable) refused.set(callId, applied)
    if (!applied.ok || applied.value !== plainAnswer(command)) told.push([place, applied])
    place += 1
  }
  return { written, told }
}

/** Without a savepoint: nearly no command is a bad one, and two statements around each are half of what a read costs here. */
function applyPlainly(writer: Writer, command: Command): Applied {
  begin(writer, command)
  return { ok: true, value: applyCommand(writer, command) }
}

function begin(writer: Writer, command: Command): void {
  if (command.do !== 'call') writer.now = command.now
  if (asksForCalls(writer, command)) flushCallRows(writer)
  writer.calls.begin()
}

function applyOne(writer: Writer, command: Command): Applied {
  const head = writer.head
  begin(writer, command)
  writer.runAt('SAVEPOINT command')
  try {
    const value = applyCommand(writer, command)
    writer.rows.flush()
    writer.runAt('RELEASE command')
    return { ok: true, value }
  } catch (error) {
    writer.rows.clear()
    // Some disk faults end the whole transaction: then the batch is tried again command by command.
    if (!writer.db.isTransaction) throw error
    writer.db.exec('ROLLBACK TO command; RELEASE command')
    writer.rewind(head)
    writer.calls.undo()
    return judgeFault(error)
  }
}

/** Looks for a call by anything but its id, so the table must have what the answer hangs on. */
function asksForCalls({ calls }: Writer, command: Command): boolean {
  if (command.do === 'call') return command.opened?.sideEffect === true && calls.moved
  if (command.do === 'open')
    return command.idempotency !== null || (command.sideEffect && calls.moved)
  return command.do === 'recover'
}

function applyCommand(writer: Writer, command: Command): unknown {
  switch (command.do) {
    case 'call':
      return applyCallWords(writer, command)
    case 'open':
      return openCall(writer, command.callId, command, command)
    case 'refuse':
      return refuseCall(writer, command)
    case 'note':
      return noteCall(writer, command)
    case 'caller_gone':
      return markCallerGone(writer, command.callId)
    case 'settle':
      return settleCall(writer, command.callId, command, command.task)
    case 'settle_by_hand':
      return settleCallByHand(writer, command)
    case 'task_keep':
      return keepAsTask(writer, command)
    case 'task_commit':
      return commitTask(writer, command.commit, command.fence)
    case 'claim':
      return claimEffects(writer, command)
    case 'release':
      return releaseEffect(writer, command)
    case 'approval_request':
      return requestApproval(writer, command)
    case 'approval_answer':
      return answerApproval(writer, command)
    case 'pin_accept':
      return acceptPin(writer, command)
    case 'pin_change':
      return recordChange(writer, command)
    case 'pin_restored':
      return forgetChange(writer, command.pin)
    case 'revision_decide':
      return decideRevision(writer, command.decision)
    case 'session_save':
      return saveSession(writer, command.session)
    case 'listing_write':
      return writeListing(writer, command.peer, command.listing)
    case 'verdict_write':
      return writeVerdict(writer, command.endpoint, command.verdict)
    case 'verdict_forget':
      return forgetVerdict(writer, command.endpoint)
    case 'session_touch':
      return touchSession(writer, command.id, command.lastUsedAt)
    case 'session_remove':
      return removeSessions(writer, command.ids)
    case 'recover':
      return recoverCalls(writer)
    case 'unrecorded':
      return writer.append({ kind: 'recovered', facts: { unrecorded: command.count } })
    default:
      return assertNever(command)
  }
}

function rollBack(db: DatabaseSync): void {
  try {
    if (db.isTransaction) db.exec('ROLLBACK')
  } catch (error) {
    throw new ComityError('store_unwritable', 'the store can neither commit nor roll back', {
      cause: error,
    })
  }
}

function rereadHead(writer: Writer, before: Writer['head']): Writer['head'] {
  try {
    writer.rewind(loadHead(writer.db))
  } catch {
    // Unreadable now: what was true before the batch is the most that can be said.
    writer.rewind(before)
  }
  return writer.head
}
