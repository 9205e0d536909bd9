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
import { MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
import { findMember, readString, sliceOf, type Member } from '../wire/spans.ts'
import type { RequestMeta } from './request-meta.ts'

/** Where a request came from and its notifications go. */
export interface Caller {
  /** Sends one whole notification on this request's channel. A returned promise is back-pressure. */
  notify(message: Uint8Array): void | Promise<void>
  /** Sends one whole notification on the caller's session, whatever became of this request. Absent where there is none. */
  tell?(message: Uint8Array): void | Promise<void>
  /** Aborted, with a StopReason as its reason, when the caller withdrew the request or the door closes. */
  readonly signal: AbortSignal
  /** Fires when the connection is gone though nobody withdrew the request. */
  readonly gone: AbortSignal
  /** What both signals say, for whoever needs no signal: most calls end without one. Absent where the signals are there anyway. */
  readonly presence?: Presence
  /**
   * Asks this caller live, on its session; present for session revisions whose caller can be asked something. Never rejects:
   * as `Exchange.ask`.
   */
  ask?(question: Question, withdrawn: AbortSignal): Promise<Answer>
}

/** Whether a caller still waits. */
export interface Presence {
  /** Why it does not; undefined as long as it does. */
  readonly withdrawn: StopReason | undefined
  readonly isGone: boolean
  /** Tells when it is withdrawn, once, if it is not yet. One watcher at a time: the last one counts. */
  watch(watcher: PresenceWatcher): void
  unwatch(watcher: PresenceWatcher): void
}

export interface PresenceWatcher {
  callerWithdrew(): void
}

/** The presence of a caller, however it is told. */
export function presenceOf(caller: Caller): Presence {
  return caller.presence ?? new SignalledPresence(caller)
}

class SignalledPresence implements Presence {
  readonly #caller: Caller
  #watcher: PresenceWatcher | undefined

  constructor(caller: Caller) {
    this.#caller = caller
  }

  get withdrawn(): StopReason | undefined {
    const { signal } = this.#caller
    return signal.aborted ? stopReasonOf(signal) : undefined
  }

  get isGone(): boolean {
    return this.#caller.gone.aborted
  }

  watch(watcher: PresenceWatcher): void {
    this.#watcher = watcher
    this.#caller.signal.addEventListener('abort', this, { once: true })
  }

  unwatch(): void {
    this.#watcher = undefined
    this.#caller.signal.removeEventListener('abort', this)
  }

  handleEvent(): void {
    this.#watcher?.callerWithdrew()
  }
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
  readonly headers?: HeaderBag | undefined
  readonly caller: Caller
}

/** Which door it came through, for the record. */
export function doorOf({ revision, transport }: Visit): string {
  return revision === MODERN_REVISION && transport === 'http'
    ? MODERN_HTTP
    : `mcp ${revision} ${transport}`
}

const MODERN_HTTP = `mcp ${MODERN_REVISION} http`

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
