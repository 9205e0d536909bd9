/** GetTask and CancelTask, and the one way from a remembered task or a row to its view. */
import type { Principal } from '../../core/words/principal.ts'
import { isTerminal, type TaskRecord } from '../../core/words/task.ts'
import { parseWire } from '../wire/codec.ts'
import { paramsFault, protocolFault, type RpcFault, taskNotFound } from './errors.ts'
import type { HeldTask } from './memory.ts'
import type { A2aDesk } from './options.ts'
import type { RpcAnswer } from './rpc.ts'
import { encodeHeld, encodeRow, type Reference } from './task-view.ts'
import type { Visit } from './visit.ts'

/** Serves GetTask. */
export async function getTask(desk: A2aDesk, visit: Visit): Promise<RpcAnswer> {
  const parsed = parseWire('GetTaskRequest', visit.request.params)
  if (!parsed.ok) return paramsFault(parsed.violations)
  const { id, historyLength } = parsed.value
  if ((historyLength ?? 0) < 0) {
    return paramsFault([{ path: 'historyLength', message: 'expected 0 or more' }])
  }
  const held = desk.memories.of(visit.principal).task(visit.agent.name, id)
  if (held !== undefined) {
    return result(await encodeHeldTask(desk, visit.principal, held, historyLength))
  }
  const record = await loadRow(desk, visit, id)
  return record === undefined ? taskNotFound() : result(await encodeRecord(desk, record))
}

/**
 * Serves CancelTask: asks, and says what is confirmed. Canceling twice is the same as once.
 *
 * @source A2A 1.0.1, 3.1.5
 */
export async function cancelTask(desk: A2aDesk, visit: Visit): Promise<RpcAnswer> {
  const parsed = parseWire('CancelTaskRequest', visit.request.params)
  if (!parsed.ok) return paramsFault(parsed.violations)
  const { id } = parsed.value
  const held = desk.memories.of(visit.principal).task(visit.agent.name, id)
  if (held === undefined) {
    const record = await loadRow(desk, visit, id)
    if (record === undefined) return taskNotFound()
    return (await cancelRow(desk, visit, record)) ?? getTask(desk, visit)
  }
  const refused = await cancelHeld(desk, visit, held)
  return refused ?? result(await encodeHeldTask(desk, visit.principal, held, undefined))
}

/** A row of this agent's: another's, and work that came another way, are none of its tasks even for their owner. */
export async function loadRow(
  desk: A2aDesk,
  { agent, principal }: Visit,
  id: string,
): Promise<TaskRecord | undefined> {
  const record = await desk.ports.tasks.load(id, principal)
  return record?.servedAs === agent.name ? record : undefined
}

/** A task that this process remembers, as JSON text. */
export async function encodeHeldTask(
  desk: A2aDesk,
  principal: Principal,
  held: HeldTask,
  historyLength: number | undefined,
): Promise<string> {
  const reference: Reference = {
    id: held.id,
    contextId: held.contextId,
    message: historyLength === 0 ? undefined : held.message,
  }
  const { stand } = held
  if (stand.kind !== 'placed') return encodeHeld(held, stand, reference)
  const dispatched = stand.work.dispatched()
  const record =
    (await desk.ports.tasks.load(stand.task.id, principal)) ?? dispatched?.task ?? stand.task
  const artifacts = await desk.ports.tasks.artifacts(record.id)
  return encodeRow(record, artifacts, reference, dispatched)
}

async function encodeRecord(desk: A2aDesk, record: TaskRecord): Promise<string> {
  const { id, contextId } = record
  const artifacts = await desk.ports.tasks.artifacts(id)
  return encodeRow(record, artifacts, { id, contextId, message: undefined }, undefined)
}

async function cancelHeld(
  desk: A2aDesk,
  visit: Visit,
  held: HeldTask,
): Promise<RpcFault | undefined> {
  const { stand } = held
  switch (stand.kind) {
    case 'asking':
      held.stand = { kind: 'canceled' }
      held.since = new Date(desk.clock.now()).toISOString()
      return undefined
    case 'canceled':
      return undefined
    case 'placing':
      return notCancelable('its call is being placed; try again')
    case 'refused':
    case 'no_skill':
      return notCancelable('it has ended')
    case 'placed': {
      if (stand.work.running()) return stopWork(desk, visit, held, stand.task.id)
      const record = await desk.ports.tasks.load(stand.task.id, visit.principal)
      return record === undefined ? taskNotFound() : cancelRow(desk, visit, record)
    }
  }
}

/** A call of this process: stopped where it runs; how it ended is what the peer then says, or nobody knows. */
async function stopWork(
  desk: A2aDesk,
  visit: Visit,
  held: HeldTask,
  taskId: string,
): Promise<RpcFault | undefined> {
  if (held.stand.kind !== 'placed') return notCancelable('it has ended')
  const { work } = held.stand
  work.cancel()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, desk.limits.cancelMs)
  })
  await Promise.race([work.done, late])
  clearTimeout(timer)
  const record = await desk.ports.tasks.load(taskId, visit.principal)
  const ended = record?.state === 'completed' || record?.state === 'answered'
  return ended ? notCancelable('it ended before it could be stopped') : undefined
}

async function cancelRow(
  desk: A2aDesk,
  visit: Visit,
  record: TaskRecord,
): Promise<RpcFault | undefined> {
  if (record.state === 'canceled') return undefined
  if (isTerminal(record.state)) return notCancelable('it has ended')
  const canceled = await desk.ports.desk.cancel(record.id, visit.principal)
  if (canceled === undefined) return taskNotFound()
  const { report, task } = canceled
  if (report.confirmed === 'stopped' || task.state === 'canceled') return undefined
  return notCancelable(
    report.confirmed === 'already_ended'
      ? 'it has ended'
      : 'it was asked to stop, and nothing confirms that it did',
  )
}

function notCancelable(words: string): RpcFault {
  return protocolFault('TASK_NOT_CANCELABLE', words)
}

function result(json: string): RpcAnswer {
  return { kind: 'result', json }
}
