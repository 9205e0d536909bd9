/** What an MCP server handed back as the end of a task, as it came: the result object of the call, or its error object. */
import type { Artifact } from '../../core/words/artifact.ts'
import { ERROR_ARTIFACT, RESULT_ARTIFACT, type TaskRecord } from '../../core/words/task.ts'
import { setResultMeta } from '../wire/codec.ts'
import { MODERN_META } from '../wire/rev-2026-07-28.ts'
import { concat } from '../wire/spans.ts'
import type { Delegation } from './options.ts'
import type { Visit } from './visit.ts'

/** Whether it left one of that id. */
export function hasArtifact({ artifacts }: TaskRecord, id: string): boolean {
  return artifacts.some(({ artifactId }) => artifactId === id)
}

/** The result object; undefined when the task has none. */
export async function ownResult(
  delegation: Delegation,
  visit: Visit,
  task: TaskRecord,
): Promise<Uint8Array | undefined> {
  const own = await loadOwn(delegation, visit, task, RESULT_ARTIFACT)
  // Our name is on the message, the peer's would be no more than its word.
  return own === undefined ? undefined : setResultMeta(own, { [MODERN_META.serverInfo]: undefined })
}

/** The error object; undefined when the task has none. */
export function ownError(
  delegation: Delegation,
  visit: Visit,
  task: TaskRecord,
): Promise<Uint8Array | undefined> {
  return loadOwn(delegation, visit, task, ERROR_ARTIFACT)
}

async function loadOwn(
  delegation: Delegation,
  { principal }: Visit,
  task: TaskRecord,
  id: string,
): Promise<Uint8Array | undefined> {
  return hasArtifact(task, id)
    ? bytesOf(await delegation.artifact(task.id, id, principal))
    : undefined
}

function bytesOf(artifact: Artifact | undefined): Uint8Array | undefined {
  const parts = artifact?.content.flatMap((part) => (part.kind === 'raw' ? [part.bytes] : []))
  return parts === undefined || parts.length === 0 ? undefined : concat(parts)
}
