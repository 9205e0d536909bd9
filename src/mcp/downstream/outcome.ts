/**
 * Outcomes on the wire: what completed travels untouched, what we refuse or do not know is a result a model can read.
 *
 * Peers' own JSON-RPC errors are relayed as errors. Only faults of a message itself are JSON-RPC errors of ours, and an
 * unknown or hidden name is -32602. Reads and prompts have no `isError`: there a refusal is an error with the same object.
 */
import { assertNever } from '../../core/words/assert-never.ts'
import type { Dispatched } from '../../core/ports/doors.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { Native } from '../../core/words/native.ts'
import { ranOf, type Failed, type Outcome, type OutcomeState } from '../../core/words/outcome.ts'
import { LEGACY_ERRORS, LEGACY_REVISION } from '../wire/rev-2025-11-25.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import {
  encodeJson,
  findMember,
  readString,
  readValue,
  scanObject,
  sliceOf,
} from '../wire/spans.ts'
import { badParams, ourError, type Answer, type ErrorAnswer } from './answer.ts'
import type { Visit } from './visit.ts'

/** Key of our object in a result's `_meta`. */
export const OUTCOME_META = 'comity/outcome'

/** What `_meta["comity/outcome"]` says. */
export interface OutcomeMeta {
  readonly state: OutcomeState
  /** The failure's code, or why it is unknown. */
  readonly code?: string
  readonly callId: string
  readonly approvalId?: string
  readonly twinOf?: string
  readonly taskId?: string
  readonly ran: 'yes' | 'no' | 'unknown'
}

/** Error codes of ours for what has no `isError`; outside JSON-RPC's reserved range. */
export const OWN_ERROR_CODES = {
  answered: -31_000,
  completed: -31_000,
  working: -31_001,
  input_required: -31_002,
  auth_required: -31_003,
  failed: -31_004,
  rejected: -31_005,
  canceled: -31_006,
  unknown: -31_007,
} as const satisfies Record<OutcomeState, number>

/** Codes that speak of one hop: relayed, they would be taken for ours by a caller that corrects itself on them. */
const HOP_CODES: ReadonlySet<number> = new Set([
  RPC_ERRORS.headerMismatch,
  RPC_ERRORS.unsupportedProtocolVersion,
])

/** The answer for one dispatched call. Questions are asked elsewhere before this. */
export function answerOutcome(visit: Visit, dispatched: Dispatched): Answer {
  const { outcome } = dispatched
  switch (outcome.state) {
    case 'completed':
    case 'answered':
      if (outcome.native.protocol !== 'mcp') break
      return { kind: 'result', bytes: outcome.native.bytes, revision: outcome.native.revision }
    case 'failed': {
      if (outcome.code === 'unknown_capability') return badParams(outcome.detail)
      const relayed = relayError(visit, outcome)
      if (relayed !== undefined) return relayed
      break
    }
    case 'working':
    case 'input_required':
    case 'auth_required':
    case 'rejected':
    case 'canceled':
    case 'unknown':
      break
    default:
      return assertNever(outcome)
  }
  return readableAnswer(visit, sayOutcome(outcome), outcomeMeta(dispatched))
}

export function outcomeMeta({ callId, outcome, approvalId, task }: Dispatched): OutcomeMeta {
  const approval = outcome.state === 'failed' ? (outcome.approvalId ?? approvalId) : approvalId
  return {
    state: outcome.state,
    ...(outcome.state === 'failed' ? { code: outcome.code } : {}),
    ...(outcome.state === 'unknown' ? { code: outcome.because } : {}),
    callId,
    ...(approval === undefined ? {} : { approvalId: approval }),
    ...(outcome.state === 'unknown' && outcome.twinOf !== undefined
      ? { twinOf: outcome.twinOf }
      : {}),
    ...(task === undefined ? {} : { taskId: task.id }),
    ran: ranOf(outcome),
  }
}

/** Our words as a tool result with `isError`, or as an error where a method's result has none. */
export function readableAnswer(visit: Visit, text: string, meta: OutcomeMeta): Answer {
  if (visit.request.method !== 'tools/call') {
    return ourError(OWN_ERROR_CODES[meta.state], text, { [OUTCOME_META]: meta })
  }
  const result = {
    content: [{ type: 'text', text }],
    isError: true,
    _meta: { [OUTCOME_META]: meta },
  }
  return { kind: 'result', bytes: encodeJson(result) }
}

/** As `answerOutcome`, for a method whose own result it cannot be: always an error. */
export function refuseOutcome(visit: Visit, dispatched: Dispatched): ErrorAnswer {
  const said = answerOutcome(visit, dispatched)
  if (said.kind === 'error') return said
  const meta = outcomeMeta(dispatched)
  return ourError(OWN_ERROR_CODES[meta.state], sayOutcome(dispatched.outcome), {
    [OUTCOME_META]: meta,
  })
}

