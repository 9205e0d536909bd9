/**
 * A task of 2025-11-25 as its server says it: the answer that hands one out, and where `tasks/get` says that it stands.
 *
 * @source MCP 2025-11-25, basic, utilities, tasks: CreateTaskResult, Task
 */
import type { Handle } from '../../core/words/outcome.ts'
import { findMember, readValue, scanObject, sliceOf, type Member } from '../wire/spans.ts'
import { textMember } from './read-task.ts'
import { isTaskId, sealTask, type TaskRef } from './task-ref.ts'

const STATUSES = ['working', 'input_required', 'completed', 'failed', 'cancelled'] as const

/** Where a task stands. */
export interface LegacyTaskView {
  readonly status: (typeof STATUSES)[number]
  readonly text: string | undefined
  readonly pollMs: number | undefined
}

/**
 * The handle of a `CreateTaskResult`.
 *
 * @returns undefined for a result that hands out no task; what is wrong with one, in words that go on "answered".
 */
export function readLegacyCreated(
  peer: string,
  result: Uint8Array,
  of: Pick<TaskRef, 'can' | 'principal'>,
): { readonly handle: Handle; readonly text?: string } | string | undefined {
  const task = findMember(scanObject(result, undefined, READ), 'task')
  if (task?.type !== 'object') return undefined
  const bytes = sliceOf(result, task.value)
  const members = scanObject(bytes, undefined, READ)
  const taskId = textMember(bytes, members, 'taskId')
  if (!isTaskId(taskId)) return 'a task without an id that could be used'
  const pollMs = pollOf(bytes, members)
  const text = textMember(bytes, members, 'statusMessage')
  const ref = {
    taskId,
    ...of,
    codec: 'legacy',
    ...(pollMs === undefined ? {} : { pollMs }),
  } as const
  return { handle: sealTask(peer, ref), ...(text === undefined ? {} : { text }) }
}

const READ = { validated: true, allowDuplicates: true }

/** @param bytes the result object of `tasks/get` or `tasks/cancel`. @throws JsonFault, or Error saying what is wrong with it. */
export function readLegacyTask(bytes: Uint8Array): LegacyTaskView {
  const members = scanObject(bytes, undefined, { validated: true })
  const said = textMember(bytes, members, 'status')
  const status = STATUSES.find((known) => known === said)
  if (status === undefined)
    throw new Error(`a task whose status is ${JSON.stringify(said ?? null).slice(0, 60)}`)
  const text = textMember(bytes, members, 'statusMessage')
  return { status, text, pollMs: pollOf(bytes, members) }
}

function pollOf(bytes: Uint8Array, members: readonly Member[]): number | undefined {
  const member = findMember(members, 'pollInterval')
  const value = member?.type === 'number' ? readValue(bytes, member.value) : undefined
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : undefined
}
