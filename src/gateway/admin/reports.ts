/** Core's words as the plain JSON that verbs answer with. Pure. */
import { type Outcome, ranOf } from '../../core/words/outcome.ts'
import type { Question } from '../../core/words/question.ts'
import { type TaskRecord, isOfAgent, isTerminal, nextMover } from '../../core/words/task.ts'
import type { OutcomeReport, QuestionReport, TaskReport } from './operator.ts'

export function reportOutcome(outcome: Outcome): OutcomeReport {
  return {
    state: outcome.state,
    ran: ranOf(outcome),
    ...('code' in outcome ? { code: outcome.code } : {}),
    ...('detail' in outcome ? { detail: outcome.detail } : {}),
    ...('toolError' in outcome ? { toolError: outcome.toolError } : {}),
    ...('approvalId' in outcome && outcome.approvalId !== undefined
      ? { approvalId: outcome.approvalId }
      : {}),
    ...('twinOf' in outcome && outcome.twinOf !== undefined ? { twinOf: outcome.twinOf } : {}),
  }
}

/** A question with its form: the schema of an MCP form, the URL of a URL question, the schema in an agent's data part. */
export function reportQuestion(question: Question): QuestionReport {
  const form = formOf(question)
  return {
    key: question.key,
    kind: question.kind,
    text: question.text,
    ...(form === undefined ? {} : { form }),
  }
}

/** @param waited how a wait for it ended; undefined when nobody waited. */
export function reportTask(task: TaskRecord, waited?: 'over' | 'still_working'): TaskReport {
  const { handle } = task
  return {
    taskId: task.id,
    peer: task.peer,
    of: isOfAgent(task) ? 'agent' : 'tool',
    ...(task.capability === undefined ? {} : { capability: task.capability }),
    state: task.state,
    wait: waited ?? 'over',
    next: nextMover(task.state),
    authority: authorityOf(task),
    title: task.title,
    owner: task.owner.id,
    ...(task.servedAs === undefined ? {} : { servedAs: task.servedAs }),
    callId: task.callId,
    ...(handle?.taskId === undefined ? {} : { remoteTaskId: handle.taskId }),
    ...(task.contextId === undefined ? {} : { contextId: task.contextId }),
    ...(task.theirWords === undefined ? {} : { theirWords: task.theirWords }),
    questions: task.questions.map(reportQuestion),
    artifacts: task.artifacts,
    verdict: task.verdict,
    ...(task.ttlMs === undefined
      ? {}
      : { expiresAt: new Date(Date.parse(task.createdAt) + task.ttlMs).toISOString() }),
    createdAt: task.createdAt,
    updatedAt: task.updatedAt,
  }
}

function authorityOf({ state, peer, handle }: TaskRecord): string {
  if (isTerminal(state)) return `comity holds the final copy; ${peer} decided it`
  if (handle === undefined || handle.kind === 'mcp_state')
    return `comity itself: the call to ${peer} runs in its process, and ends with it`
  return `${peer} holds the authoritative state`
}

function formOf(question: Question): unknown {
  const value = question.native.value()
  if (typeof value !== 'object' || value === null) return undefined
  const params =
    'params' in value && typeof value.params === 'object' && value.params !== null
      ? (value.params as Record<string, unknown>)
      : undefined
  if (params !== undefined)
    return question.kind === 'url' ? params['url'] : params['requestedSchema']
  const parts =
    'parts' in value && Array.isArray(value.parts) ? (value.parts as readonly unknown[]) : []
  for (const part of parts) {
    if (typeof part !== 'object' || part === null || !('data' in part)) continue
    const { data } = part
    return typeof data === 'object' && data !== null && 'schema' in data ? data.schema : data
  }
  return undefined
}
