/**
 * A task as 2025-11-25 shows it. Unlike in the extension of 2026-07-28, one whose tool reports an error has failed.
 *
 * @source MCP 2025-11-25, basic, utilities, tasks: Task, task execution errors
 */
import type { TaskRecord } from '../../core/words/task.ts'
import { setResultMeta } from '../wire/codec.ts'
import { LEGACY_TASK_META } from '../wire/rev-2025-11-25.ts'
import { encodeJson } from '../wire/spans.ts'
import type { Door } from './options.ts'
import { statusOf, taskMembers, type TaskStatus } from './task-form.ts'
import { endedBadly } from './task-view.ts'

export function legacyStatusOf(task: TaskRecord): TaskStatus {
  const status = statusOf(task)
  return status === 'completed' && endedBadly(task) ? 'failed' : status
}

/** Whether it moves no more, as this revision tells it. */
export function hasEnded(task: TaskRecord): boolean {
  const status = legacyStatusOf(task)
  return status !== 'working' && status !== 'input_required'
}

/** The members of `Task`. */
export function legacyTaskMembers(door: Door, task: TaskRecord): Readonly<Record<string, unknown>> {
  const { ttlMs, pollIntervalMs, ...members } = taskMembers(door, task)
  return { ...members, status: legacyStatusOf(task), ttl: ttlMs, pollInterval: pollIntervalMs }
}

/** What says that a message belongs to a task; as a value of `_meta`. */
export function encodeRelation(taskId: string): Readonly<Record<string, Uint8Array>> {
  return { [LEGACY_TASK_META.related]: encodeJson({ taskId }) }
}

/** A result, or params, that belong to a task. */
export function relate(bytes: Uint8Array, taskId: string): Uint8Array {
  return setResultMeta(bytes, encodeRelation(taskId))
}