/** What happened and what to do next, in our words. */
function sayOutcome(outcome: Outcome): string {
  switch (outcome.state) {
    case 'failed':
      return sayFailed(outcome)
    case 'unknown':
      return `It is not known whether this ran: ${outcome.detail}\nDo not simply repeat it; find out at the peer first what happened.`
    case 'working':
      return 'The peer accepted the work and goes on with it, but this kind of call has no way to follow it here.'
    case 'input_required':
      return `The peer asks before it goes on, and this connection cannot carry the question. It asks: ${quoteQuestions(outcome.questions)}`
    case 'auth_required':
      return `The peer needs an authorisation that the one who runs this gateway has to give. It says: ${quoteQuestions(outcome.questions)}`
    case 'rejected':
      return `The peer refused the work. It says: ${quote(outcome.text)}`
    case 'canceled':
      return `The peer confirms that it stopped; what it did before that stays done. It says: ${quote(outcome.text)}`
    case 'completed':
    case 'answered':
      return 'The peer answered in a form that cannot be passed on here.'
  }
}

function sayFailed(outcome: Failed): string {
  const command =
    outcome.code === 'approval_required' && outcome.approvalId !== undefined
      ? `comity approve ${outcome.approvalId}`
      : undefined
  const { native } = outcome
  const theirs =
    native === undefined ? undefined : (peerMessage(native.bytes) ?? contentText(native.bytes))
  return [
    outcome.detail,
    // Core's words name the command already; the line is ours to guarantee.
    ...(command === undefined || outcome.detail.includes(command)
      ? []
      : [`A person must run this first: ${command}\nThen make the very same call again.`]),
    ...(theirs === undefined || outcome.detail.includes(theirs)
      ? []
      : [`The peer says: ${quote(theirs)}`]),
  ].join('\n')
}

/** A peer's own error; undefined when it has to be told in our words. */
function relayError(visit: Visit, { native, origin }: Failed): Answer | undefined {
  return native === undefined || origin === 'policy' ? undefined : readPeerError(visit, native)
}

/** A peer's error object for this caller, code, message and data kept; undefined when it means nothing on this hop. */
export function readPeerError(visit: Visit, native: Native): ErrorAnswer | undefined {
  if (native.protocol !== 'mcp') return undefined
  const members = scanObject(native.bytes)
  const code = findMember(members, 'code')
  const message = findMember(members, 'message')
  const data = findMember(members, 'data')
  const number = code?.type === 'number' ? Number(readValue(native.bytes, code.value)) : undefined
  if (number === undefined || !Number.isSafeInteger(number) || HOP_CODES.has(number))
    return undefined
  // The 2025 "open this URL" error and the 2026 "declare this" error mean nothing in the other era.
  if (number === LEGACY_ERRORS.urlElicitationRequired && visit.revision !== LEGACY_REVISION)
    return undefined
  if (visit.era === 'legacy' && number === RPC_ERRORS.missingClientCapability) return undefined
  const moved = visit.era === 'modern' && number === LEGACY_ERRORS.resourceNotFound
  return {
    kind: 'error',
    code: moved ? RPC_ERRORS.invalidParams : number,
    message: message?.type === 'string' ? readString(native.bytes, message.value) : '',
    ...(data === undefined ? {} : { data: sliceOf(native.bytes, data.value) }),
    // A relayed error is an answer to a sound message; only this code demands a status of its own.
    status: number === RPC_ERRORS.missingClientCapability ? 400 : 200,
  }
}

function peerMessage(bytes: Uint8Array): string | undefined {
  const members = scanObject(bytes, undefined, { allowDuplicates: true })
  const message = findMember(members, 'message')
  return message?.type === 'string' ? readString(bytes, message.value).slice(0, 2000) : undefined
}

/** The text of a result that was not taken as one: what the peer did say is not withheld. */
function contentText(bytes: Uint8Array): string | undefined {
  const result = readValue(bytes)
  const content = isObject(result) ? result['content'] : undefined
  if (!Array.isArray(content)) return undefined
  const texts = content.flatMap((block: unknown) =>
    isObject(block) && typeof block['text'] === 'string' ? [block['text']] : [],
  )
  return texts.length === 0 ? undefined : texts.join('\n')
}

/** A peer's words, marked as such and bounded. */
export function quote(text: string): string {
  return `“${text.length > 2000 ? `${text.slice(0, 2000)}…` : text}”`
}

function quoteQuestions(questions: readonly { readonly text: string }[]): string {
  return questions.length === 0
    ? 'nothing more'
    : questions.map(({ text }) => quote(text)).join('; ')
}
