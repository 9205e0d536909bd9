/**
 * Questions on their way to a modern caller, as `input_required`: a peer's own round, a parked call's, addresses to open.
 * Who cannot be asked reads the question in words.
 *
 * @source MCP 2026-07-28, basic, multi round-trip requests; client, elicitation
 */
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Route } from '../../core/words/route.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import type { CallerCan, Question } from '../../core/words/question.ts'
import { setResultMeta } from '../wire/codec.ts'
import { JsonFault } from '../wire/json-fault.ts'
import { MODERN_REVISION, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson, setMembers } from '../wire/spans.ts'
import { asksBy, sayWhoAsks } from './asked-by.ts'
import { ourError, unreadableResult, type Answer, type ErrorAnswer } from './answer.ts'
import { sealEnvelope, type Sealed, type UrlToOpen } from './envelope.ts'
import type { Door } from './options.ts'
import { outcomeMeta, quote, readableAnswer } from './outcome.ts'
import type { ParkedCall } from './parked.ts'
import { encodeInputRequest } from './question-form.ts'
import type { Visit } from './visit.ts'

/** Key of our note in a result's `_meta`: which peer asks, in which call. */
const ASKING_META = 'comity/asking'

/** A peer that wants to know something before it goes on. */
export type Asking = Extract<Outcome, { state: 'input_required' | 'auth_required' }>

/** Where a question is asked: for which call by which route, in which round. */
export interface Placed {
  readonly door: Door
  readonly visit: Visit
  readonly route: Route
}

/** The answer for a call whose peer asks: `input_required` for a modern caller that can bear it, else plain words. */
export function askCaller(
  { door, visit, route }: Placed,
  dispatched: Dispatched & { readonly outcome: Asking },
  round: number,
): Answer {
  const { outcome } = dispatched
  if (visit.era === 'legacy' || outcome.state === 'auth_required')
    return cannotAsk(visit, dispatched)
  const missing = undeclared(outcome.questions, visit.can)
  if (missing !== undefined) return lacksCapability(missing)
  if (round > door.limits.maxRounds) return tooManyRounds(door, visit, dispatched)
  const body = questionsBody(outcome)
  if (body === undefined) return cannotAsk(visit, dispatched)
  const sealed: Sealed = {
    kind: 'state',
    handle: outcome.handle,
    ...(dispatched.approvalId === undefined ? {} : { approvalId: dispatched.approvalId }),
  }
  const requestState = sealEnvelope(door, visit, sealed, {
    exposed: route.exposed,
    round,
    callId: dispatched.callId,
    validMs: door.limits.questionMs,
  })
  return askedAnswer(body, requestState, { peer: outcome.handle.peer, callId: dispatched.callId })
}

/** The answer for a call that waits here for its caller's answers. */
export function askParked(
  { door, visit, route }: Placed,
  call: ParkedCall<Visit>,
  questions: ReadonlyMap<string, Question>,
): Answer {
  const requests = [...questions].map(([key, question]) => [key, encodeInputRequest(question)])
  const body = setMembers(encodeJson({}), undefined, {
    inputRequests: setMembers(encodeJson({}), undefined, Object.fromEntries(requests)),
  })
  const callId = call.callId()
  const sealed: Sealed = { kind: 'parked', instance: door.parked.instance, parked: call.id }
  const requestState = sealEnvelope(door, visit, sealed, {
    exposed: route.exposed,
    round: call.round(),
    callId,
    // As long again as a question waits: what the call came to without its answers can be fetched.
    validMs: 2 * door.limits.questionMs,
  })
  return askedAnswer(body, requestState, { peer: route.peer, callId })
}

/** The answer for a call that was refused until these addresses were opened. */
export function askToOpen(
  { door, visit, route }: Placed,
  urls: readonly UrlToOpen[],
  of: { readonly callId: string; readonly round: number; readonly approvalId?: string },
): Answer {
  if (!visit.can.url) return lacksCapability({ elicitation: { url: {} } })
  const requests = urls.map(({ key, url, message }) => [
    key,
    {
      method: 'elicitation/create',
      params: { mode: 'url', message: asksBy(route.peer, message), url },
    },
  ])
  const { callId, round, approvalId } = of
  const sealed: Sealed = {
    kind: 'again',
    peer: route.peer,
    urls,
    ...(approvalId === undefined ? {} : { approvalId }),
  }
  const requestState = sealEnvelope(door, visit, sealed, {
    exposed: route.exposed,
    round,
    callId,
    validMs: door.limits.questionMs,
  })
  const body = encodeJson({ inputRequests: Object.fromEntries(requests) as object })
  return askedAnswer(body, requestState, { peer: route.peer, callId })
}

/** Said when the questions have no end. */
export function tooManyRounds(door: Door, visit: Visit, dispatched: Dispatched): Answer {
  return readableAnswer(
    visit,
    `The peer asked again after ${door.limits.maxRounds} rounds of questions; the call was given up.`,
    outcomeMeta(dispatched),
  )
}

/** The questions in words, for whom they cannot be carried to. */
export function cannotAsk(
  visit: Visit,
  dispatched: Dispatched & { readonly outcome: Asking },
): Answer {
  const { outcome } = dispatched
  const words = outcome.questions.map(({ text }) => quote(text.slice(0, 1000))).join('; ')
  const text =
    outcome.state === 'auth_required'
      ? `The peer ${outcome.handle.peer} needs an authorisation before it goes on. It says: ${words}`
      : `The peer ${outcome.handle.peer} asks something before it goes on, and the pair of this connection and that peer cannot carry the question. It asks: ${words}`
  return readableAnswer(visit, text, outcomeMeta(dispatched))
}

/** `input_required` with this state. */
export function askedAnswer(
  body: Uint8Array,
  requestState: string,
  by: { readonly peer: string; readonly callId: string },
): Answer {
  try {
    const bytes = setMembers(body, undefined, { requestState: encodeJson(requestState) })
    return {
      kind: 'result',
      // Behind one server here stand many: whoever is asked may see which one wants to know.
      bytes: setResultMeta(bytes, { [ASKING_META]: encodeJson(by) }),
      revision: MODERN_REVISION,
      resultType: 'input_required',
    }
  } catch (fault) {
    // The peer's fault, not the caller's.
    if (fault instanceof JsonFault) return unreadableResult()
    throw fault
  }
}

function lacksCapability(missing: Readonly<Record<string, unknown>>): ErrorAnswer {
  return ourError(
    RPC_ERRORS.missingClientCapability,
    `the peer asks something that this request did not declare support for: ${Object.keys(missing).join(', ')}`,
    { requiredCapabilities: missing },
  )
}

/** The peer's own bytes where they are in this revision, each question in its name; else built from the questions. */
function questionsBody({ native, questions, handle }: Asking): Uint8Array | undefined {
  const own = native?.protocol === 'mcp' && native.revision === MODERN_REVISION
  if (own && questions.length === 0) return native.bytes
  if (questions.length === 0 || questions.some((question) => question.native.protocol !== 'mcp'))
    return undefined
  const requests = Object.fromEntries(
    questions.map((question) => [question.key, sayWhoAsks(question, handle.peer).native.bytes]),
  )
  return setMembers(own ? native.bytes : encodeJson({}), undefined, {
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
