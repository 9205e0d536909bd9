/**
 * What an error, a lost answer or a send that never left means for work: failed, or unknown.
 *
 * `ran: no` is said only where the protocol or the status proves that nothing was started. Everything
 * else is `unknown` or `ran: yes`, so that it is not repeated blindly.
 */
import type { StopReason } from '../../core/ports/upstream.ts'
import { type Outcome, refused } from '../../core/words/outcome.ts'
import type { NoAnswer, NotSent } from '../bindings/http.ts'
import type { RpcError } from '../bindings/rpc-response.ts'
import { type ErrorReason, JSON_RPC_CODES } from '../wire/rev-1-0.ts'
import type { NoCard } from './card.ts'
import { toNative } from './native.ts'

/** Errors by which an agent says that it did not take the work up. @source A2A 1.0.1, 3.3.2 */
const NOT_TAKEN: ReadonlySet<ErrorReason> = new Set([
  'TASK_NOT_FOUND',
  'TASK_NOT_CANCELABLE',
  'PUSH_NOTIFICATION_NOT_SUPPORTED',
  'UNSUPPORTED_OPERATION',
  'CONTENT_TYPE_NOT_SUPPORTED',
  'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
  'EXTENSION_SUPPORT_REQUIRED',
  'VERSION_NOT_SUPPORTED',
])
const REFUSED_CODES: ReadonlySet<number> = new Set([
  JSON_RPC_CODES.parseError,
  JSON_RPC_CODES.invalidRequest,
  JSON_RPC_CODES.methodNotFound,
  JSON_RPC_CODES.invalidParams,
])
/** Statuses that a request gets before anything is done with it. */
const REFUSED_STATUSES: ReadonlySet<number> = new Set([
  400, 404, 405, 406, 410, 411, 413, 414, 415, 417, 421, 426, 429, 431,
])

/** The outcome of a send that was answered with an error. */
export function outcomeOfError(error: RpcError): Outcome {
  const native = error.received === undefined ? {} : { native: toNative(error.received.text) }
  if (error.kind === 'unreadable') {
    return { state: 'unknown', because: 'peer_unclear', detail: error.message }
  }
  if (error.kind === 'rpc') {
    const refusedIt =
      error.reason === undefined ? REFUSED_CODES.has(error.code ?? 0) : NOT_TAKEN.has(error.reason)
    const unsupported =
      error.code === JSON_RPC_CODES.methodNotFound || error.reason === 'VERSION_NOT_SUPPORTED'
    return {
      state: 'failed',
      origin: 'peer',
      ran: refusedIt ? 'no' : 'yes',
      code: unsupported ? 'unsupported' : 'peer_error',
      detail: error.message,
      ...native,
    }
  }
  if (error.status === 401 || error.status === 403) {
    return refused('transport', 'credentials_missing', error.message)
  }
  const early = REFUSED_STATUSES.has(error.status) || (error.status >= 300 && error.status < 400)
  if (early) return refused('transport', 'peer_error', error.message)
  // A gateway in front of the agent answers 5xx also when the agent was reached.
  return { state: 'unknown', because: 'peer_unclear', detail: error.message }
}

/** The outcome of a send that never left, or whose answer never came. */
export function outcomeOfSilence(reply: NotSent | NoAnswer, stop: StopReason | undefined): Outcome {
  const late = reply.because === 'deadline' || (reply.because === 'canceled' && stop === 'deadline')
  if (reply.kind === 'not_sent') {
    if (late) return refused('transport', 'deadline_before_send', reply.detail)
    if (reply.because === 'canceled') {
      return refused('transport', 'canceled_before_send', reply.detail)
    }
    return refused('transport', 'peer_unreachable', reply.detail)
  }
  const because = late
    ? 'deadline'
    : reply.because === 'canceled'
      ? 'cancel_unconfirmed'
      : 'sent_no_answer'
  const detail = `the message was sent and no answer came (${reply.detail}); it is not sent again`
  return { state: 'unknown', because, detail }
}

/** The outcome when there is no card to work with: nothing was sent. */
export function outcomeOfNoCard(none: NoCard): Outcome {
  return refused(none.kind === 'unusable' ? 'protocol' : 'transport', none.code, none.detail)
}
