/**
 * A message to a task that has a row: it answers what the call behind the skill asks, also after a restart, and only what is
 * asked now.
 *
 * The row tells, never memory: whoever asked may have gone on meanwhile.
 */
import { isTerminal, type TaskRecord } from '../../core/words/task.ts'
import type { Message } from '../wire/messages.ts'
import { paramsFault, protocolFault, type RpcFault, taskNotFound } from './errors.ts'
import type { HeldTask } from './memory.ts'
import type { A2aDesk } from './options.ts'
import { ELSEWHERE, openExchange } from './place-call.ts'
import { readAnswers } from './questions.ts'
import { loadRow } from './tasks.ts'
import type { Visit } from './visit.ts'
import { sayOutcome } from './words.ts'

/** @param held what is remembered of it in this process. @returns the task that was answered. */
export async function answerTask(
  desk: A2aDesk,
  visit: Visit,
  message: Message,
  taskId: string,
  held?: HeldTask,
): Promise<HeldTask | RpcFault> {
  const record = await loadRow(desk, visit, taskId)
  if (record === undefined) return taskNotFound()
  if (message.contextId && message.contextId !== (held?.contextId ?? record.contextId))
    return paramsFault([{ path: 'message.contextId', message: 'not the context of this task' }])
  if (record.state !== 'input_required' || record.questions.length === 0)
    return takesNothing(record)
  const read = readAnswers(message, visit.request.text, record.questions)
  if ('kind' in read) return read
  const { agent, principal } = visit
  const deadlineAt = desk.clock.now() + desk.limits.callMs
  const by = { principal, door: 'a2a 1.0', deadlineAt, servedAs: agent.name }
  const { exchange, close } = openExchange(desk, desk.limits.callMs)
  const answered = await desk.ports.desk
    .answer(record.id, read.answers, by, exchange)
    .finally(close)
  if (answered === undefined) return taskNotFound()
  const { callId, outcome, task } = answered
  if (outcome.state === 'failed')
    return outcome.code === 'unsupported' || outcome.code === 'task_terminal'
      ? takesNothing(task)
      : protocolFault('UNSUPPORTED_OPERATION', sayOutcome(outcome, callId))
  const work = held?.stand.kind === 'placed' ? held.stand.work : ELSEWHERE
  return {
    id: held?.id ?? task.id,
    agent: agent.name,
    contextId: held?.contextId ?? task.contextId ?? '',
    message: undefined,
    stand: { kind: 'placed', task, work },
    since: new Date(desk.clock.now()).toISOString(),
  }
}

function takesNothing({ state }: TaskRecord): RpcFault {
  const words = isTerminal(state)
    ? 'the task has ended; send a new message without taskId, in the same contextId'
    : 'the task takes no further message'
  return protocolFault('UNSUPPORTED_OPERATION', words)
}
