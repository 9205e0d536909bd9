/**
 * A task as the Tasks extension shows it, whatever kind of long work is behind it.
 *
 * `failed` is for faults of the protocol alone: a tool that reports an error has completed, and so has an agent's work that
 * came to nothing, which is told as its result. What nobody knows any more is failed with words that say so; what was told to
 * stop and does not confirm it is cancelled, and says that too.
 *
 * @source io.modelcontextprotocol/tasks (SEP-2663): Task, DetailedTask
 */
import {
  isOfAgent,
  isTerminal,
  RESULT_ARTIFACT,
  SEARCHED,
  type TaskRecord,
} from '../../core/words/task.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson, setMembers } from '../wire/spans.ts'
import type { Delegation, Door } from './options.ts'
import { OUTCOME_META } from './outcome.ts'
import { encodeInputRequest } from './question-form.ts'
import { hasArtifact, ownError, ownResult } from './task-artifact.ts'
import { mcpQuestion } from './task-question.ts'
import { renderTask } from './task-view.ts'
import type { Visit } from './visit.ts'

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** Longest words about a state, characters. */
const MAX_WORDS = 2_000
/** What both forms of tasks in MCP call its status. */
export function statusOf(task: TaskRecord): TaskStatus {
  if (isOfAgent(task)) return statusOfAgent(task)
  switch (task.state) {
    case 'submitted':
    case 'working':
    case 'auth_required':
      return 'working'
    case 'input_required':
      return 'input_required'
    case 'completed':
    case 'answered':
      return 'completed'
    case 'failed':
    case 'rejected':
      return hasArtifact(task, RESULT_ARTIFACT) ? 'completed' : 'failed'
    case 'canceled':
      return 'cancelled'
    case 'unknown':
      if (isLookedFor(task)) return 'working'
      return task.because === 'cancel_unconfirmed' ? 'cancelled' : 'failed'
  }
}

/** What it came to is told by its task's view, never as an error. */
function statusOfAgent(task: TaskRecord): TaskStatus {
  if (task.state === 'input_required') return 'input_required'
  if (task.state === 'canceled') return 'cancelled'
  if (task.state === 'unknown') return isLookedFor(task) ? 'working' : 'completed'
  // Completed is not accepted: there is no result before the verdict.
  return isTerminal(task.state) && task.verdict.state !== 'pending' ? 'completed' : 'working'
}

/** Nobody knows, and it may still come to light. */
function isLookedFor({ handle, cursor, because }: TaskRecord): boolean {
  if (cursor === SEARCHED) return false
  if (handle !== undefined && handle.kind !== 'mcp_state') return true
  return because !== 'cancel_unconfirmed' && because !== 'process_died'
}

/** The members of `Task`. */
export function taskMembers({ limits }: Door, task: TaskRecord): Readonly<Record<string, unknown>> {
  const words = wordsOf(task)
  return {
    taskId: task.id,
    status: statusOf(task),
    ...(words === undefined ? {} : { statusMessage: words }),
    createdAt: task.createdAt,
    lastUpdatedAt: task.updatedAt,
    ttlMs: task.ttlMs ?? null,
    pollIntervalMs: limits.taskPollMs,
  }
}

/** `DetailedTask`: with what is asked, its result or its error. */
export async function encodeDetailedTask(
  door: Door,
  delegation: Delegation,
  visit: Visit,
  task: TaskRecord,
): Promise<Uint8Array> {
  const bytes = encodeJson(taskMembers(door, task))
  switch (statusOf(task)) {
    case 'input_required':
      return setMembers(bytes, undefined, { inputRequests: encodeRequests(task) })
    case 'completed':
      return setMembers(bytes, undefined, { result: await resultOf(delegation, visit, task) })
    case 'failed':
      return setMembers(bytes, undefined, { error: await errorOf(delegation, visit, task) })
    case 'working':
    case 'cancelled':
      return bytes
  }
}

/** The result object of the call, as `tools/call` would have answered it. */
export async function resultOf(
  delegation: Delegation,
  visit: Visit,
  task: TaskRecord,
): Promise<Uint8Array> {
  const own = await ownResult(delegation, visit, task)
  if (own !== undefined) return own
  const rendered = await renderTask(delegation, visit, task)
  return rendered.kind === 'result' ? rendered.bytes : encodeJson({ content: [] })
}

/** The error object that the call came to. */
export async function errorOf(
  delegation: Delegation,
  visit: Visit,
  task: TaskRecord,
): Promise<Uint8Array> {
  const own = await ownError(delegation, visit, task)
  if (own !== undefined) return own
  const state = task.state === 'unknown' ? 'unknown' : 'failed'
  return encodeJson({
    code: RPC_ERRORS.internal,
    message: wordsOf(task) ?? 'the call failed',
    data: { [OUTCOME_META]: { state, callId: task.callId, taskId: task.id } },
  })
}

function wordsOf(task: TaskRecord): string | undefined {
  const theirs = task.theirWords?.slice(0, MAX_WORDS)
  if (task.state === 'unknown') {
    const what =
      task.because === 'process_died'
        ? 'the process in which it ran has ended'
        : (theirs ?? 'its peer does not tell')
    return task.because === 'cancel_unconfirmed'
      ? `told to stop; it is not confirmed that it did, and what it had done stays done (${what})`
      : `it is not known whether this ran to its end: ${what}`
  }
  if (task.state === 'canceled')
    return `stopped; what it had done before stays done${theirs === undefined ? '' : ` (${theirs})`}`
  return theirs
}

function encodeRequests({ questions, peer }: TaskRecord): Uint8Array {
  const requests = questions.map(
    (question) => [question.key, encodeInputRequest(mcpQuestion(question, peer))] as const,
  )
  return setMembers(encodeJson({}), undefined, Object.fromEntries(requests))
}
