/**
 * The envelope of a multi round trip: what a retry needs, sealed into `requestState` and bound to this very call.
 *
 * Nothing is kept here between rounds. A state that was changed, is too old, or belongs to another principal or call is
 * refused; the peer's own state travels inside and goes back only to the peer that gave it.
 *
 * @source MCP 2026-07-28, basic, multi round-trip requests (SEP-2322), security of requestState
 */
import { createHash } from 'node:crypto'
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Continuation } from '../../core/words/call.ts'
import type { Handle, Outcome } from '../../core/words/outcome.ts'
import type { Answer as QuestionAnswer, CallerCan, Question } from '../../core/words/question.ts'
import { mcpNative } from '../wire/native.ts'
import { canonicalJson } from '../wire/canonical.ts'
import { MODERN_REVISION, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { checkStrict } from '../wire/strict.ts'
import {
  concat,
  encodeJson,
  findMember,
  readValue,
  scanObject,
  setMembers,
  sliceOf,
  type Member,
} from '../wire/spans.ts'
import { badParams, ourError, type Answer } from './answer.ts'
import type { Door } from './options.ts'
import { outcomeMeta, readableAnswer } from './outcome.ts'
import { isObject } from './request-meta.ts'
import { paramBytes, stringParam, type Visit } from './visit.ts'

/** Members that only multi round trips have; they never reach a peer as the caller sent them. */
export const ROUND_MEMBERS = { requestState: undefined, inputResponses: undefined } as const

type Asking = Extract<Outcome, { state: 'input_required' | 'auth_required' }>

interface Envelope {
  readonly handle: Handle
  readonly principal: string
  readonly exposed: string
  readonly method: string
  readonly digest: string
  readonly expiresAt: number
  readonly round: number
  readonly callId: string
  readonly approvalId?: string
}

/** An earlier round, verified; `round` counts from 1. */
export interface OpenedEnvelope {
  readonly continuation: Continuation
  readonly round: number
}

/**
 * Reads the round that a request continues.
 *
 * @returns undefined for a first round; an Answer when the state is refused. Answers without a state belong to nothing and
 *   are left out: the peer asks again.
 * @throws JsonFault for answers that are no sound JSON.
 */
export function openEnvelope(
  door: Door,
  visit: Visit,
  exposed: string,
): OpenedEnvelope | Answer | undefined {
  const member = findMember(visit.members, 'requestState')
  if (visit.era === 'legacy' || member === undefined) return undefined
  const state = stringParam(visit, 'requestState')
  const envelope =
    state === undefined ? undefined : (door.seal.open('question', state) as Envelope | undefined)
  if (envelope === undefined) return badParams('requestState is not one that was given here')
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
    round: envelope.round,
    continuation: {
      callId: envelope.callId,
      handle: envelope.handle,
      answers: answers.list,
      ...(envelope.approvalId === undefined ? {} : { approvalId: envelope.approvalId }),
    },
  }
}

/** The answer for a call whose peer asks: `input_required` for a modern caller that can bear it, else plain words. */
export function askCaller(
  door: Door,
  visit: Visit,
  dispatched: Dispatched & { readonly outcome: Asking },
  exposed: string,
  round: number,
): Answer {
  const { outcome } = dispatched
  const asked = outcome.questions
  if (visit.era === 'legacy' || outcome.state === 'auth_required')
    return cannotAsk(visit, dispatched)
  const missing = undeclared(asked, visit.can)
  if (missing !== undefined) {
    return ourError(
      RPC_ERRORS.missingClientCapability,
      `the peer asks something that this request did not declare support for: ${Object.keys(missing).join(', ')}`,
      { requiredCapabilities: missing },
    )
  }
  if (round > door.limits.maxRounds) {
    return readableAnswer(
      visit,
      `The peer asked again after ${door.limits.maxRounds} rounds of questions; the call was given up.`,
      outcomeMeta(dispatched),
    )
  }
  const body = questionsBody(outcome)
  if (body === undefined) return cannotAsk(visit, dispatched)
  const envelope: Envelope = {
    handle: outcome.handle,
    principal: visit.principal.id,
    exposed,
    method: visit.request.method,
    digest: digestOf(visit),
    expiresAt: door.clock.now() + door.limits.questionMs,
    round,
    callId: dispatched.callId,
    ...(dispatched.approvalId === undefined ? {} : { approvalId: dispatched.approvalId }),
  }
  const requestState = encodeJson(door.seal.seal('question', envelope))
  return {
    kind: 'result',
    bytes: setMembers(body, undefined, { requestState }),
    revision: MODERN_REVISION,
    resultType: 'input_required',
  }
}

