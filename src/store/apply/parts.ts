/** Artifact parts, each its own row: appending a chunk writes that chunk and rewrites nothing. */
import { ComityError } from '../../core/words/errors.ts'
import { sha256 } from '../chain.ts'
import type { CommitTask, PartWrite } from '../commands.ts'
import type { Writer } from '../writer.ts'

/** Most parts one task may have. */
export const MAX_PARTS = 20_000
/** Most bytes of parts one task may have. */
const MAX_PARTS_BYTES = 268_435_456

/** Writes one artifact's parts, after or instead of those it has. */
export function writeParts(
  writer: Writer,
  taskId: string,
  write: CommitTask['writes'][number],
): void {
  const { artifactId } = write
  if (write.do === 'replace') {
    writer.run('DELETE FROM parts WHERE task_id = :taskId AND artifact_id = :artifactId', {
      taskId,
      artifactId,
    })
  }
  expectRoom(writer, taskId, write.parts)
  const last = writer.get(
    'SELECT max(position) AS position FROM parts WHERE task_id = :taskId AND artifact_id = :artifactId',
    { taskId, artifactId },
  )?.['position']
  let position = typeof last === 'number' ? last + 1 : 0
  for (const part of write.parts) {
    writer.run(
      `INSERT INTO parts (task_id, artifact_id, position, kind, content, media_type, filename, sum)
       VALUES (:taskId, :artifactId, :position, :kind, :content, :mediaType, :filename, :sum)`,
      { taskId, artifactId, position, ...part, sum: partSum(taskId, artifactId, position, part) },
    )
    position += 1
  }
}

/** Drops the parts of artifacts that the task's record no longer names. */
export function keepOnly(writer: Writer, taskId: string, artifactIds: readonly string[]): void {
  writer.run(
    `DELETE FROM parts WHERE task_id = :taskId AND artifact_id NOT IN (SELECT value FROM json_each(:ids))`,
    { taskId, ids: JSON.stringify(artifactIds) },
  )
}

/** Checksum of one part with its place. */
export function partSum(
  taskId: string,
  artifactId: string,
  position: number,
  part: PartWrite,
): string {
  const place = [taskId, artifactId, position, part.kind, part.mediaType, part.filename]
  return sha256(JSON.stringify(place), part.content).slice(0, 32)
}

function expectRoom(writer: Writer, taskId: string, parts: readonly PartWrite[]): void {
  const held = writer.get(
    'SELECT count(*) AS parts, coalesce(sum(length(content)), 0) AS bytes FROM parts WHERE task_id = :taskId',
    { taskId },
  )
  const count = Number(held?.['parts']) + parts.length
  const bytes =
    Number(held?.['bytes']) + parts.reduce((sum, part) => sum + part.content.byteLength, 0)
  if (count <= MAX_PARTS && bytes <= MAX_PARTS_BYTES) return
  throw new ComityError(
    'not_allowed',
    `task ${taskId} would hold ${count} artifact parts of ${bytes} bytes, at most ${MAX_PARTS} parts and ${MAX_PARTS_BYTES} bytes are kept`,
  )
}
