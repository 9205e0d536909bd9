/** The row of a task for a call under way that had none: row, effects and entry in one unit. */
import { ComityError } from '../../core/words/errors.ts'
import { canonicalText } from '../canonical-text.ts'
import type { TaskWrite } from '../commands.ts'
import type { Writer } from '../writer.ts'
import { loadCallRow, nameTask } from './call-row.ts'
import { insertEffect, insertTask } from './task-row.ts'

/** @returns `ended` when the call was settled before: then nothing is written. */
export function keepAsTask(
  writer: Writer,
  kept: {
    readonly callId: string
    readonly task: TaskWrite
    readonly effects: readonly string[]
  },
): 'kept' | 'ended' {
  const { callId, task, effects } = kept
  const call = loadCallRow(writer, callId)
  if (call === undefined)
    throw new ComityError('not_found', `there is no call ${callId} in this store`)
  if (call.state !== 'open' && call.state !== 'caller_gone') return 'ended'
  if (call.taskId !== null)
    throw new ComityError('conflict', `call ${callId} has a task already: ${call.taskId}`)
  nameTask(writer, call, task.id)
  writer.append({
    kind: 'task_changed',
    callId,
    taskId: task.id,
    facts: canonicalText({ to: task.state }),
  })
  insertTask(writer, task)
  for (const effect of effects) insertEffect(writer, task.id, effect, task.version)
  return 'kept'
}
