/** The row of one task: version, state and document, with a checksum; its due effects stand beside it. */
import { ComityError } from '../../core/words/errors.ts'
import type { TaskRecord, TaskState } from '../../core/words/task.ts'
import { rowSum } from '../chain.ts'
import type { TaskWrite } from '../commands.ts'
import type { Row, Writer } from '../writer.ts'

/** Longest document of one task, in characters. */
const MAX_TASK_DOCUMENT = 1_048_576

export interface TaskRow extends TaskWrite {
  readonly createdSeq: number
}

/** The query for one task's row. */
export const SELECT_TASK = `SELECT id, version, principal, state, call_id AS callId, document,
  created_seq AS createdSeq, sum FROM tasks WHERE id = :id`

/** Reads a row's columns and checks its sum. @throws ComityError `store_corrupt` when it does not fit. */
export function parseTaskRow(row: Row): TaskRow {
  const task = row as unknown as TaskRow & { readonly sum: string }
  if (sumOf(task) !== task.sum) {
    throw new ComityError(
      'store_corrupt',
      `the record of task ${task.id} does not fit its checksum: restore the store from a copy`,
    )
  }
  return task
}

/** The row, or undefined when there is no such task. */
export function loadTaskRow(writer: Writer, id: string): TaskRow | undefined {
  const row = writer.get(SELECT_TASK, { id })
  return row === undefined ? undefined : parseTaskRow(row)
}

export function insertTask(writer: Writer, task: TaskWrite): void {
  expectSize(task)
  const row: TaskRow = { ...task, createdSeq: writer.head.seq }
  writer.run(
    `INSERT INTO tasks (id, version, principal, state, call_id, document, created_seq, sum)
     VALUES (:id, :version, :principal, :state, :callId, :document, :createdSeq, :sum)`,
    { ...row, sum: sumOf(row) },
  )
  writer.touched.add(task.id)
}

/** Writes the next row of a task; its version is counted up here and nowhere else. */
export function updateTask(
  writer: Writer,
  row: TaskRow,
  next: { readonly state: TaskState; readonly document: string },
): void {
  expectSize({ id: row.id, document: next.document })
  const moved: TaskRow = { ...row, ...next, version: row.version + 1 }
  writer.run(
    `UPDATE tasks SET version = :version, state = :state, document = :document, sum = :sum WHERE id = :id`,
    {
      id: moved.id,
      version: moved.version,
      state: moved.state,
      document: moved.document,
      sum: sumOf(moved),
    },
  )
  writer.touched.add(row.id)
}

/** Moves a task's state without a reader of documents: for recovery and for a person's word. */
export function moveTaskState(
  writer: Writer,
  row: TaskRow,
  state: TaskState,
  more: Partial<Pick<TaskRecord, 'because' | 'questions' | 'theirWords'>> = {},
): void {
  const document: Record<string, unknown> = JSON.parse(row.document)
  updateTask(writer, row, {
    state,
    document: JSON.stringify({
      ...document,
      ...more,
      state,
      updatedAt: new Date(writer.now).toISOString(),
    }),
  })
}

/** A person knows what became of the first send: there is nothing to look for any more. */
export function failTaskByHand(writer: Writer, taskId: string, theirWords: string): void {
  const row = loadTaskRow(writer, taskId)
  if (row === undefined || (row.state !== 'unknown' && row.state !== 'submitted')) return
  moveTaskState(writer, row, 'failed', { theirWords })
  writer.run('DELETE FROM effects WHERE task_id = :taskId', { taskId })
}

/** Makes an effect due now. What is due already keeps its time, and is owed again from `version` on. */
export function insertEffect(
  writer: Writer,
  taskId: string,
  effect: string,
  version: number,
): void {
  writer.run(
    `INSERT INTO effects (task_id, effect, due_at, asked_version) VALUES (:taskId, :effect, :now, :version)
     ON CONFLICT (task_id, effect) DO UPDATE SET asked_version = excluded.asked_version,
       due_at = min(due_at, excluded.due_at)`,
    { taskId, effect, now: writer.now, version },
  )
}

function expectSize(task: { readonly id: string; readonly document: string }): void {
  if (task.document.length <= MAX_TASK_DOCUMENT) return
  throw new ComityError(
    'not_allowed',
    `the record of task ${task.id} would have ${task.document.length} characters, at most ${MAX_TASK_DOCUMENT} are kept`,
  )
}

function sumOf(task: TaskRow): string {
  return rowSum(
    task.id,
    task.version,
    task.principal,
    task.state,
    task.callId,
    task.document,
    task.createdSeq,
  )
}
