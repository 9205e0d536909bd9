/**
 * What a follower knows of its task between one look and the next.
 *
 * Lives for one following and is shared by reading and streaming, so that each can tell what the
 * other has already brought.
 */
import type { TaskNews } from '../../core/words/task.ts'
import { isTerminal, type TaskStateName } from '../wire/rev-1-0.ts'
import type { ArtifactLimits, Taken } from './artifacts.ts'
import type { TaskRef } from './handle.ts'
import type { AgentLink } from './link.ts'
import { digestOf, newsOfSnapshot, type Snapshot } from './read-task.ts'

/** How patiently to follow. */
export interface FollowOptions {
  /** First and longest pause between reads, milliseconds. Default 500 and 10 000. */
  readonly pollMinMs: number
  readonly pollMaxMs: number
  /** How long a stream may be silent before the task is read beside it. Default 15 000. */
  readonly silenceMs: number
  /** How long the agent may be out of reach before following ends. Default 120 000. */
  readonly reachMs: number
  /** For one read. Default 15 000. */
  readonly readTimeoutMs: number
  readonly limits?: ArtifactLimits
}

/** The default patience. */
export const FOLLOW_OPTIONS: FollowOptions = {
  pollMinMs: 500,
  pollMaxMs: 10_000,
  silenceMs: 15_000,
  reachMs: 120_000,
  readTimeoutMs: 15_000,
}

/** The state of one following. */
export interface Watch {
  readonly ref: TaskRef
  readonly options: FollowOptions
  readonly signal: AbortSignal
  /** The agent, once it is reached. */
  link?: AgentLink
  /** Of the last snapshot taken. */
  digest: string | undefined
  state?: TaskStateName
  /** What is held of the artifacts, from snapshots and chunks together. */
  taken?: Taken
  note(taskId: string, what: string): void
}

/** True when following ends here: nothing more comes, somebody has to answer first, or the agent itself does not know. */
export function isResting(state: TaskStateName): boolean {
  return (
    isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_UNSPECIFIED'
  )
}

/** Takes a snapshot as what is known of the task now, and gives the news it is. */
export function takeInto(watch: Watch, snapshot: Snapshot): TaskNews {
  watch.digest = digestOf(snapshot)
  watch.state = snapshot.task.status.state
  watch.taken = snapshot.taken
  return newsOfSnapshot(snapshot)
}
