/**
 * Identity of an act: which two calls are the same act, so that one that may have run is not sent again blindly.
 *
 * Pure. The ledger decides with it, in the unit that opens the call.
 */
import type { Digest } from './ports/world.ts'
import type { Idempotency, OutboundCall } from './words/call.ts'
import type { Unknown } from './words/outcome.ts'

/**
 * Equal for equal acts: principal, endpoint, capability, operation, arguments (and the round of a multi round trip).
 *
 * Arguments by value: the same act in another spelling of its numbers must not pass for a new one.
 */
export function actKey(digest: Digest, call: OutboundCall): string {
  const { route, principal, continuation } = call
  return digest.text(
    JSON.stringify([
      principal.id,
      route.peer,
      route.endpoint,
      route.kind,
      route.capability,
      call.operation,
      digest.jsonValue(call.arguments),
      continuation === undefined
        ? null
        : [continuation.handle.sealed, continuation.answers.map(answerKey)],
    ]),
  )
}

/** A caller's key as the record holds it: two principals with one key are two. */
export function idempotencyOf(digest: Digest, call: OutboundCall): Idempotency | undefined {
  const { idempotency, principal } = call
  if (idempotency === undefined) return undefined
  const key = digest.text(JSON.stringify([principal.id, idempotency.key]))
  return { key, digest: digest.text(JSON.stringify([key, idempotency.digest])) }
}

/** What a twin is told: the first one's id, what is known of it, and how to go on. */
export function twinOutcome(first: {
  readonly callId: string
  readonly insistedBy?: string
  readonly openedAt: string
  readonly state: string
}): Unknown {
  const newest = first.insistedBy ?? first.callId
  const again =
    first.insistedBy === undefined
      ? ''
      : ` It was sent again as ${newest} already: look at that one.`
  const fate =
    first.state === 'unknown'
      ? 'it is not known whether it ran'
      : 'it was sent, its caller is gone and it has not ended yet'
  return {
    state: 'unknown',
    because: 'unsettled_twin',
    twinOf: first.callId,
    detail:
      `not sent: an equal call (${first.callId}, ${first.openedAt}) is unsettled, ${fate}.${again} ` +
      `Check at the peer what happened, then settle it: comity settle ${first.callId} --as ran|did-not-run. ` +
      `To send all the same: _meta["comity/insist"] = "${newest}", or comity call --insist ${newest}.`,
  }
}

function answerKey(answer: {
  readonly key: string
  readonly action: string
  readonly text?: string
  readonly data?: unknown
}): unknown {
  return [answer.key, answer.action, answer.text ?? null, answer.data ?? null]
}
