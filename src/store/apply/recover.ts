/**
 * Recovery: what an earlier owner left open becomes unknown. It may have run; nothing is sent again because of it.
 *
 * A delegation whose first reply never came owes a search for its remote task, and one that waits for an answer a look
 * at it: the answer may have left, or the agent gone on by itself. A verdict that is pending owes its judgment, whatever
 * became of the effect. Leases of the dead are void.
 */
import { canonicalText } from '../canonical-text.ts'
import type { Writer } from '../writer.ts'
import { moveCallRow, parseCallRow, SELECT_CALL } from './call-row.ts'
import { releaseAll } from './leases.ts'
import { insertEffect, loadTaskRow, moveTaskState } from './task-row.ts'

const OPEN_CALLS = `SELECT call_id AS callId FROM calls
  WHERE state IN ('open', 'caller_gone') ORDER BY opened_seq`

// Work of the process that died: it names nothing that could be followed, and nothing is owed to it.
const RAN_HERE = `SELECT id FROM tasks WHERE state IN ('submitted', 'working', 'input_required')
  AND CASE WHEN json_valid(document)
    THEN coalesce(json_extract(document, '$.handle.kind'), 'mcp_state') = 'mcp_state' END
  AND NOT EXISTS (SELECT 1 FROM effects WHERE effects.task_id = tasks.id)`

const WAITING_TASKS = `SELECT id, version FROM tasks WHERE state = 'input_required'`

// A damaged document is told when its row is read; it must not keep the store from opening.
const UNJUDGED_TASKS = `SELECT id, version FROM tasks WHERE state = 'completed'
  AND CASE WHEN json_valid(document) THEN json_extract(document, '$.verdict.state') END = 'pending'`

const DIED = {
  state: 'unknown',
  because: 'process_died',
  detail: 'the process that had opened this call ended before it was settled',
}

/** @returns how many calls became unknown. */
export function recoverCalls(writer: Writer): number {
  const open = writer.all(OPEN_CALLS, {})
  for (const { callId } of open) {
    const row = writer.get(SELECT_CALL, { callId: String(callId) })
    if (row === undefined) continue
    const call = parseCallRow(row)
    writer.append({
      kind: 'recovered',
      callId: call.callId,
      taskId: call.taskId,
      facts: DIED,
    })
    moveCallRow(writer, call, { state: 'unknown', outcome: canonicalText(DIED) })
  }
  for (const { id } of writer.all(RAN_HERE, {})) recoverTask(writer, String(id))
  for (const { id, version } of writer.all(WAITING_TASKS, {}))
    insertEffect(writer, String(id), 'follow', Number(version))
  for (const { id, version } of writer.all(UNJUDGED_TASKS, {}))
    insertEffect(writer, String(id), 'judge', Number(version))
  releaseAll(writer)
  return open.length
}

function recoverTask(writer: Writer, taskId: string): void {
  const task = loadTaskRow(writer, taskId)
  if (task === undefined) return
  moveTaskState(writer, task, 'unknown', { because: 'process_died', questions: [] })
  insertEffect(writer, taskId, 'find', task.version + 1)
}
