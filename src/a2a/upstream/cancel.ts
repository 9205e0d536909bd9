/**
 * Asks an agent to stop a task and says what is confirmed. It never says "undone".
 *
 * Only an explicit wish comes here: no dropped connection, no deadline and no shutdown does.
 *
 * @source A2A 1.0.1, 3.1.5 (CancelTask is best effort)
 */
import type { CancelReport } from '../../core/ports/upstream.ts'
import { encodeWire } from '../wire/codec.ts'
import { isTerminal, METHODS } from '../wire/rev-1-0.ts'
import type { TaskRef } from './handle.ts'
import type { AgentLink } from './link.ts'
import { newsOfSnapshot, readTask, type Snapshot, takeTask, tenantOf } from './read-task.ts'

/** Milliseconds each of the two requests may take. */
export interface CancelOptions {
  readonly timeoutMs: number
}

/** Sends CancelTask once, then reads the task where the reply does not settle it. */
export async function cancelTask(
  link: AgentLink,
  ref: TaskRef,
  options: CancelOptions,
  signal: AbortSignal,
): Promise<CancelReport> {
  const reply = await link.rpc.send({
    method: METHODS.cancelTask,
    params: JSON.stringify(encodeWire('CancelTaskRequest', { ...tenantOf(ref), id: ref.taskId })),
    wireId: link.wireId(),
    signal,
    timeoutMs: options.timeoutMs,
    act: true,
  })
  if (reply.kind === 'result') {
    const taken = takeTask(link.peer, reply.received, ref)
    if ('snapshot' in taken && isTerminal(taken.snapshot.task.status.state)) {
      return reportOf(taken.snapshot, 'the agent confirms it')
    }
  }
  if (reply.kind === 'not_sent') {
    return { confirmed: 'unconfirmed', detail: `the agent was not told: ${reply.detail}` }
  }
  const said = saidOf(reply)
  const read = await readTask(link, ref, { signal, timeoutMs: options.timeoutMs })
  if (read.kind !== 'task') {
    return {
      confirmed: 'unconfirmed',
      detail: `${said}; the task could not be read: ${read.detail}`,
    }
  }
  return reportOf(read.snapshot, said)
}

function saidOf(
  reply: Exclude<Awaited<ReturnType<AgentLink['rpc']['send']>>, { kind: 'not_sent' }>,
): string {
  if (reply.kind === 'result') return 'the agent was asked to stop and has not confirmed it'
  if (reply.kind === 'no_answer') return `asked to stop, and no answer came (${reply.detail})`
  if (reply.error.reason === 'TASK_NOT_CANCELABLE') return 'the agent says it cannot be canceled'
  return reply.error.message
}

function reportOf(snapshot: Snapshot, said: string): CancelReport {
  const { state } = snapshot.task.status
  const news = newsOfSnapshot(snapshot)
  if (state === 'TASK_STATE_CANCELED') {
    return {
      confirmed: 'stopped',
      detail: `the agent says the task is canceled; what it had done by then stays done (${said})`,
      news,
    }
  }
  const name =
    state === 'TASK_STATE_UNSPECIFIED'
      ? 'in a state that the agent does not know'
      : state.replace('TASK_STATE_', '').toLowerCase()
  if (isTerminal(state)) {
    return { confirmed: 'already_ended', detail: `the task ended as ${name}; ${said}`, news }
  }
  return { confirmed: 'unconfirmed', detail: `the task is ${name}; ${said}`, news }
}
