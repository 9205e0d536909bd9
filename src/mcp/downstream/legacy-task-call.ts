/**
 * `tools/call` with a task, as 2025-11-25 has it: the call is one of ours from its beginning, on record before it is sent, and
 * answered at once.
 *
 * What is refused is an error: a result would not be taken for one where a task is expected.
 *
 * @source MCP 2025-11-25, basic, utilities, tasks, creating tasks
 */
import type { Dispatched } from '../../core/ports/doors.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Route } from '../../core/words/route.ts'
import type { TaskRecord } from '../../core/words/task.ts'
import { LEGACY_TASK_META } from '../wire/rev-2025-11-25.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { findMember, readValue, scanObject, setMembers, sliceOf } from '../wire/spans.ts'
import { badParams, ourError, ourResult, type Answer, type ErrorAnswer } from './answer.ts'
import { delegationCall } from './delegation.ts'
import { openExchange } from './exchange.ts'
import { legacyTaskMembers, relate } from './legacy-task-form.ts'
import { supportsTasks } from './legacy-task-support.ts'
import { servesLegacyTasks } from './legacy-tasks.ts'
import { createCall } from './new-call.ts'
import type { Delegation, Door } from './options.ts'
import { refuseOutcome } from './outcome.ts'
import { paramBytes, type Visit } from './visit.ts'

/** Whether the request asks for a task, of a revision that has them, and they are served. */
export function asksForTask(door: Door, visit: Visit): boolean {
  return servesLegacyTasks(door, visit.revision) && findMember(visit.members, 'task') !== undefined
}

/** The answer to a task of what can be none. */
export function noTaskOf(name: string): ErrorAnswer {
  const text = `${name.slice(0, 200)} cannot be called as a task: its definition does not say that it supports them; call it without params.task`
  return ourError(RPC_ERRORS.methodNotFound, text)
}

export async function callAsTask(
  door: Door,
  visit: Visit,
  route: Route,
  args: JsonText,
): Promise<Answer> {
  const { delegation } = door.ports
  if (delegation === undefined || !(await supports(door, visit, route)))
    return noTaskOf(route.exposed)
  const ttlMs = readTtl(door, visit)
  if (typeof ttlMs !== 'number') return ttlMs
  return route.kind === 'agent'
    ? delegateAsTask(door, delegation, visit, route, args, ttlMs)
    : beginAsTask(door, delegation, visit, route, args, ttlMs)
}

async function supports({ ports }: Door, { principal }: Visit, route: Route): Promise<boolean> {
  if (route.kind === 'agent') return true
  const { items } = await ports.catalogue.list('tool', principal)
  const item = items.find(({ exposed }) => exposed === route.exposed)
  return item !== undefined && supportsTasks(item.definition)
}

/** How long it may be read, milliseconds: what was asked for, within our own bound. */
function readTtl({ limits }: Door, visit: Visit): number | ErrorAnswer {
  const bytes = paramBytes(visit, 'task')
  const task = bytes === undefined ? undefined : readValue(bytes)
  if (!isObject(task)) return badParams('params.task must be an object')
  const { ttl } = task
  if (ttl === undefined || ttl === null) return limits.taskTtlMs
  if (typeof ttl !== 'number' || !Number.isFinite(ttl) || ttl < 1)
    return badParams('params.task.ttl must be a number of milliseconds, 1 or more')
  return Math.min(Math.trunc(ttl), limits.taskTtlMs)
}

async function beginAsTask(
  door: Door,
  delegation: Delegation,
  visit: Visit,
  route: Route,
  args: JsonText,
  taskTtlMs: number,
): Promise<Answer> {
  const { limits, deadlines } = door
  const parts = { continuation: undefined, idempotency: undefined, patientMs: limits.taskMs }
  const call = { ...createCall(door, visit, route, 'call', args, parts), asTask: true, taskTtlMs }
  const named = Promise.withResolvers<string>()
  const opened = openExchange(withNews(visit, named.promise), limits.taskMs, deadlines, true)
  const begun = await delegation.begin(call, opened.exchange).catch((fault: unknown) => {
    opened.close()
    throw fault
  })
  void begun.reply.catch(door.report).finally(() => opened.close())
  const task = await begun.keep()
  if (task === undefined) return refuse(visit, begun.reply)
  named.resolve(task.id)
  opened.detach()
  return created(door, task)
}

async function delegateAsTask(
  door: Door,
  delegation: Delegation,
  visit: Visit,
  route: Route,
  args: JsonText,
  taskTtlMs: number,
): Promise<Answer> {
  const call = { ...delegationCall(door, visit, route, args), taskTtlMs }
  const opened = openExchange(visit, call.deadlineAt - door.clock.now(), door.deadlines)
  const begun = await delegation.delegate(call, opened.exchange).catch((fault: unknown) => {
    opened.close()
    throw fault
  })
  void begun.reply.catch(door.report).finally(() => opened.close())
  if (begun.task === undefined) return refuse(visit, begun.reply)
  opened.detach()
  return created(door, begun.task)
}

async function refuse(visit: Visit, reply: Promise<Dispatched>): Promise<Answer> {
  return refuseOutcome(visit, await reply)
}

/** `CreateTaskResult`. */
function created(door: Door, task: TaskRecord): Answer {
  const told = `${task.title} goes on as task ${task.id}; its result comes when it has ended.`
  return ourResult({
    task: legacyTaskMembers(door, task),
    _meta: {
      [LEGACY_TASK_META.related]: { taskId: task.id },
      [LEGACY_TASK_META.immediate]: told,
    },
  })
}

/** Its caller takes tasks, and hears of it on its session: this request is answered before anything happens. */
function withNews(visit: Visit, named: Promise<string>): Visit {
  const { tell } = visit.caller
  const notify = async (message: Uint8Array): Promise<void> => {
    await tell?.(relateNotification(message, await named))
  }
  return {
    ...visit,
    can: { ...visit.can, tasks: 'own' },
    caller: { ...visit.caller, notify },
  }
}

function relateNotification(message: Uint8Array, taskId: string): Uint8Array {
  const params = findMember(scanObject(message), 'params')
  if (params?.type !== 'object') return message
  return setMembers(message, undefined, { params: relate(sliceOf(message, params.value), taskId) })
}
