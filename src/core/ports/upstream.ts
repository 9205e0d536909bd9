/** A peer as core sees it. Adapters never call core; they only resolve and yield. */
import type { OutboundCall } from '../words/call.ts'
import type { Native } from '../words/native.ts'
import type { Handle, Outcome } from '../words/outcome.ts'
import type { Answer, CallerCan, Question } from '../words/question.ts'
import type { TaskNews } from '../words/task.ts'

export type CallEvent =
  | { readonly kind: 'progress'; readonly native: Native }
  | { readonly kind: 'log'; readonly native: Native }

export type StopReason = 'caller_canceled' | 'caller_gone' | 'deadline' | 'shutdown'

/** Whoever is told, once, that work should stop. */
export interface StopListener {
  stopped(): void
}

/**
 * What an Exchange's `signal` says, without being one. A signal of the platform with a listener on it holds on to all that its
 * call needed until the next full collection, which is too much for what every call does.
 */
export interface Stopping {
  readonly isStopped: boolean
  /** Not told when it is stopped already. */
  watch(listener: StopListener): void
  unwatch(listener: StopListener): void
}

/** What the caller's door gives the call while it runs. */
export interface Exchange {
  /** Aborted when the work should stop; `stopReason` says why. The adapter cancels in its hop's form. */
  readonly signal: AbortSignal
  /** The same, for what comes with every call; left out where calls are few. */
  readonly stopping?: Stopping | undefined
  stopReason(): StopReason | undefined
  /** Stops this work; present when others than its caller may ask for that, by its task. */
  stop?(why: StopReason): void
  /** Calls back when the caller's connection is lost while the work goes on (a legacy caller's disconnect is no cancel). */
  onGone?(listener: () => void): void
  /** Ordered, never after the outcome. A returned promise is back-pressure: await it before reading more from the peer. */
  emit(event: CallEvent): void | Promise<void>
  /** Told our id of the attempt once it is on record, before anything is sent. */
  opened?(callId: string): void
  /** What may be declared to the peer for this call. */
  readonly can: CallerCan
  /**
   * Asks the one for whom the call runs, while it runs. Never rejects: `decline` when they may not be asked that or said no,
   * `cancel` when they are gone or did not answer in time. Absent for callers that can be asked nothing in mid-call.
   *
   * @param withdrawn aborted when the peer takes its question back.
   */
  ask?(question: Question, withdrawn: AbortSignal): Promise<Answer>
}

/** What was in force on the wire when bytes may have left; provenance. */
export interface WireFacts {
  readonly wireId: string
  readonly revision: string
  /** Declared by us for this call, and by the peer; shown by `explain`. */
  readonly ours: unknown
  readonly theirs: unknown
}

export interface Upstream {
  /**
   * The single send. `opened` is on record before this is called. Resolves to an outcome, never throws for what the peer did.
   *
   * @param dispatched called once, just before bytes may leave: from then on silence means `unknown`.
   * @param late called when the peer answers after all, once the outcome was told without its answer. It moves nothing.
   */
  call(
    call: OutboundCall,
    exchange: Exchange,
    dispatched: (facts: WireFacts) => void,
    late?: (outcome: Outcome) => void,
  ): Promise<Outcome>
  /** Present when the peer's work can outlive a call. */
  readonly work?: Work
}

export type CancelReport = {
  readonly confirmed: 'stopped' | 'already_ended' | 'unconfirmed'
  readonly detail: string
  readonly news?: TaskNews
}

/** Long work at a peer: an A2A agent's tasks. */
export interface Work {
  /** News from `after` on; ends when terminal, waiting for an answer, or the peer cannot be reached within its budget. */
  follow(handle: Handle, after: string | undefined, signal: AbortSignal): AsyncIterable<TaskNews>
  /** Present state, authoritative. @throws Error when the peer cannot be asked. */
  inspect(handle: Handle, signal: AbortSignal): Promise<TaskNews>
  /** Sends answers (`call.continuation`) to an existing task. The reply is news like any other. */
  answer(
    call: OutboundCall,
    exchange: Exchange,
    dispatched: (facts: WireFacts) => void,
  ): Promise<Outcome>
  cancel(handle: Handle, signal: AbortSignal): Promise<CancelReport>
  /** Looks for a first send whose answer was lost, by the message id derived from `callId`. */
  find(
    callId: string,
    sentAt: number,
    signal: AbortSignal,
  ): Promise<{ readonly found: TaskNews; readonly handle: Handle } | 'cannot_tell'>
}

/** What dispatch asks for a peer by. */
export type UpstreamOf = (peer: string) => Upstream | undefined
