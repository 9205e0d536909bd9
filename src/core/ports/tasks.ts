/** Tasks: compare-and-set plus an outbox of effects, in one unit. One writer a task. */
import type { Artifact, ArtifactWrite } from '../words/artifact.ts'
import type { Principal } from '../words/principal.ts'
import type { TaskRecord } from '../words/task.ts'

/** Work owed by the store to a task; claimed by workers, run at least once. */
export type Effect =
  | { readonly do: 'follow' }
  /** The first send may have arrived: look for the remote task. */
  | { readonly do: 'find' }
  | { readonly do: 'judge' }

/** A task's next row with all that belongs to it. */
export interface TaskCommit {
  /** `version` still the one that was loaded; the store counts it up. */
  readonly next: TaskRecord
  readonly writes: readonly ArtifactWrite[]
  /** Replaces the task's due effects. Undefined leaves them as they are. */
  readonly effects?: readonly Effect[]
  /** What the entry says of this change; undefined writes none. */
  readonly entry?: {
    readonly kind: 'task_changed' | 'late_news' | 'judged'
    readonly facts: Readonly<Record<string, unknown>>
  }
}

export interface Fence {
  readonly owner: string
  readonly number: number
}

export interface Claimed {
  readonly task: TaskRecord
  readonly effect: Effect
  readonly fence: Fence
}

export interface Tasks {
  /** Undefined for unknown ids and for another principal's alike. The operator sees all. */
  load(id: string, principal: Principal): Promise<TaskRecord | undefined>
  list(principal: Principal): Promise<readonly TaskRecord[]>
  artifacts(id: string): Promise<readonly Artifact[]>
  /** `stale`: the version moved, load and step again. `fenced`: another owner holds the task now. Durable when it resolves. */
  commit(commit: TaskCommit, fence?: Fence): Promise<'committed' | 'stale' | 'fenced'>
  /** Due effects this owner now holds, at most `limit`, one a task; only those kinds, when given. */
  claim(
    owner: string,
    limit: number,
    leaseMs: number,
    only?: readonly Effect['do'][],
  ): Promise<readonly Claimed[]>
  /** The effect is done: it is not claimed again. */
  done(claimed: Claimed): Promise<void>
  /** Not done: due again after `delayMs`. */
  postpone(claimed: Claimed, delayMs: number): Promise<void>
  /** The row as soon as its version is above `version`; undefined when the signal fires first. */
  changed(id: string, version: number, signal: AbortSignal): Promise<TaskRecord | undefined>
}
