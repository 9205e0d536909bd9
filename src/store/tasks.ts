/** The Tasks port: reads from the reader, writes through the committer, and wakes those who wait for a change. */
import type { DatabaseSync } from 'node:sqlite'

import type { Claimed, Effect, Tasks } from '../core/ports/tasks.ts'
import { type ClaimedRow, SELECT_ANY_DUE } from './apply/leases.ts'
import type { Clock } from '../core/ports/world.ts'
import type { TaskRecord } from '../core/words/task.ts'
import type { Committer } from './commit.ts'
import { decodeTask, encodeCommit } from './encode-task.ts'
import { createTaskReader, loadTask } from './task-reader.ts'

/** Most effects handed out by one claim. */
const MAX_CLAIM = 1000
const ALL_EFFECTS: readonly Effect['do'][] = ['follow', 'find', 'judge']

/** Wakes waiters after a commit. */
export interface TaskEvents {
  subscribe(listener: (taskIds: readonly string[]) => void): () => void
  publish(taskIds: readonly string[]): void
}

/** In-process events; a listener that throws takes none of the others with it. */
export function createTaskEvents(onFault: (error: unknown) => void): TaskEvents {
  const listeners = new Set<(taskIds: readonly string[]) => void>()
  return {
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    publish: (taskIds) => {
      for (const listener of listeners) {
        try {
          listener(taskIds)
        } catch (error) {
          onFault(error)
        }
      }
    },
  }
}

/** The tasks of one store. */
export function createTasks(
  deps: {
    readonly committer: Committer
    readonly reader: DatabaseSync
    readonly events: TaskEvents
  },
  clock: Clock,
): Tasks {
  const { committer, reader } = deps
  const release = (claimed: Claimed, delayMs: number | null): Promise<unknown> =>
    committer.submit({
      do: 'release',
      taskId: claimed.task.id,
      effect: claimed.effect.do,
      claimedVersion: claimed.task.version,
      owner: claimed.fence.owner,
      fence: claimed.fence.number,
      delayMs,
    })
  return {
    ...createTaskReader(reader),
    commit: async (commit, fence) =>
      (await committer.submit({
        do: 'task_commit',
        commit: encodeCommit(commit),
        fence: fence ?? null,
      })) as 'committed' | 'stale' | 'fenced',
    claim: async (owner, limit, leaseMs, only) => {
      const effects = JSON.stringify(only ?? ALL_EFFECTS)
      // Polling when nothing is due must not cost a barrier.
      const due = reader.prepare(SELECT_ANY_DUE).get({ now: clock.now(), rows: 1, effects })
      if (due === undefined || limit < 1) return []
      const wanted = Math.min(limit, MAX_CLAIM)
      const rows = await committer.submit({
        do: 'claim',
        owner,
        limit: wanted,
        leaseMs,
        effects,
      })
      return (rows as readonly ClaimedRow[]).map((row) => claimedOf(row, owner))
    },
    done: async (claimed) => {
      await release(claimed, null)
    },
    postpone: async (claimed, delayMs) => {
      await release(claimed, Math.max(0, delayMs))
    },
    changed: (id, version, signal) => waitForChange(deps, { id, version }, signal),
  }
}

function claimedOf(row: ClaimedRow, owner: string): Claimed {
  return {
    task: decodeTask(row.task),
    effect: { do: row.effect as Claimed['effect']['do'] },
    fence: { owner, number: row.fence },
  }
}

async function waitForChange(
  deps: { readonly reader: DatabaseSync; readonly events: TaskEvents },
  seen: { readonly id: string; readonly version: number },
  signal: AbortSignal,
): Promise<TaskRecord | undefined> {
  return new Promise((resolve, reject) => {
    const end = (task: TaskRecord | undefined): void => {
      stop()
      signal.removeEventListener('abort', aborted)
      resolve(task)
    }
    const aborted = (): void => end(undefined)
    const look = (): void => {
      try {
        const task = loadTask(deps.reader, seen.id)
        if (task !== undefined && task.version > seen.version) end(task)
      } catch (error) {
        stop()
        signal.removeEventListener('abort', aborted)
        reject(error instanceof Error ? error : new Error(String(error)))
      }
    }
    const stop = deps.events.subscribe((taskIds) => {
      if (taskIds.includes(seen.id)) look()
    })
    signal.addEventListener('abort', aborted)
    if (signal.aborted) aborted()
    // After subscribing: a commit in between must not be missed.
    else look()
  })
}
