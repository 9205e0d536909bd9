/**
 * What is known about one task, in the form that outlives the process.
 *
 * The public task and the private checkpoints are one record, written as one file, so a restart
 * never finds an artifact that its checkpoint does not know of, or the other way round.
 */
import { Task, TaskState } from '@a2a-js/sdk'
import type { Answer, Brief } from './brief.ts'
import type { Reading } from './citation.ts'
import type { Target } from './target.ts'

/** A task and how far its work has come. */
export interface TaskRecord {
  /** As callers see it. */
  task: Task
  /** What the last question asked for; only meaningful while input is required. */
  question?: 'brief' | 'target'
  /** How often the target's range was asked for. */
  asked: number
  brief?: Brief
  /** As given, not yet checked against the manifest. */
  answer?: Answer
  target?: Target
  readings: { from?: Reading; to?: Reading }
  /** What will be delivered, complete before its first byte is sent. */
  drafts?: { readonly differences: string; readonly report: readonly string[] }
  delivered: { differences: boolean; reportChunks: number }
}

const FORMAT = 1

/** A fresh record around a fresh task. */
export function createRecord(task: Task): TaskRecord {
  return { task, asked: 0, readings: {}, delivered: { differences: false, reportChunks: 0 } }
}

/** The record as the text of its file. */
export function encodeRecord(record: TaskRecord): string {
  const { task, ...work } = record
  return `${JSON.stringify({ format: FORMAT, task: Task.toJSON(task), work })}\n`
}

/**
 * The record that a file holds.
 *
 * @throws Error when the file is not one that this version wrote.
 */
export function parseRecord(text: string): TaskRecord {
  const value = JSON.parse(text) as { format?: unknown; task?: object; work?: object }
  if (value.format !== FORMAT || value.task === undefined || value.work === undefined) {
    throw new Error(`expected a task file of format ${FORMAT}, got ${String(value.format)}`)
  }
  // The file is our own, written whole or not at all, so its inside is not checked again.
  return { ...(value.work as Omit<TaskRecord, 'task'>), task: Task.fromJSON(value.task) }
}

/** The state a caller would see now. */
export function stateOf(record: TaskRecord): TaskState {
  return record.task.status?.state ?? TaskState.TASK_STATE_UNSPECIFIED
}

/** A task in a final state takes no message, no artifact and no other state. */
export function isFinal(state: TaskState): boolean {
  return (
    state === TaskState.TASK_STATE_COMPLETED ||
    state === TaskState.TASK_STATE_FAILED ||
    state === TaskState.TASK_STATE_CANCELED ||
    state === TaskState.TASK_STATE_REJECTED
  )
}
