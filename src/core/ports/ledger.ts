/** The ledger: one commit for everything that must be true together, and the only way to a send. */
import type { Idempotency, OutboundCall } from '../words/call.ts'
import type { EntryKind } from '../words/entry.ts'
import type { Outcome } from '../words/outcome.ts'
import type { Decision } from '../words/policy.ts'
import type { TaskRecord } from '../words/task.ts'
import type { Effect, TaskCommit } from './tasks.ts'
import type { WireFacts } from './upstream.ts'

export interface Opening {
  readonly call: OutboundCall
  /** Equal for equal acts: principal, endpoint, capability, canonical arguments. Empty without side effects, which have no twins. */
  readonly actKey: string
  /** Write or destructive: durable before it resolves, subject to the twin rule. */
  readonly sideEffect: boolean
  readonly decision: Decision
  /** Spent in the same unit, once. A later round of a multi round trip takes it over from the round it continues, also once. */
  readonly approvalId?: string
  /** A delegation's task, created in the same unit. */
  readonly task?: TaskRecord
  /** `key` unique in the store; looked at before everything else, so that the same message again is no twin of itself. */
  readonly idempotency?: Idempotency
}

/** What is on record under an idempotency key. */
export type Recorded =
  | { readonly kind: 'recorded'; readonly callId: string; readonly taskId?: string }
  /** The key was used with other content. */
  | { readonly kind: 'key_conflict'; readonly callId: string }

export type Opened =
  | Recorded
  | { readonly kind: 'opened' }
  | {
      readonly kind: 'twin'
      readonly callId: string
      /** The newest call that was sent in its place, by insisting: the one to insist on now. */
      readonly insistedBy?: string
      readonly openedAt: string
      readonly state: 'unknown' | 'open_caller_gone'
    }
  | { readonly kind: 'approval_spent' }
  | { readonly kind: 'unwritable'; readonly detail: string }

export interface LedgerEvent {
  readonly kind: EntryKind
  /** Plain JSON, no payloads; what was in force on the wire, for `dispatched`. */
  readonly facts: Readonly<Record<string, unknown>> | WireFacts
}

export interface Ledger {
  /** The opened call that this key was given to; those left out that were refused, or made no task and are known never to have run. Asked before the gate, which a call passes once. */
  recorded(idempotency: Idempotency): Promise<Recorded | undefined>
  /** One atomic unit, taken in order as it is called: decision, approval spent, twin check, task row, entry. Durable when it resolves if `sideEffect`; else it joins the next group commit, and is answered at once where the answer is known. */
  open(opening: Opening): Opened | Promise<Opened>
  /**
   * Makes the row of a task for a call under way that has none, with what is owed to it. Durable when it resolves.
   *
   * @returns `ended` when the call was settled meanwhile: there is no such task then.
   */
  keep(callId: string, task: TaskRecord, effects: readonly Effect[]): Promise<'kept' | 'ended'>
  /** A call stopped at the gate: written, ordered, joins the next group commit. */
  refuse(call: OutboundCall, outcome: Outcome, decision: Decision | undefined): void
  /** Written, ordered, joins the next group commit. A crash before it makes the call `unknown`, never lost. */
  note(callId: string, event: LedgerEvent): void
  /** As `note`, durable when it resolves: an answer or a cancel is on record before it leaves. */
  record(callId: string, event: LedgerEvent): Promise<void>
  /** The caller of an open call went away: from now on an equal act is its twin. May be said while `open` is under way; holds for what is opened after it. */
  callerGone(callId: string): void
  /**
   * Entry and task row in one unit. Durable when it resolves if `barrier`, else answered at once.
   *
   * @returns `late` when a person had settled the call and so ended its task: the outcome is on record, the task stays.
   */
  settle(
    callId: string,
    outcome: Outcome,
    options: { readonly barrier: boolean; readonly task?: TaskCommit },
  ): 'settled' | Promise<'settled' | 'late'>
}
