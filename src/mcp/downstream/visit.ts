/**
 * A visit: one request as the method families see it, whatever the era and transport it came by.
 *
 * The eras make it after their own checks of metadata and headers; the families read it and give an Answer.
 */
import type { StopReason } from '../../core/ports/upstream.ts'
import type { Principal } from '../../core/words/principal.ts'
import type { Answer, CallerCan, Question } from '../../core/words/question.ts'
import type { HeaderBag } from '../wire/headers.ts'
import type { RpcRequest } from '../wire/json-rpc.ts'
import { findMember, readString, sliceOf, type Member } from '../wire/spans.ts'
import type { RequestMeta } from './request-meta.ts'

/** Where a request came from and its notifications go. */
export interface Caller {
  /** Sends one whole notification on this request's channel. A returned promise is back-pressure. */
  notify(message: Uint8Array): void | Promise<void>
  /** Aborted, with a StopReason as its reason, when the caller withdrew the request or the door closes. */
  readonly signal: AbortSignal
  /** Fires when the connection is gone though nobody withdrew the request. */
  readonly gone: AbortSignal
  /**
   * Asks this caller live, on its session; present for session revisions whose caller can be asked something. Never rejects:
   * as `Exchange.ask`.
   */
  ask?(question: Question, withdrawn: AbortSignal): Promise<Answer>
}

/** Reads the StopReason of a caller's aborted signal. */
export function stopReasonOf(signal: AbortSignal): StopReason {
  const reason: unknown = signal.reason
  return reason === 'shutdown' || reason === 'deadline' ? reason : 'caller_canceled'
}

export interface Visit {
  readonly era: 'modern' | 'legacy'
  readonly revision: string
  readonly transport: 'http' | 'stdio'
  readonly principal: Principal
  readonly request: RpcRequest
  /** The params object; `{}` when there was none. */
  readonly params: Uint8Array
  readonly members: readonly Member[]
  readonly meta: RequestMeta
  readonly can: CallerCan
  /** Over HTTP only. */
  readonly headers?: HeaderBag
  readonly caller: Caller
}

/** Which door it came through, for the record. */
export function doorOf(visit: Visit): string {
  return `mcp ${visit.revision} ${visit.transport}`
}

/** A string member of the params; undefined when absent or of another type. */
export function stringParam(visit: Visit, key: string): string | undefined {
  const member = findMember(visit.members, key)
  return member?.type === 'string' ? readString(visit.params, member.value) : undefined
}

/** The bytes of a member of the params. */
export function paramBytes(visit: Visit, key: string): Uint8Array | undefined {
  const member = findMember(visit.members, key)
  return member === undefined ? undefined : sliceOf(visit.params, member.value)
}

/** How a server of our own makes the bodies that it hands to a door. */
export { jsonText, mcpNative } from '../wire/native.ts'
