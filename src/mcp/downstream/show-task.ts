/**
 * A task for a caller who takes none: its questions are asked in the call itself, live or by `input_required`, and its end is the
 * end that the call would have had. What still goes on is told with its handle.
 */
import { mcpNative } from '../wire/native.ts'
import { MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
import { encodeJson, setMembers } from '../wire/spans.ts'
import type { Answer as QuestionAnswer, Question } from '../../core/words/question.ts'
import { ERROR_ARTIFACT, RESULT_ARTIFACT, type TaskRecord } from '../../core/words/task.ts'
import type { Answer } from './answer.ts'
import { askedAnswer } from './ask-caller.ts'
import { sealEnvelope } from './envelope.ts'
import type { Delegation, Door } from './options.ts'
import { readPeerError } from './outcome.ts'
import { bearsQuestion, encodeInputRequest } from './question-form.ts'
import { hasArtifact } from './task-artifact.ts'
import { errorOf, resultOf, statusOf } from './task-form.ts'
import { answerTo, mcpQuestion } from './task-question.ts'
import { renderTask } from './task-view.ts'
import type { Visit } from './visit.ts'

/** In which call a task is shown. */
export interface Shown {
  readonly door: Door
  readonly delegation: Delegation
  readonly visit: Visit
  /** What was called, as its caller named it. */
  readonly exposed: string
  /** Rounds of questions before this one. */
  readonly round: number
}

/** The questions of a task as this caller can be asked them; undefined when it cannot, or nothing is asked. */
export function askable(
  { visit, door, round }: Shown,
  task: TaskRecord,
): readonly Question[] | undefined {
  if (task.state !== 'input_required' || round >= door.limits.maxRounds) return undefined
  const questions = task.questions.map((question) => mcpQuestion(question, task.peer))
  const bears = ({ kind }: Question): boolean => kind !== 'text' && visit.can[kind]
  const canBeAsked = visit.era === 'modern' || visit.caller.ask !== undefined
  const all = questions.every((question) => bears(question) && bearsQuestion(visit, question))
  return canBeAsked && all && questions.length > 0 ? questions : undefined
}

/** Asks a caller with a session. @returns what the task is answered. */
export async function askLive(
  { visit }: Shown,
  task: TaskRecord,
  questions: readonly Question[],
): Promise<readonly QuestionAnswer[]> {
  const { caller } = visit
  const { ask } = caller
  if (ask === undefined) return []
  const asked = questions.map((question) => ask.call(caller, question, caller.signal))
  return answersFor(task, await Promise.all(asked))
}

/** The answers that a task takes, in its own form. */
export function answersFor(
  task: TaskRecord,
  answers: readonly QuestionAnswer[],
): readonly QuestionAnswer[] {
  return answers.flatMap((answer) => {
    const question = task.questions.find(({ key }) => key === answer.key)
    return question === undefined ? [] : [answerTo(question, answer)]
  })
}

/** `input_required` for a caller of 2026-07-28, whose retry comes back to the task. */
export function askByRound(
  { door, visit, exposed, round }: Shown,
  task: TaskRecord,
  questions: readonly Question[],
): Answer {
  const requests = questions.map(
    (question) => [question.key, encodeInputRequest(question)] as const,
  )
  const body = setMembers(encodeJson({}), undefined, {
    inputRequests: setMembers(encodeJson({}), undefined, Object.fromEntries(requests)),
  })
  const { callId, peer } = task
  const requestState = sealEnvelope(
    door,
    visit,
    { kind: 'task', taskId: task.id },
    {
      exposed,
      round: round + 1,
      callId,
      validMs: door.limits.questionMs,
    },
  )
  return askedAnswer(body, requestState, { peer, callId })
}

/** How it ended, as the call would have; what has not ended, with its handle. */
export async function showTask(
  { delegation, visit }: Pick<Shown, 'delegation' | 'visit'>,
  task: TaskRecord,
): Promise<Answer> {
  const status = statusOf(task)
  if (status === 'completed' && hasArtifact(task, RESULT_ARTIFACT)) {
    const bytes = await resultOf(delegation, visit, task)
    return { kind: 'result', bytes, revision: MODERN_REVISION }
  }
  if (status === 'failed' && hasArtifact(task, ERROR_ARTIFACT)) {
    const error = await errorOf(delegation, visit, task)
    const relayed = readPeerError(visit, mcpNative(error, MODERN_REVISION))
    if (relayed !== undefined) return relayed
  }
  return renderTask(delegation, visit, task)
}
