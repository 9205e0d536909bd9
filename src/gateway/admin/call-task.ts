/** A call that its peer goes on with as a task: waited for like a call, and told with the task. */
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import { OPERATOR } from '../../core/words/principal.ts'
import type { Answer } from '../../core/words/question.ts'
import { ERROR_ARTIFACT, RESULT_ARTIFACT, type TaskRecord } from '../../core/words/task.ts'
import { answerTo } from '../../mcp/downstream/task-question.ts'
import type { CallReport, Live, OutcomeReport } from './operator.ts'
import type { HostParts } from './parts.ts'
import { reportOutcome, reportQuestion } from './reports.ts'
import { waitForTask } from './waits.ts'

/** Where a call goes on that is a task now. */
export interface TaskSealed {
  readonly kind: 'task'
  readonly callId: string
  readonly taskId: string
}

/** An answer of the operator to a task, milliseconds. */
const ANSWER_MS = 60_000

/** Waits until it ends or asks, at most that long. */
export async function followCall(
  parts: HostParts,
  { callId, taskId }: Pick<TaskSealed, 'callId' | 'taskId'>,
  waitMs: number,
  live: Live,
): Promise<CallReport> {
  const task = await waitForTask(parts, taskId, waitMs, live)
  const record = await parts.store.tasks.load(taskId, OPERATOR)
  if (record === undefined) return { callId, outcome: { state: 'working', ran: 'yes' }, task }
  const resultText = await nativeTextOf(parts, record)
  const asks = record.state === 'input_required'
  const sealed: TaskSealed = { kind: 'task', callId, taskId }
  return {
    callId,
    outcome: outcomeOf(record),
    ...(resultText === undefined ? {} : { resultText }),
    ...(asks ? { questions: record.questions.map(reportQuestion), continuation: sealed } : {}),
    task,
  }
}

/** Gives a task the answers of the one who made its call, and goes on waiting. */
export async function answerCall(
  parts: HostParts,
  sealed: TaskSealed,
  answers: readonly Answer[],
  waitMs: number,
  live: Live,
): Promise<CallReport> {
  const task = await parts.store.tasks.load(sealed.taskId, OPERATOR)
  const done = task === undefined ? undefined : await answerTask(parts, task, answers)
  const outcome = done?.outcome
  if (outcome?.state === 'failed' || outcome?.state === 'unknown')
    return { callId: sealed.callId, outcome: reportOutcome(outcome) }
  return followCall(parts, sealed, waitMs, live)
}

/** Each answer in the form that its question takes. */
export async function answerTask(
  parts: HostParts,
  task: TaskRecord,
  answers: readonly Answer[],
): Promise<
  { readonly callId: string; readonly outcome: Outcome; readonly task: TaskRecord } | undefined
> {
  const given = answers.map((answer) => {
    const question = task.questions.find(({ key }) => key === answer.key)
    return question === undefined ? answer : answerTo(question, answer)
  })
  const deadlineAt = parts.clock.now() + ANSWER_MS
  return parts.resume.answer(
    task.id,
    given,
    { principal: task.owner, door: 'operator', deadlineAt },
    {
      signal: AbortSignal.timeout(ANSWER_MS),
      stopReason: () => 'deadline',
      emit: () => undefined,
      can: { form: false, url: false, sampling: false, roots: false },
    },
  )
}

/** What an MCP server handed back, as JSON text; undefined when it has not, or is none. */
export async function nativeTextOf(
  parts: Pick<HostParts, 'store'>,
  task: TaskRecord,
): Promise<string | undefined> {
  if (!task.artifacts.some(({ artifactId }) => isNative(artifactId))) return undefined
  const artifacts = await parts.store.tasks.artifacts(task.id)
  const native = artifacts.find(({ artifactId }) => isNative(artifactId))
  const bytes = native?.content.flatMap((part) => (part.kind === 'raw' ? [part.bytes] : []))
  return bytes === undefined || bytes.length === 0
    ? undefined
    : Buffer.concat(bytes).toString('utf8')
}

function isNative(artifactId: string): boolean {
  return artifactId === RESULT_ARTIFACT || artifactId === ERROR_ARTIFACT
}

/** Whether a call became a task of its peer's. */
export function taskOf({ callId, task }: Dispatched): TaskSealed | undefined {
  return task === undefined ? undefined : { kind: 'task', callId, taskId: task.id }
}

function outcomeOf(task: TaskRecord): OutcomeReport {
  const { because, state, theirWords } = task
  const detail = theirWords === undefined ? {} : { detail: theirWords }
  const hasResult = task.artifacts.some(({ artifactId }) => artifactId === RESULT_ARTIFACT)
  switch (state) {
    case 'failed':
      // A tool that reports an error has run to its end.
      return hasResult
        ? { state: 'completed', ran: 'yes', toolError: true }
        : { state, ran: 'yes', code: 'peer_error', ...detail }
    case 'unknown':
      return {
        state,
        ran: 'unknown',
        ...(because === undefined ? {} : { code: because }),
        ...detail,
      }
    case 'submitted':
      return { state: 'working', ran: 'yes' }
    case 'canceled':
    case 'rejected':
      return { state, ran: 'unknown', ...detail }
    case 'answered':
    case 'auth_required':
    case 'completed':
    case 'input_required':
    case 'working':
      return { state, ran: 'yes' }
  }
}
