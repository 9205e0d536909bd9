/**
 * What an outcome says of the revision it came by. Pure.
 *
 * A fault is what another revision might not have: failures on the way, and answers against the protocol. A tool's own error,
 * a refused argument and a login that is missing are none.
 */
import { isObject } from '../../core/words/is-object.ts'
import type { Outcome } from '../../core/words/outcome.ts'

/** Codes by which a message itself is refused, whatever it asked for. @source MCP 2026-07-28, basic, error codes */
const REFUSED_MESSAGES: ReadonlySet<number> = new Set([
  -32_700, -32_600, -32_601, -32_020, -32_021, -32_022,
])

/** Failures of which nothing left, and which say something of the connection. */
const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'peer_unreachable',
  'peer_crashed',
  'peer_error',
  'not_sent',
])
const DEFINITION_CODES: ReadonlySet<string> = new Set(['pin_changed', 'unknown_capability'])

/** Why a call of which nothing left may go another way; undefined where its outcome stands. */
export function unsentBecause(outcome: Outcome): 'connection' | 'definition' | undefined {
  if (outcome.state !== 'failed' || outcome.ran !== 'no') return undefined
  if (CONNECTION_CODES.has(outcome.code)) return 'connection'
  return DEFINITION_CODES.has(outcome.code) ? 'definition' : undefined
}

/** What of it is a fault, in words. */
export function faultOf(outcome: Outcome): string | undefined {
  if (outcome.state === 'unknown')
    return outcome.because === 'peer_unclear' || outcome.because === 'sent_no_answer'
      ? outcome.detail
      : undefined
  if (outcome.state !== 'failed') return undefined
  if (outcome.origin === 'protocol' || outcome.code === 'protocol_violation') return outcome.detail
  if (outcome.code === 'deadline_before_send') return outcome.detail
  // Too much at once is nobody's fault; a list that could not be read shows when it is read again.
  if (outcome.code === 'not_sent') return undefined
  if (unsentBecause(outcome) === 'connection') return outcome.detail
  const code = errorCodeOf(outcome)
  return code !== undefined && REFUSED_MESSAGES.has(code) ? outcome.detail : undefined
}

/** Whether it counts as an error in what people are shown. */
export function isError(outcome: Outcome): boolean {
  if (outcome.state === 'unknown') return true
  return (
    outcome.state === 'failed' && outcome.origin !== 'policy' && outcome.origin !== 'validation'
  )
}

/** The peer's own JSON-RPC error code, where it gave one. */
export function errorCodeOf(outcome: Outcome): number | undefined {
  if (outcome.state !== 'failed' || outcome.native === undefined) return undefined
  const value = outcome.native.value()
  return isObject(value) && typeof value.code === 'number' ? value.code : undefined
}
