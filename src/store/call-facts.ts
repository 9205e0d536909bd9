/** What entries say of a call and of its outcome: plain, bounded, no payload, no secret. Payloads stand beside, salted. */
import type { Opening } from '../core/ports/ledger.ts'
import type { WireFacts } from '../core/ports/upstream.ts'
import { assertNever } from '../core/words/assert-never.ts'
import type { OutboundCall } from '../core/words/call.ts'
import type { Handle, Outcome } from '../core/words/outcome.ts'
import { ranOf } from '../core/words/outcome.ts'
import type { Decision } from '../core/words/policy.ts'
import type { Principal } from '../core/words/principal.ts'
import type { Route } from '../core/words/route.ts'
import { canonicalText, clip } from './canonical-text.ts'
import { saltedSha256 } from './chain.ts'
import type { Facts, FactsText, PayloadBytes } from './commands.ts'
import { MAX_PAYLOAD } from './payload-limits.ts'
import { createSalts } from './salts.ts'

/** A fifth of a millisecond. */
const MAX_DIGESTED_HERE = 262_144
const drawSalt = createSalts()

/** Puts the mark of a shared text in its place. */
export type Share = (text: string) => string

const WRITE_OUT: Share = (text) => text

/** The facts of an opening. */
export function openingText(
  { call, decision, sideEffect, approvalId, task }: Opening,
  share = WRITE_OUT,
): FactsText {
  const approval = approvalId === undefined ? '' : `${said('approvalId', approvalId)},`
  const end = task === undefined ? '' : `,${said('taskId', task.id)}`
  return {
    head: `{${approval}`,
    tail: tailOf(call, decision, { share, afterRoute: `,"sideEffect":${sideEffect}${end}` }),
  }
}

/** What is known of a call before it is decided upon. */
export function callText(
  call: OutboundCall,
  decision: Decision | undefined,
  share = WRITE_OUT,
): FactsText {
  return { head: '{', tail: tailOf(call, decision, { share, afterRoute: '' }) }
}

/** Keys in the order of canonical text; what is the same for many calls is remembered as text. */
function tailOf(
  call: OutboundCall,
  decision: Decision | undefined,
  { share, afterRoute }: { readonly share: Share; readonly afterRoute: string },
): string {
  const { contextId, continuation, insist, modelCallId, requestId } = call
  const traceparent = call.trace['traceparent']
  let text = ''
  if (contextId !== undefined) text += `${said('contextId', contextId)},`
  if (continuation?.callId !== undefined) text += `${said('continues', continuation.callId)},`
  if (decision !== undefined) text += `"decision":${share(decisionText(decision))},`
  text += `"door":${doorText(call.door)},`
  if (insist !== undefined) text += `${said('insist', insist)},`
  if (modelCallId !== undefined) text += `${said('modelCallId', modelCallId)},`
  text += `"openedAt":"${timeText(call.openedAt)}","operation":"${call.operation}","principal":${share(principalText(call.principal))},`
  if (requestId !== undefined) text += `${said('requestId', requestId)},`
  text += `"route":${share(routeText(call.route))}${afterRoute}`
  return traceparent === undefined ? `${text}}` : `${text},${said('traceparent', traceparent)}}`
}

function said(name: string, text: string): string {
  return `"${name}":${JSON.stringify(clip(text, 400))}`
}

const decisionText = rememberText((decision: Decision) =>
  canonicalText({ ...decision, rule: clip(decision.rule, 400) }),
)

const principalText = rememberText(({ id, via }: Principal) =>
  canonicalText({ id: clip(id, 200), via }),
)

const routeText = rememberText((route: Route) =>
  canonicalText({
    exposed: clip(route.exposed),
    peer: clip(route.peer, 200),
    protocol: route.protocol,
    kind: route.kind,
    capability: clip(route.capability),
    endpoint: route.endpoint,
    fingerprint: route.fingerprint,
    trusted: route.trusted,
  }),
)

const doorText = rememberNewest((door: string) => JSON.stringify(clip(door, 200)))
const timeText = rememberNewest((at: number) => new Date(at).toISOString())

/** The facts of what was in force on the wire; what both sides declared is the same object for a whole session, mostly. */
export function wireText({ ours, revision, theirs, wireId }: WireFacts, share = WRITE_OUT): string {
  return `{"ours":${share(declaredText(ours))},"revision":${JSON.stringify(revision)},"theirs":${share(declaredText(theirs))},"wireId":${JSON.stringify(wireId)}}`
}

const declaredText = rememberFew((declared: unknown) => canonicalText(declared))

/** By identity, for what stands long and is never changed. */
function rememberText<T extends object>(make: (value: T) => string): (value: T) => string {
  const known = new WeakMap<T, string>()
  return (value) => {
    let text = known.get(value)
    if (text === undefined) known.set(value, (text = make(value)))
    return text
  }
}

/** For what is mostly the same as the last time. */
function rememberNewest<T extends string | number>(
  make: (value: T) => string,
): (value: T) => string {
  let newest: T | undefined
  let text = ''
  return (value) => {
    if (value === newest) return text
    newest = value
    text = make(value)
    return text
  }
}

/** Objects that are remembered where some are made anew for each call. */
const FEW = 8

/** By identity, the newest few. */
function rememberFew(make: (value: unknown) => string): (value: unknown) => string {
  const values: unknown[] = []
  const texts: string[] = []
  let next = 0
  return (value) => {
    const at = values.indexOf(value)
    if (at >= 0) return texts[at] ?? ''
    const text = make(value)
    values[next] = value
    texts[next] = text
    next = (next + 1) % FEW
    return text
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
  if (size <= MAX_PAYLOAD) return { kind, latin1: latin1Of(bytes) }
  if (size > MAX_DIGESTED_HERE) return { kind, bytes: new Uint8Array(bytes) }
  const salt = drawSalt()
  return { kind, size, salt, digest: saltedSha256(Buffer.from(salt, 'latin1'), bytes) }
}

function latin1Of(bytes: Uint8Array): string {
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return buffer.toString('latin1')
}

const COMPLETED: FactsText = {
  head: '{"ran":"yes",',
  tail: '"state":"completed","toolError":false}',
}

/** The facts of an outcome, as text. */
export function outcomeText(outcome: Outcome): FactsText {
  // What nearly every call comes to.
  if (
    outcome.state === 'completed' &&
    !outcome.toolError &&
    outcome.handle === undefined &&
    outcome.artifacts === undefined
  )
    return COMPLETED
  const facts = outcomeFacts(outcome)
  const before: Record<string, unknown> = {}
  const after: Record<string, unknown> = {}
  // Where `result` goes. State comes after it in every case, so neither text is the end of the other.
  for (const [name, value] of Object.entries(facts))
    (name < 'result' ? before : after)[name] = value
  const head = canonicalText(before).slice(0, -1)
  return {
    head: head === '{' ? head : `${head},`,
    tail: canonicalText(after).slice(1),
  }
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
