/**
 * An operator's call in rounds: what it is told when the peer asks, and how the call goes on from the answers.
 *
 * What goes on is plain JSON in the command's hands, sealed by nothing: the socket is its user's alone.
 */
import { nativeOf } from '../../bridge/native-text.ts'
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Continuation } from '../../core/words/call.ts'
import { ComityError } from '../../core/words/errors.ts'
import type { Handle } from '../../core/words/outcome.ts'
import type { Answer, Question } from '../../core/words/question.ts'
import { urlsToOpen } from '../../mcp/downstream/url-required.ts'
import { MODERN_REVISION } from '../../mcp/wire/rev-2026-07-28.ts'
import type { AskingCalls } from './asking.ts'
import type { TaskSealed } from './call-task.ts'
import type { AnswerInput, CallReport, Live } from './operator.ts'
import { reportOutcome, reportQuestion } from './reports.ts'

/** Where a call goes on after questions. */
export type Sealed =
  /** At the peer, with the handle and the approval that the round before left. */
  | {
      readonly kind: 'state'
      readonly callId: string
      readonly handle: Handle
      readonly approvalId?: string
    }
  /** At a task, as which it goes on. */
  | TaskSealed
  /** Here: the peer holds the call open. */
  | { readonly kind: 'parked'; readonly callId: string; readonly parked: string }
  /** From the start: the peer wanted addresses opened first. */
  | {
      readonly kind: 'again'
      readonly callId: string
      readonly peer: string
      readonly approvalId?: string
    }

/** An answer as the peer of an MCP call is given it. */
export function answerOf(input: AnswerInput): Answer {
  const content = input.data ?? (input.text === undefined ? undefined : { answer: input.text })
  const result = {
    action: input.action,
    ...(input.action === 'accept' && content !== undefined ? { content } : {}),
  }
  return { ...input, native: nativeOf('mcp', MODERN_REVISION, result) }
}

/** What the next round hands to core. */
export function continuationOf(
  sealed: Exclude<Sealed, { kind: 'parked' | 'task' }>,
  answers: readonly Answer[],
): Continuation {
  const { kind, callId, approvalId } = sealed
  const approval = approvalId === undefined ? {} : { approvalId }
  return kind === 'state'
    ? { callId, handle: sealed.handle, answers, ...approval }
    : // The peer is given back nothing; the approval goes on.
      {
        callId,
        handle: { peer: sealed.peer, kind: 'mcp_state', sealed: '' },
        answers: [],
        ...approval,
      }
}

/** The answers for a call that waits here. @param report says how it ended, as for any call. */
export async function takeOver(
  asking: AskingCalls,
  { parked, callId }: Extract<Sealed, { kind: 'parked' }>,
  answers: readonly Answer[],
  live: Live,
  report: (ended: Dispatched) => CallReport | Promise<CallReport>,
): Promise<CallReport> {
  const call = asking.find(parked)
  if (call === 'over' || call?.isAwaited() === true)
    throw new ComityError(
      'conflict',
      `the answers of this round were given already; comity explain ${callId} says how the call went`,
    )
  if (call === undefined) {
    const detail = `the call that asked is not waiting here any more; comity explain ${callId} says what is on record`
    return { callId, outcome: { state: 'unknown', ran: 'unknown', code: 'process_died', detail } }
  }
  call.resume(live, answers)
  const next = await call.next()
  return next.kind === 'ended' ? report(next.dispatched) : reportAsked(call, next.questions)
}

/** A call whose peer holds it open, as questions. */
export function reportAsked(
  call: ReturnType<AskingCalls['begin']>,
  questions: ReadonlyMap<string, Question>,
): CallReport {
  const callId = call.callId()
  const sealed: Sealed = { kind: 'parked', callId, parked: call.id }
  return {
    callId,
    outcome: { state: 'input_required', ran: 'yes' },
    questions: [...questions].map(([key, question]) => ({ ...reportQuestion(question), key })),
    continuation: sealed,
  }
}

/** A call that was refused until addresses are opened, as questions. */
export function reportUrls(
  { callId, outcome, approvalId }: Dispatched,
  peer: string,
): CallReport | undefined {
  const urls = urlsToOpen(outcome)
  if (urls === undefined) return undefined
  const approval = approvalId === undefined ? {} : { approvalId }
  const sealed: Sealed = { kind: 'again', callId, peer, ...approval }
  return {
    callId,
    outcome: { state: 'input_required', ran: 'no' },
    questions: urls.map(({ key, url, message }) => ({
      key,
      kind: 'url',
      text: message,
      form: url,
    })),
    continuation: sealed,
  }
}

/** A call that is not made again: its addresses were not opened. */
export function notOpened({ callId, peer }: Extract<Sealed, { kind: 'again' }>): CallReport {
  const detail = `${peer} wants an address opened before it goes on, and that was declined; nothing ran`
  return { callId, outcome: { state: 'failed', ran: 'no', code: 'peer_error', detail } }
}

/** A call that has ended, or whose peer asks and keeps nothing. */
export function reportCall({ callId, outcome, approvalId }: Dispatched): CallReport {
  const native = 'native' in outcome ? outcome.native : undefined
  const sealed: Sealed | undefined =
    outcome.state === 'input_required'
      ? {
          kind: 'state',
          callId,
          handle: outcome.handle,
          ...(approvalId === undefined ? {} : { approvalId }),
        }
      : undefined
  return {
    callId,
    outcome: reportOutcome(outcome),
    ...(native === undefined || sealed !== undefined
      ? {}
      : { resultText: Buffer.from(native.bytes).toString('utf8') }),
    ...(outcome.state === 'input_required'
      ? { questions: outcome.questions.map(reportQuestion), continuation: sealed }
      : {}),
  }
}
