/**
 * A task: work that outlives a call. Its states move only along one table; terminal states take nothing more.
 *
 * @source A2A 1.0, 4.1.3 TaskState; the table is stricter than the text, which has none
 */
import type { AcceptanceRule, Verdict } from './acceptance.ts'
import type { ArtifactChunk, ArtifactRecord } from './artifact.ts'
import type { Handle, Outcome, UnknownBecause } from './outcome.ts'
import type { Principal } from './principal.ts'
import type { Question } from './question.ts'

export type TaskState =
  | 'submitted'
  | 'working'
  | 'input_required'
  | 'auth_required'
  | 'completed'
  | 'failed'
  | 'rejected'
  | 'canceled'
  /** The agent replied with a Message: there never was a remote task, and lists leave this row out. */
  | 'answered'
  /** The first send may have arrived; nobody knows. Finding the remote task moves it on. */
  | 'unknown'

const OPEN_STATES = ['working', 'input_required', 'auth_required'] as const
const END_STATES = ['completed', 'failed', 'rejected', 'canceled'] as const

/** Allowed moves. A state may always be reported again except a terminal one. */
export const TASK_MOVES: Readonly<Record<TaskState, readonly TaskState[]>> = {
  submitted: ['submitted', ...OPEN_STATES, ...END_STATES, 'answered', 'unknown'],
  working: [...OPEN_STATES, ...END_STATES, 'unknown'],
  input_required: [...OPEN_STATES, ...END_STATES, 'unknown'],
  auth_required: [...OPEN_STATES, ...END_STATES, 'unknown'],
  unknown: ['unknown', ...OPEN_STATES, ...END_STATES, 'answered'],
  completed: [],
  failed: [],
  rejected: [],
  canceled: [],
  answered: [],
}

export function isTerminal(state: TaskState): boolean {
  return TASK_MOVES[state].length === 0
}

/** Whose move is next, as the task's view says it on every door. */
export function nextMover(state: TaskState): 'agent' | 'you' | 'operator' | 'nobody' {
  switch (state) {
    case 'submitted':
    case 'working':
      return 'agent'
    case 'input_required':
      return 'you'
    case 'auth_required':
    case 'unknown':
      return 'operator'
    case 'completed':
    case 'failed':
    case 'rejected':
    case 'canceled':
    case 'answered':
      return 'nobody'
  }
}

export interface TaskRecord {
  readonly id: string
  /** Counts commits; compare-and-set. */
  readonly version: number
  readonly owner: Principal
  readonly peer: string
  /** What was called there, by the peer's own name; left out in records of older releases. */
  readonly capability?: string
  /** The call that made it. */
  readonly callId: string
  /** The published agent whose task it is. Undefined: it came another way, and no published agent shows it. */
  readonly servedAs?: string
  readonly state: TaskState
  /** What was asked, shortened, for lists. */
  readonly title: string
  readonly handle?: Handle
  /** The remote conversation, in clear. */
  readonly contextId?: string
  /** Where the follower got to. */
  readonly cursor?: string
  /** Why nobody knows what became of it, while that is so. */
  readonly because?: UnknownBecause
  /** The peer's last words about the state: theirs. */
  readonly theirWords?: string
  readonly questions: readonly Question[]
  readonly artifacts: readonly ArtifactRecord[]
  readonly acceptance?: AcceptanceRule
  readonly verdict: Verdict
  /** How long after `createdAt` its owner may read it, milliseconds. Undefined: as long as it is kept. */
  readonly ttlMs?: number
  /** ISO strings. */
  readonly createdAt: string
  readonly updatedAt: string
}

/** Artifact ids of what an MCP server handed back, as it came: the result object of the call, or the error object. */
export const RESULT_ARTIFACT = 'result'
export const ERROR_ARTIFACT = 'error'

/** Work of an agent; else a call of a tool that lasts. */
export function isOfAgent({ handle, capability, peer, servedAs }: TaskRecord): boolean {
  if (servedAs !== undefined) return false
  if (handle !== undefined) return handle.kind === 'a2a_task'
  return capability === undefined || capability === peer
}

/** Whether its owner may read it still. The operator always may. @param now epoch milliseconds. */
export function isExpired(task: TaskRecord, now: number): boolean {
  return task.ttlMs !== undefined && Date.parse(task.createdAt) + task.ttlMs <= now
}

/** Cursor of an unknown task whose agent was searched for it in vain: from here on only a person can tell. */
export const SEARCHED = 'searched'

/** News of work that outlives its call, as a peer's follower yields it. */
export type TaskNews = { readonly cursor?: string } & (
  | { readonly kind: 'status'; readonly outcome: Outcome; readonly text?: string }
  | { readonly kind: 'artifact'; readonly chunk: ArtifactChunk }
  /** The authoritative present: artifacts replace what was collected. */
  | {
      readonly kind: 'snapshot'
      readonly outcome: Outcome
      readonly text?: string
      readonly artifacts: readonly ArtifactChunk[]
    }
)