function cannotAsk(visit: Visit, dispatched: Dispatched & { readonly outcome: Asking }): Answer {
  const { outcome } = dispatched
  const words = outcome.questions.map(({ text }) => `“${text.slice(0, 1000)}”`).join('; ')
  const text =
    outcome.state === 'auth_required'
      ? `The peer ${outcome.handle.peer} needs an authorisation before it goes on. It says: ${words}`
      : `The peer ${outcome.handle.peer} asks something before it goes on, and the pair of this connection and that peer cannot carry the question yet. It asks: ${words}`
  return readableAnswer(visit, text, outcomeMeta(dispatched))
}

/** The peer's own bytes where they are in this revision; else built from the questions. */
function questionsBody(outcome: Asking): Uint8Array | undefined {
  const { native, questions } = outcome
  if (native?.protocol === 'mcp' && native.revision === MODERN_REVISION) return native.bytes
  if (questions.length === 0 || questions.some((question) => question.native.protocol !== 'mcp'))
    return undefined
  const requests = Object.fromEntries(questions.map(({ key, native: own }) => [key, own.bytes]))
  return setMembers(encodeJson({}), undefined, {
    inputRequests: setMembers(encodeJson({}), undefined, requests),
  })
}

/** The ClientCapabilities that would have been needed; undefined when none is missing. */
function undeclared(
  questions: readonly Question[],
  can: CallerCan,
): Readonly<Record<string, unknown>> | undefined {
  const kinds = new Set(questions.map(({ kind }) => kind))
  const elicitation = {
    ...(kinds.has('form') && !can.form ? { form: {} } : {}),
    ...(kinds.has('url') && !can.url ? { url: {} } : {}),
  }
  const missing = {
    ...(Object.keys(elicitation).length > 0 ? { elicitation } : {}),
    ...(kinds.has('sampling') && !can.sampling ? { sampling: {} } : {}),
    ...(kinds.has('roots') && !can.roots ? { roots: {} } : {}),
  }
  return Object.keys(missing).length > 0 ? missing : undefined
}

/** Over the params as the caller means them: what a retry may not change. */
function digestOf(visit: Visit): string {
  const bare = setMembers(visit.params, undefined, { ...ROUND_MEMBERS, _meta: undefined })
  return createHash('sha256').update(canonicalJson(bare)).digest('base64url')
}

function readAnswers(visit: Visit): { readonly list: readonly QuestionAnswer[] } | Answer {
  const bytes = paramBytes(visit, 'inputResponses')
  if (bytes === undefined) return { list: [] }
  checkStrict(bytes)
  if (!isObject(readValue(bytes))) return badParams('inputResponses must be an object')
  const members = scanObject(bytes, undefined, { validated: true })
  const odd = members.find((member) => member.type !== 'object')
  if (odd !== undefined) return badParams('every member of inputResponses must be an object')
  return { list: members.map((member) => readAnswer(bytes, member)) }
}

function readAnswer(bytes: Uint8Array, member: Member): QuestionAnswer {
  const own = concat([sliceOf(bytes, member.value)])
  const value = readValue(own)
  const action = isObject(value) ? value['action'] : undefined
  const content =
    isObject(value) && 'content' in value && action === 'accept' ? value['content'] : value
  return {
    key: member.key,
    action: action === 'decline' || action === 'cancel' ? action : 'accept',
    native: mcpNative(own, MODERN_REVISION),
    data: content,
  }
}
