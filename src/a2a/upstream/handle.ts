/**
 * The handle of a remote task: what is needed to reach it again from another process.
 *
 * Written into our own store and read back by this file alone. It holds ids, no credentials.
 */
import type { Handle } from '../../core/words/outcome.ts'

/** A task at an agent. */
export interface TaskRef {
  readonly taskId: string
  readonly contextId?: string
  /** The tenant under which it was made; later requests echo it. */
  readonly tenant?: string
}

/** Seals a reference for the store. */
export function sealHandle(peer: string, ref: TaskRef): Handle {
  return {
    peer,
    kind: 'a2a_task',
    sealed: Buffer.from(JSON.stringify({ v: 1, ...ref })).toString('base64url'),
    taskId: ref.taskId,
    ...(ref.contextId === undefined ? {} : { contextId: ref.contextId }),
  }
}

/** Opens a handle. @throws Error when it is none of ours: a fault of the store or of the caller. */
export function openHandle(handle: Handle): TaskRef {
  if (handle.kind !== 'a2a_task') throw new Error(`a handle of kind ${handle.kind} is no A2A task`)
  const read = JSON.parse(Buffer.from(handle.sealed, 'base64url').toString('utf8')) as {
    readonly v?: unknown
    readonly taskId?: unknown
    readonly contextId?: unknown
    readonly tenant?: unknown
  }
  if (read.v !== 1 || typeof read.taskId !== 'string')
    throw new Error('an A2A handle is unreadable')
  return {
    taskId: read.taskId,
    ...(typeof read.contextId === 'string' ? { contextId: read.contextId } : {}),
    ...(typeof read.tenant === 'string' ? { tenant: read.tenant } : {}),
  }
}
