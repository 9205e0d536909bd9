/**
 * What is needed to go on with a server's task after the process that began it is gone: sealed into its handle.
 *
 * @source io.modelcontextprotocol/tasks (SEP-2663): clients keep task ids; MCP 2025-11-25, basic, utilities, tasks
 */
import { isObject } from '../../core/words/is-object.ts'
import type { Handle } from '../../core/words/outcome.ts'
import type { CallerCan } from '../../core/words/question.ts'

/** What of a caller was declared when the task began: nothing else may be asked in it. */
export type AskableKinds = Pick<CallerCan, 'form' | 'url' | 'sampling' | 'roots'>

export interface TaskRef {
  readonly taskId: string
  /** The id of the principal whose call it was: its session and credentials. */
  readonly principal: string
  readonly can: AskableKinds
  /** How often the server wants to be asked, milliseconds. */
  readonly pollMs?: number
  /** A task of 2025-11-25, which has a codec of its own. Left out: one of the extension. */
  readonly codec?: 'legacy'
}

/** Longest id that is taken from a server, characters. */
const MAX_ID = 4096

/** Whether this can be a task's id. */
export function isTaskId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID
}

export function sealTask(peer: string, ref: TaskRef): Handle {
  const { form, url, sampling, roots } = ref.can
  const sealed = JSON.stringify({ ...ref, can: { form, url, sampling, roots } })
  return { peer, kind: 'mcp_task', sealed, taskId: ref.taskId }
}

/** @throws Error for a handle that is none of these. */
export function openTask({ kind, sealed }: Handle): TaskRef {
  if (kind !== 'mcp_task') throw new Error(`a handle of kind ${kind} is no task of an MCP server`)
  const ref: unknown = JSON.parse(sealed)
  if (!isObject(ref) || !isTaskId(ref['taskId']) || typeof ref['principal'] !== 'string')
    throw new Error('the handle of a task cannot be read')
  return ref as unknown as TaskRef
}
