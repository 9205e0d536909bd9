/** Tasks as they are read: another principal's task looks like one that never was. The operator sees all. */
import type { DatabaseSync } from 'node:sqlite'

import type { Tasks } from '../core/ports/tasks.ts'
import type { Artifact } from '../core/words/artifact.ts'
import type { Principal } from '../core/words/principal.ts'
import type { TaskRecord } from '../core/words/task.ts'
import { parseTaskRow, SELECT_TASK } from './apply/task-row.ts'
import { decodeArtifact, decodeTask, type PartRow } from './encode-task.ts'

/** Newest tasks that a list shows. */
const MAX_LISTED = 1000

const LIST = `SELECT id, version, principal, state, call_id AS callId, document,
    created_seq AS createdSeq, sum FROM tasks
  WHERE (:all = 1 OR principal = :principal) AND state <> 'answered'
  ORDER BY created_seq DESC LIMIT ${MAX_LISTED}`

const PARTS = `SELECT artifact_id AS artifactId, position, kind, content, media_type AS mediaType,
    filename, sum FROM parts WHERE task_id = :id ORDER BY artifact_id, position`

/** The reading half of the Tasks port. */
export function createTaskReader(db: DatabaseSync): Pick<Tasks, 'load' | 'list' | 'artifacts'> {
  return {
    load: async (id, principal) => {
      const task = loadTask(db, id)
      return task !== undefined && maySee(principal, task) ? task : undefined
    },
    list: async (principal) =>
      db
        .prepare(LIST)
        .all({ all: principal.via === 'operator' ? 1 : 0, principal: principal.id })
        .map((row) => decodeTask(parseTaskRow(row))),
    artifacts: async (id) => loadArtifacts(db, id),
  }
}

/** The task, whoever asks. */
export function loadTask(db: DatabaseSync, id: string): TaskRecord | undefined {
  const row = db.prepare(SELECT_TASK).get({ id })
  return row === undefined ? undefined : decodeTask(parseTaskRow(row))
}

function maySee(principal: Principal, task: TaskRecord): boolean {
  return principal.via === 'operator' || principal.id === task.owner.id
}

function loadArtifacts(db: DatabaseSync, id: string): readonly Artifact[] {
  const task = loadTask(db, id)
  if (task === undefined) return []
  const parts = new Map<string, PartRow[]>()
  for (const row of db.prepare(PARTS).all({ id })) {
    const part = row as unknown as PartRow
    const held = parts.get(part.artifactId)
    if (held === undefined) parts.set(part.artifactId, [part])
    else held.push(part)
  }
  return task.artifacts.map((record) =>
    decodeArtifact(id, record, parts.get(record.artifactId) ?? []),
  )
}
