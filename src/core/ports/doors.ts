/** What core offers to doors. A door holds these, never the parts behind them. */
import type { NewCall } from '../words/call.ts'
import type { Outcome } from '../words/outcome.ts'
import type { Principal } from '../words/principal.ts'
import type { Answer } from '../words/question.ts'
import type { TaskRecord } from '../words/task.ts'
import type { CancelReport, Exchange } from './upstream.ts'

export interface Dispatched {
  /** Our id of the attempt; what `explain` takes. */
  readonly callId: string
  readonly outcome: Outcome
  /** The approval this call spent, to be carried by a multi round trip. */
  readonly approvalId?: string
  /** Present for a delegation: its task, as it stands. */
  readonly task?: TaskRecord
}

/** New work. Resolves to an outcome, never throws for what callers or peers did. */
export type Dispatch = (call: NewCall, exchange: Exchange) => Promise<Dispatched>

/** A delegation under way: the task is on record when this resolves, the outcome comes when the agent has replied. */
export interface Delegated {
  readonly callId: string
  /** Undefined when the gate refused: then `reply` is that refusal. */
  readonly task?: TaskRecord
  /** The same idempotency key with the same content is on record: `callId` and `task` are of that call, nothing was sent. */
  readonly earlier?: true
  readonly reply: Promise<Dispatched>
}

export type Delegate = (call: NewCall, exchange: Exchange) => Promise<Delegated>

/**
 * A call under way that may become a task before it ends; `task` is there from the first when it was begun as one
 * (`NewCall.asTask`). `reply` tells how it ended for its caller: with `task` when it became one, by `keep` or by its peer.
 */
export interface Begun extends Delegated {
  /**
   * Makes it a task of its caller's, or says which it is since it was begun; from then on its questions stand on that task, and
   * only the task's own cancel, the exchange and the end of this process stop it. Durable when it resolves.
   *
   * @returns undefined when it ended first: see `reply`.
   * @throws ComityError when the record takes no task; the call goes on as before.
   */
  keep(): Promise<TaskRecord | undefined>
}

/** Resolves when the call is on record, or refused: then `reply` is that refusal. */
export type Begin = (call: NewCall, exchange: Exchange) => Promise<Begun>

/** Who answers a task, and by which way. */
export interface AnsweredBy {
  readonly principal: Principal
  readonly door: string
  readonly deadlineAt: number
  /** The published agent whose task it is: nobody answers such a task by another way. */
  readonly servedAs?: string
}

/** Old work, for doors. Another principal's task is not found, like one that never was. */
export interface TaskDesk {
  /** @returns undefined when there is no such task for this principal. */
  load(taskId: string, principal: Principal): Promise<TaskRecord | undefined>
  /** What `load` would find for this principal, the newest first; not more than a list shows. */
  list(principal: Principal): Promise<readonly TaskRecord[]>
  /**
   * Answers the task's open questions. The gate holds for it; recorded before it leaves. One answer at a time: another one
   * meanwhile is refused. `callId` is of the answer's own call; of the task's when none was made.
   */
  answer(
    taskId: string,
    answers: readonly Answer[],
    by: AnsweredBy,
    exchange: Exchange,
  ): Promise<
    { readonly callId: string; readonly outcome: Outcome; readonly task: TaskRecord } | undefined
  >
  /** Asks the agent to stop and says what is confirmed. Never says "undone". */
  cancel(
    taskId: string,
    principal: Principal,
  ): Promise<{ readonly report: CancelReport; readonly task: TaskRecord } | undefined>
  /**
   * Shows every change of the task, the present state first, until it has ended or `signal` fires.
   *
   * @returns whether there is such a task for this principal.
   */
  watch(
    taskId: string,
    principal: Principal,
    signal: AbortSignal,
    seen: (task: TaskRecord) => void | Promise<void>,
  ): Promise<boolean>
  /** The task once it is terminal, asks something, or `signal` fires: whichever is first. */
  wait(
    taskId: string,
    principal: Principal,
    signal: AbortSignal,
    seen?: (task: TaskRecord) => void,
  ): Promise<TaskRecord | undefined>
}
