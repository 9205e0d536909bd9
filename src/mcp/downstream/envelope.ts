/**
 * The envelope of a multi round trip: what a retry needs, sealed into `requestState` and bound to this very call.
 *
 * A state that was changed, is too old, or belongs to another principal or call is refused; the peer's own state travels
 * inside and goes back only to the peer that gave it. What a state leads to is its caller's here to do.
 *
 * @source MCP 2026-07-28, basic, multi round-trip requests (SEP-2322), security of requestState
 */
import { createHash } from 'node:crypto'
import type { Continuation } from '../../core/words/call.ts'
import type { Handle } from '../../core/words/outcome.ts'
import type { Answer as QuestionAnswer } from '../../core/words/question.ts'
import { canonicalJson } from '../wire/canonical.ts'
import { findMember, setMembers } from '../wire/spans.ts'
import { badParams, type ErrorAnswer } from './answer.ts'
import type { Door } from './options.ts'
import { readAnswers } from './question-form.ts'
import { stringParam, type Visit } from './visit.ts'

/** Members that only multi round trips have; they never reach a peer as the caller sent them. */
export const ROUND_MEMBERS = { requestState: undefined, inputResponses: undefined } as const

/** Where the retry goes on. */
export type Sealed =
  /** At the peer, which keeps nothing: its own state goes back to it. */
  | { readonly kind: 'state'; readonly handle: Handle; readonly approvalId?: string }
  /** In the process whose call waits for the answers. */
  | { readonly kind: 'parked'; readonly instance: string; readonly parked: string }
  /** At a task, which takes the answers. */
  | { readonly kind: 'task'; readonly taskId: string }
  /** From the start, once these addresses were opened: nothing had run. */
  | {
      readonly kind: 'again'
      readonly peer: string
      readonly urls: readonly UrlToOpen[]
      readonly approvalId?: string
    }

/** An address that a peer wants opened before it goes on. */
export interface UrlToOpen {
  readonly key: string
  readonly url: string
  readonly message: string
}

interface Bound {
  readonly principal: string
  readonly exposed: string
  readonly method: string
  readonly digest: string
  readonly expiresAt: number
  readonly round: number
  readonly callId: string
}

/** An earlier round, verified; `round` counts from 1. */
export interface Round {
  readonly kind: 'round'
  readonly sealed: Sealed
  readonly round: number
  readonly callId: string
  readonly answers: readonly QuestionAnswer[]
  /** Equal for the same state: what a second use is known by. */
  readonly digest: string
}

/**
 * Reads the round that a request continues.
 *
 * @returns undefined without a state of ours; an Answer when the state is refused.
 * @throws JsonFault for answers that are no sound JSON.
 */
export function openEnvelope(
  door: Door,
  visit: Visit,
  exposed: string,
): Round | ErrorAnswer | undefined {
  const member = findMember(visit.members, 'requestState')
  if (visit.era === 'legacy' || member === undefined) return undefined
  const state = stringParam(visit, 'requestState')
  const envelope =
    state === undefined
      ? undefined
      : (door.seal.open('question', state) as (Bound & Sealed) | undefined)
  if (state === undefined || envelope === undefined)
    return badParams('requestState is not one that was given here')
  const same =
    envelope.principal === visit.principal.id &&
    envelope.exposed === exposed &&
    envelope.method === visit.request.method &&
    envelope.digest === digestOf(visit)
  if (!same)
    return badParams(
      'requestState belongs to another call: repeat the call it was given for, unchanged',
    )
  if (envelope.expiresAt <= door.clock.now()) {
    return badParams('requestState has expired: make the call again without it')
  }
  const answers = readAnswers(visit)
  if ('kind' in answers) return answers
  return {
    kind: 'round',
    sealed: envelope,
    round: envelope.round,
    callId: envelope.callId,
    answers: answers.list,
    digest: createHash('sha256').update(state).digest('base64url'),
  }
}

/**
 * Answers that come with no state: a call of its own, as far as anybody here knows, and decided as one. A peer that keeps no
 * state may know its questions again; one that does asks anew.
 *
 * @returns undefined when there are none; an Answer when they are none that a peer can be given.
 * @throws JsonFault for answers that are no sound JSON.
 */
export function readUnasked(visit: Visit, peer: string): Continuation | ErrorAnswer | undefined {
  if (visit.era === 'legacy' || findMember(visit.members, 'inputResponses') === undefined)
    return undefined
  const answers = readAnswers(visit)
  if ('kind' in answers) return answers
  return { handle: { peer, kind: 'mcp_state', sealed: '' }, answers: answers.list }
}

/** @param validMs how long the retry may take to come. */
export function sealEnvelope(
  door: Door,
  visit: Visit,
  sealed: Sealed,
  of: {
    readonly exposed: string
    readonly round: number
    readonly callId: string
    readonly validMs: number
  },
): string {
  const { exposed, round, callId, validMs } = of
  const bound: Bound = {
    principal: visit.principal.id,
    exposed,
    method: visit.request.method,
    digest: digestOf(visit),
    expiresAt: door.clock.now() + validMs,
    round,
    callId,
  }
  return door.seal.seal('question', { ...bound, ...sealed })
}

/** Over the params as the caller means them: what a retry may not change. */
function digestOf(visit: Visit): string {
  const bare = setMembers(visit.params, undefined, { ...ROUND_MEMBERS, _meta: undefined })
  return createHash('sha256').update(canonicalJson(bare)).digest('base64url')
}
