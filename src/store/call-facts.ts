/** What entries say of a call and of its outcome: plain, bounded, no payload, no secret. Payloads stand beside, salted. */
import type { Opening } from '../core/ports/ledger.ts'
import { assertNever } from '../core/words/assert-never.ts'
import type { OutboundCall } from '../core/words/call.ts'
import type { Handle, Outcome } from '../core/words/outcome.ts'
import { ranOf } from '../core/words/outcome.ts'
import type { Decision } from '../core/words/policy.ts'
import { clip } from './canonical-text.ts'
import { saltedSha256 } from './chain.ts'
import type { Facts, PayloadBytes } from './commands.ts'
import { MAX_PAYLOAD } from './payload-limits.ts'
import { createSalts } from './salts.ts'

/** A fifth of a millisecond. */
const MAX_DIGESTED_HERE = 262_144
const drawSalt = createSalts()

/** The facts of an opening. */
export function openingFacts(opening: Opening): Facts {
  return {
    ...callFacts(opening.call, opening.decision),
    sideEffect: opening.sideEffect,
    ...optional('approvalId', opening.approvalId),
    ...optional('taskId', opening.task?.id),
  }
}

/** What is known of a call before it is decided upon. */
export function callFacts(call: OutboundCall, decision: Decision | undefined): Facts {
  const { route, principal, trace } = call
  return {
    operation: call.operation,
    principal: { id: clip(principal.id, 200), via: principal.via },
    door: clip(call.door, 200),
    route: {
      exposed: clip(route.exposed),
      peer: clip(route.peer, 200),
      protocol: route.protocol,
      kind: route.kind,
      capability: clip(route.capability),
      endpoint: route.endpoint,
      fingerprint: route.fingerprint,
      trusted: route.trusted,
    },
    openedAt: new Date(call.openedAt).toISOString(),
    ...(decision === undefined
      ? {}
      : { decision: { ...decision, rule: clip(decision.rule, 400) } }),
    ...optional('requestId', call.requestId),
    ...optional('modelCallId', call.modelCallId),
    ...optional('contextId', call.contextId),
    ...optional('insist', call.insist),
    ...optional('continues', call.continuation?.callId),
    ...optional('traceparent', trace['traceparent']),
  }
}

/** The bytes that the caller's arguments had. Copied: slabs are reused. */
export function argumentsPayload(call: OutboundCall): PayloadBytes {
  return payloadOf('arguments', call.arguments.bytes)
}

/**
 * What is digested only is digested here, where the bytes are: copying them to the writer's thread costs more than the
 * digest. Very large ones go all the same, so that nobody else waits for their digest.
 */
function payloadOf(kind: PayloadBytes['kind'], bytes: Uint8Array): PayloadBytes {
  const size = bytes.byteLength
  if (size <= MAX_PAYLOAD || size > MAX_DIGESTED_HERE) return { kind, bytes: new Uint8Array(bytes) }
  const salt = drawSalt()
  return { kind, size, salt, digest: saltedSha256(salt, bytes) }
}

/** The facts of an outcome. */
export function outcomeFacts(outcome: Outcome): Facts {
  const ran = ranOf(outcome)
  switch (outcome.state) {
    case 'answered':
      return { state: outcome.state, ran, ...optional('contextId', outcome.contextId) }
    case 'completed':
      return {
        state: outcome.state,
        ran,
        toolError: outcome.toolError,
        ...handleFacts(outcome.handle),
        ...(outcome.artifacts === undefined ? {} : { artifactChunks: outcome.artifacts.length }),
      }
    case 'working':
    case 'rejected':
    case 'canceled':
      return { state: outcome.state, ran, ...handleFacts(outcome.handle) }
    case 'input_required':
    case 'auth_required':
      return {
        state: outcome.state,
        ran,
        ...handleFacts(outcome.handle),
        questions: outcome.questions
          .slice(0, 50)
          .map(({ kind, key }) => ({ kind, key: clip(key, 200) })),
      }
    case 'failed':
      return {
        state: outcome.state,
        ran,
        origin: outcome.origin,
        code: outcome.code,
        detail: clip(outcome.detail),
        ...optional('approvalId', outcome.approvalId),
      }
    case 'unknown':
      return {
        state: outcome.state,
        ran,
        because: outcome.because,
        detail: clip(outcome.detail),
        ...optional('twinOf', outcome.twinOf),
        ...handleFacts(outcome.handle),
      }
    default:
      return assertNever(outcome)
  }
}

/** The peer's answer in its own bytes, when there is one. Copied: slabs are reused. */
export function resultPayload(outcome: Outcome): PayloadBytes | null {
  const native = 'native' in outcome ? outcome.native : undefined
  return native === undefined ? null : payloadOf('result', native.bytes)
}

// The sealed part stays out: it is what lets the bearer go on with the work.
function handleFacts(handle: Handle | undefined): Facts {
  if (handle === undefined) return {}
  return {
    handle: {
      peer: clip(handle.peer, 200),
      kind: handle.kind,
      ...optional('taskId', handle.taskId),
      ...optional('contextId', handle.contextId),
    },
  }
}

function optional(name: string, text: string | undefined): Facts {
  return text === undefined ? {} : { [name]: clip(text, 400) }
}
