/**
 * Settling a call, by its outcome or by a person's word, and what is noted of it in between.
 *
 * A call is settled once. The peer's own word may come after a person's and then counts more; never the other way round.
 * A person's word also ends the task that the call had made: the peer's late one is on record and moves it no more.
 */
import { assertNever } from '../../core/words/assert-never.ts'
import type { EntryKind } from '../../core/words/entry.ts'
import { ComityError } from '../../core/words/errors.ts'
import { canonicalText, clip } from '../canonical-text.ts'
import type { CommitTask, SettleWords } from '../commands.ts'
import type { Writer } from '../writer.ts'
import { type CallRow, loadCallRow, moveCallRow, releaseKey } from './call-row.ts'
import { commitTask } from './commit-task.ts'
import { failTaskByHand } from './task-row.ts'

const BY_HAND = '{"byHand":'

const BY_HAND_WORDS = {
  ran: 'a person says that it ran; its result is not on record',
  did_not_run: 'a person says that it never ran',
} as const

/** Settles a call and moves its task in the same unit. @returns `late` when a person had ended the task meanwhile. */
export function settleCall(
  writer: Writer,
  callId: string,
  words: SettleWords,
  task: CommitTask | null,
): 'settled' | 'late' {
  const call = expectCall(writer, callId)
  const byHand = call.outcome?.startsWith(BY_HAND) === true
  if (call.state === 'refused' || (call.state === 'settled' && !byHand)) {
    throw new ComityError('conflict', `call ${call.callId} is ${call.state} already`)
  }
  const moved = task === null ? 'committed' : commitTask(writer, task, null)
  const done = byHand && moved === 'stale' ? 'late' : 'settled'
  if (done === 'settled') expectCommitted(moved, call)
  const outcome = writer.withPayload(writer.next, words.outcome, words.payload)
  const taskId = call.taskId ?? task?.task.id ?? null
  const facts = byHand ? `{"afterHand":true,"outcome":${outcome}}` : outcome
  writer.append({ kind: 'settled', callId, taskId, facts })
  // A person has settled it: that nobody knows is no news then.
  if (byHand && words.state === 'unknown') return done
  // The row may have been settled through its task by the commit above.
  const present = expectCall(writer, callId)
  const row = words.neverRan && !byHand ? releaseKey(writer, present) : present
  moveCallRow(writer, row, { state: words.state, outcome })
  return done
}

function expectCommitted(result: 'committed' | 'stale' | 'fenced', call: CallRow): void {
  switch (result) {
    case 'committed':
      return
    case 'stale':
    case 'fenced':
      throw new ComityError(
        'conflict',
        `the task of call ${call.callId} has moved meanwhile (${result}): load it, step again, settle again`,
      )
    default:
      assertNever(result)
  }
}

/** Writes what is known of a call on its way. */
export function noteCall(
  writer: Writer,
  note: { readonly callId: string; readonly kind: EntryKind; readonly facts: string },
): void {
  const call = loadCallRow(writer, note.callId)
  writer.append({
    kind: note.kind,
    callId: note.callId,
    taskId: call?.taskId ?? null,
    facts: writer.bounded(note.facts),
  })
}

/** From now on an equal act is this call's twin. */
export function markCallerGone(writer: Writer, callId: string): void {
  const call = loadCallRow(writer, callId)
  if (call?.state === 'open') moveCallRow(writer, call, { state: 'caller_gone' })
}

/** A person says what became of an unsettled call. */
export function settleCallByHand(
  writer: Writer,
  word: {
    readonly callId: string
    readonly as: 'ran' | 'did_not_run'
    readonly by: string
    readonly note: string
  },
): void {
  const call = expectCall(writer, word.callId)
  if (call.state !== 'unknown' && call.state !== 'caller_gone') {
    throw new ComityError(
      'conflict',
      `call ${call.callId} is ${call.state}; only a call that is unknown, or open with its caller gone, is settled by hand`,
    )
  }
  const facts = { as: word.as, by: clip(word.by, 200), note: clip(word.note, 2000) }
  writer.append({
    kind: 'settled_by_hand',
    callId: call.callId,
    taskId: call.taskId,
    facts,
  })
  const row = word.as === 'did_not_run' ? releaseKey(writer, call) : call
  moveCallRow(writer, row, { state: 'settled', outcome: canonicalText({ byHand: facts }) })
  if (call.taskId !== null) failTaskByHand(writer, call.taskId, BY_HAND_WORDS[word.as])
}

function expectCall(writer: Writer, callId: string): CallRow {
  const call = loadCallRow(writer, callId)
  if (call === undefined) {
    throw new ComityError('not_found', `there is no call ${clip(callId, 100)} in this store`)
  }
  return call
}
