/** A call: one attempt to use one capability, as a door hands it to dispatch and as dispatch hands it to a peer's adapter. */
import type { JsonText, Native } from './native.ts'
import type { Handle } from './outcome.ts'
import type { Principal } from './principal.ts'
import type { Answer } from './question.ts'
import type { Route } from './route.ts'

export type Operation = 'call' | 'read' | 'prompt' | 'delegate' | 'answer'

/** A multi round trip going on: what the earlier round left, unsealed and verified by the door. */
export interface Continuation {
  /** Of the earlier round; left out when none is known, and the answers are what the caller says they are. */
  readonly callId?: string
  readonly handle: Handle
  readonly answers: readonly Answer[]
  /** The approval the first round spent: the same arguments need no second one. */
  readonly approvalId?: string
}

export interface Idempotency {
  /** Unique within the principal. */
  readonly key: string
  readonly digest: string
}

export interface NewCall {
  readonly route: Route
  readonly principal: Principal
  readonly operation: Operation
  /** The caller's message in its own form. */
  readonly native: Native
  /** What policy, schema, approval and twins look at: the arguments, or `{ uri }` for a read. */
  readonly arguments: JsonText
  /** Which door it came through, for the record: `mcp 2026-07-28 http`, `cli`, `a2a 1.0`. */
  readonly door: string
  /** The caller's own request id, as text, for the record. */
  readonly requestId?: string
  /** The model's call id, when the caller gave one, for the record. */
  readonly modelCallId?: string
  /** Epoch milliseconds after which the caller no longer waits for this attempt. */
  readonly deadlineAt: number
  readonly trace: Readonly<Record<string, string>>
  readonly continuation?: Continuation
  /** The call id of an unsettled twin that the caller knowingly overrides. */
  readonly insist?: string
  /** The caller gets a task of ours whatever the capability is: its row is made with the call. Always so for a delegation. */
  readonly asTask?: boolean
  /** How long its task, when it becomes one, may be read by its owner, milliseconds. */
  readonly taskTtlMs?: number
  /** The published agent it came to, when it came to one: only there its task is shown. */
  readonly servedAs?: string
  /** The caller's own name for this act, with a digest of all it said: the same again is this call, other content a conflict. */
  readonly idempotency?: Idempotency
  /** For a delegation: joins it to an earlier conversation. */
  readonly contextId?: string
}

export interface OutboundCall extends NewCall {
  readonly callId: string
  /** Epoch milliseconds. */
  readonly openedAt: number
}
