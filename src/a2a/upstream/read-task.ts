/**
 * Reads a remote task: GetTask, and any Task object that came another way, as one snapshot.
 *
 * A read has no effects and may be repeated. What a failed read means for the task (nothing, until
 * it is read again) is the caller's to know.
 */
import { createHash } from 'node:crypto'
import type { ArtifactChunk } from '../../core/words/artifact.ts'
import type { Handle } from '../../core/words/outcome.ts'
import type { TaskNews } from '../../core/words/task.ts'
import type { Received } from '../bindings/rpc-response.ts'
import { describeViolations, encodeWire, parseWire, REPLY_LIMITS } from '../wire/codec.ts'
import type { Task } from '../wire/messages.ts'
import { isTerminal, METHODS } from '../wire/rev-1-0.ts'
import { wholeSpan } from '../wire/span.ts'
import { type ArtifactLimits, chunksOfTask, type Taken, takeSnapshot } from './artifacts.ts'
import { sealHandle, type TaskRef } from './handle.ts'
import type { AgentLink } from './link.ts'
import { outcomeOfStatus, wordsOf } from './outcome.ts'

/** A task as read at one moment. */
export interface Snapshot {
  readonly task: Task
  readonly handle: Handle
  /** As received. */
  readonly text: string
  readonly artifacts: readonly ArtifactChunk[]
  /** What the artifacts amount to, for the bounds and for telling a change. */
  readonly taken: Taken
}

/** What a read gave. */
export type TaskReading =
  | { readonly kind: 'task'; readonly snapshot: Snapshot }
  /** The agent says it knows no such task. */
  | { readonly kind: 'not_found'; readonly detail: string }
  /** It could not be asked, or its answer not be understood. */
  | { readonly kind: 'unreadable' | 'unreachable'; readonly detail: string }

/** What is needed to read one task. */
export interface ReadOptions {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly limits?: ArtifactLimits
}

/** Asks the agent for the task as it stands. */
export async function readTask(
  link: AgentLink,
  ref: TaskRef,
  options: ReadOptions,
): Promise<TaskReading> {
  const reply = await link.rpc.send({
    method: METHODS.getTask,
    // The history is not needed: results are artifacts, the question is in the status.
    params: JSON.stringify(
      encodeWire('GetTaskRequest', { ...tenantOf(ref), id: ref.taskId, historyLength: 0 }),
    ),
    wireId: link.wireId(),
    signal: options.signal,
    timeoutMs: options.timeoutMs,
    act: false,
  })
  if (reply.kind === 'result') {
    const taken = takeTask(link.peer, reply.received, ref, options.limits)
    return 'snapshot' in taken
      ? { kind: 'task', snapshot: taken.snapshot }
      : { kind: 'unreadable', detail: taken.unreadable }
  }
  if (reply.kind !== 'error') return { kind: 'unreachable', detail: reply.detail }
  const { error } = reply
  if (error.reason === 'TASK_NOT_FOUND') return { kind: 'not_found', detail: error.message }
  return { kind: error.kind === 'http' ? 'unreachable' : 'unreadable', detail: error.message }
}

/**
 * A Task object as a snapshot.
 *
 * @param ref the task it must be; undefined for the answer to a first send, which names it.
 */
export function takeTask(
  peer: string,
  received: Received,
  ref: Partial<TaskRef>,
  limits?: ArtifactLimits,
): { readonly snapshot: Snapshot } | { readonly unreadable: string } {
  const parsed = parseWire('Task', received.value, REPLY_LIMITS)
  if (!parsed.ok) {
    return {
      unreadable: `the agent's task is not A2A 1.0: ${describeViolations(parsed.violations)}`,
    }
  }
  const task = parsed.value
  if (ref.taskId !== undefined && task.id !== ref.taskId) {
    return { unreadable: 'the agent answered with another task than the one asked for' }
  }
  const contextId = task.contextId === '' ? undefined : task.contextId
  const handle = sealHandle(peer, {
    taskId: task.id,
    ...tenantOf(ref),
    ...((contextId ?? ref.contextId) === undefined
      ? {}
      : { contextId: contextId ?? ref.contextId! }),
  })
  const { text } = received
  const ended = isTerminal(task.status.state)
  const chunks = chunksOfTask(task.artifacts ?? [], text, wholeSpan(text), ended)
  const bounded = takeSnapshot(chunks, limits)
  return { snapshot: { task, handle, text, artifacts: bounded.chunks, taken: bounded.taken } }
}

/** The news a snapshot is. */
export function newsOfSnapshot(snapshot: Snapshot): TaskNews {
  const { task, handle, text, artifacts } = snapshot
  const words = wordsOf(task.status.message)
  return {
    kind: 'snapshot',
    cursor: digestOf(snapshot),
    outcome: outcomeOfStatus({ status: task.status, handle, text, artifacts }),
    ...(words === '' ? {} : { text: words }),
    artifacts,
  }
}

/** The same for two reads of a task between which nothing happened. */
export function digestOf(snapshot: Snapshot): string {
  return createHash('sha256').update(snapshot.text).digest('hex').slice(0, 16)
}

/** The tenant member of a request, when there is one. */
export function tenantOf(of: { readonly tenant?: string | undefined }): { tenant?: string } {
  return of.tenant === undefined ? {} : { tenant: of.tenant }
}
