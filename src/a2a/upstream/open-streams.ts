/**
 * Streams that a first send left open, until the follower of their task takes them.
 *
 * Within one process only, and for a short time: a stream nobody takes is let go, which ends nothing
 * at the agent; the follower subscribes then.
 */
import type { StreamItem } from '../bindings/jsonrpc.ts'
import type { Snapshot } from './read-task.ts'

/** An open stream with what is left of its items. */
export interface OpenStream {
  readonly items: AsyncIterator<StreamItem>
  close(): void
}

/** The streams in waiting. */
export interface OpenStreams {
  park(snapshot: Snapshot, stream: OpenStream): void
  /** The stream of a task with the snapshot it began with; at most once. */
  take(taskId: string): { readonly snapshot: Snapshot; readonly stream: OpenStream } | undefined
  /** Lets go of all. */
  close(): void
}

/** @param keepMs how long a stream waits to be taken. */
export function createOpenStreams(keepMs: number): OpenStreams {
  const parked = new Map<
    string,
    { readonly snapshot: Snapshot; readonly stream: OpenStream; readonly timer: NodeJS.Timeout }
  >()
  const take: OpenStreams['take'] = (taskId) => {
    const found = parked.get(taskId)
    if (found === undefined) return undefined
    parked.delete(taskId)
    clearTimeout(found.timer)
    return found
  }
  const drop = (taskId: string): void => take(taskId)?.stream.close()
  return {
    park(snapshot, stream) {
      const taskId = snapshot.task.id
      drop(taskId)
      const timer = setTimeout(() => drop(taskId), keepMs)
      timer.unref()
      parked.set(taskId, { snapshot, stream, timer })
    },
    take,
    close() {
      for (const taskId of parked.keys()) drop(taskId)
    },
  }
}
