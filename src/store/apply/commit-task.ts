/**
 * A task's commit: compare-and-set on its version and fence, then row, artifact parts, effects and entry in one unit.
 *
 * The move table is core's; it is checked here once more because a terminal task that takes something is never undone.
 */
import { ComityError } from '../../core/words/errors.ts'
import { isTerminal, TASK_MOVES, type TaskState } from '../../core/words/task.ts'
import type { CommitTask } from '../commands.ts'
import type { Writer } from '../writer.ts'
import { loadCallRow, moveCallRow } from './call-row.ts'
import { holdsFence, renewLease } from './leases.ts'
import { keepOnly, writeParts } from './parts.ts'
import { insertEffect, loadTaskRow, type TaskRow, updateTask } from './task-row.ts'

type Fence = { readonly owner: string; readonly number: number } | null

/** Commits a task's next row. */
export function commitTask(
  writer: Writer,
  commit: CommitTask,
  fence: Fence,
): 'committed' | 'stale' | 'fenced' {
  const id = commit.task.id
  const row = loadTaskRow(writer, id)
  if (row === undefined) throw new ComityError('not_found', `there is no task ${id} in this store`)
  if (fence !== null && !holdsFence(writer, id, fence)) return 'fenced'
  if (row.version !== commit.task.version) return 'stale'
  expectMove(row, commit)
  updateTask(writer, row, commit.task)
  for (const write of commit.writes) writeParts(writer, id, write)
  if (commit.writes.some((write) => write.do === 'replace')) {
    keepOnly(writer, id, commit.artifactIds)
  }
  if (commit.effects !== undefined) replaceEffects(writer, row, commit.effects, fence)
  if (fence !== null) renewLease(writer, id)
  if (commit.entry !== undefined) {
    writer.append({
      kind: commit.entry.kind,
      callId: row.callId,
      taskId: id,
      facts: commit.entry.facts,
    })
  }
  if (row.state === 'unknown' && commit.task.state !== 'unknown') {
    settleThroughTask(writer, row, commit.task.state)
  }
  return 'committed'
}

function expectMove(row: TaskRow, commit: CommitTask): void {
  const next = commit.task.state
  // A verdict is written on a terminal task: same state, no content.
  const keeps = next === row.state && (commit.writes.length === 0 || !isTerminal(row.state))
  if (keeps || TASK_MOVES[row.state].includes(next)) return
  throw new ComityError(
    'conflict',
    `task ${row.id} is ${row.state} and takes no move to ${next} and no artifact`,
  )
}

/**
 * Replaces the due effects. The holder of the lease that lists the effect it is running goes on with it; anyone else
 * who lists it asks for it anew, so that `done` from the run before does not take it away.
 */
function replaceEffects(
  writer: Writer,
  row: TaskRow,
  effects: readonly string[],
  fence: Fence,
): void {
  writer.run(
    `DELETE FROM effects WHERE task_id = :id AND effect NOT IN (SELECT value FROM json_each(:effects))`,
    { id: row.id, effects: JSON.stringify(effects) },
  )
  for (const effect of effects) {
    const known = writer.get(
      'SELECT 1 AS known FROM effects WHERE task_id = :id AND effect = :effect',
      { id: row.id, effect },
    )
    if (known === undefined || fence === null) {
      insertEffect(writer, row.id, effect, row.version + 1)
    }
  }
}

/** Its remote task was found, or proved absent: the call that was unknown no longer is. */
function settleThroughTask(writer: Writer, row: TaskRow, state: TaskState): void {
  const call = loadCallRow(writer, row.callId)
  if (call?.state !== 'unknown') return
  const outcome = `{"state":${JSON.stringify(state)},"through":"task"}`
  writer.append({ kind: 'settled', callId: call.callId, taskId: row.id, facts: outcome })
  moveCallRow(writer, call, { state: 'settled', outcome })
}
