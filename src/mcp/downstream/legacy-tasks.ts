/**
 * Tasks of 2025-11-25 as a server: `tasks/get`, `tasks/list`, `tasks/cancel`. They are the same tasks as those of every other
 * form, in a form of their own; nothing of the extension is mixed into them.
 *
 * The text wants a task to be cancelled before `tasks/cancel` is answered. What does not stop is not told to have stopped: it
 * is waited for a while, and then told as it stands.
 *
 * @source MCP 2025-11-25, basic, utilities, tasks
 */
import type { TaskRecord } from '../../core/words/task.ts'
import { LEGACY_REVISION } from '../wire/rev-2025-11-25.ts'
import { badParams, ourResult, type Answer, type ErrorAnswer } from './answer.ts'
import { hasEnded, legacyStatusOf, legacyTaskMembers } from './legacy-task-form.ts'
import type { Delegation, Door } from './options.ts'
import { unknownTask } from './tasks.ts'
import { stringParam, type Visit } from './visit.ts'

/** What `initialize` says of them. */
export const LEGACY_TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } } as const

/** How long a task that was told to stop is waited for, milliseconds. */
const STOPPING_MS = 5_000

interface Cursor {
  readonly kind: 'task'
  readonly after: string
  readonly principal: string
}

/** Whether requests of this revision can have tasks here. */
export function servesLegacyTasks({ ports, offers }: Door, revision: string): boolean {
  return revision === LEGACY_REVISION && ports.delegation !== undefined && offers.has('tools')
}

/** The task that `params.taskId` names; another principal's and one that never was look the same. */
export async function findLegacyTask(
  { ports }: Door,
  visit: Visit,
): Promise<{ readonly delegation: Delegation; readonly task: TaskRecord } | ErrorAnswer> {
  const taskId = stringParam(visit, 'taskId')
  if (taskId === undefined)
    return badParams(`${visit.request.method} needs params.taskId, a string`)
  const { delegation } = ports
  const task = await delegation?.desk.load(taskId, visit.principal)
  return delegation === undefined || task === undefined ? unknownTask(taskId) : { delegation, task }
}

export async function getLegacyTask(door: Door, visit: Visit): Promise<Answer> {
  const named = await findLegacyTask(door, visit)
  return 'kind' in named ? named : ourResult(legacyTaskMembers(door, named.task))
}

export async function listLegacyTasks(door: Door, visit: Visit): Promise<Answer> {
  const after = readCursor(door, visit)
  if (after !== undefined && typeof after !== 'string') return after
  const tasks = (await door.ports.delegation?.desk.list(visit.principal)) ?? []
  const start = after === undefined ? 0 : tasks.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && start === 0)
    return badParams('the task that this cursor goes on from is gone: start over without it')
  const page = tasks.slice(start, start + door.limits.pageSize)
  const last = page.at(-1)
  const isMore = last !== undefined && start + page.length < tasks.length
  const cursor: Cursor | undefined = isMore
    ? { kind: 'task', after: last.id, principal: visit.principal.id }
    : undefined
  return ourResult({
    tasks: page.map((task) => legacyTaskMembers(door, task)),
    ...(cursor === undefined ? {} : { nextCursor: door.seal.seal('cursor', cursor) }),
  })
}

export async function cancelLegacyTask(door: Door, visit: Visit): Promise<Answer> {
  const named = await findLegacyTask(door, visit)
  if ('kind' in named) return named
  const { delegation, task } = named
  if (hasEnded(task)) return endedAlready(task)
  const { desk } = delegation
  const canceled = await desk.cancel(task.id, visit.principal)
  if (canceled === undefined) return unknownTask(task.id)
  // It ended by itself before it could be told.
  if (
    canceled.report.confirmed === 'already_ended' &&
    legacyStatusOf(canceled.task) !== 'cancelled'
  )
    return endedAlready(canceled.task)
  let latest = canceled.task
  if (!hasEnded(latest)) {
    const over = new AbortController()
    const signal = AbortSignal.any([
      visit.caller.signal,
      over.signal,
      AbortSignal.timeout(STOPPING_MS),
    ])
    await desk.watch(task.id, visit.principal, signal, (seen) => {
      latest = seen
      if (hasEnded(seen)) over.abort()
    })
  }
  return ourResult(legacyTaskMembers(door, latest))
}

function endedAlready(task: TaskRecord): ErrorAnswer {
  return badParams(`task ${task.id} is ${legacyStatusOf(task)}: it cannot be cancelled any more`)
}

/** The task to go on from; undefined for a first page. */
function readCursor(door: Door, visit: Visit): string | ErrorAnswer | undefined {
  const member = visit.members.find(({ key }) => key === 'cursor')
  if (member === undefined || member.type === 'null') return undefined
  const text = stringParam(visit, 'cursor')
  const cursor =
    text === undefined ? undefined : (door.seal.open('cursor', text) as Cursor | undefined)
  const isOurs = cursor?.kind === 'task' && cursor.principal === visit.principal.id
  return isOurs ? cursor.after : badParams('invalid cursor: start over without it')
}
