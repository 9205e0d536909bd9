/**
 * What came back, or did not, as one of core's outcomes.
 *
 * Judgements, where the protocol leaves them open:
 * - a JSON-RPC error is `failed`; that nothing ran is believed only for codes by which the message
 *   itself was refused (parse, request, method, params, headers, version, capability);
 * - a transport that broke, or an HTTP status without a message, after sending is `unknown`;
 * - an answer to an act that cannot be read says nothing of what the act did: `unknown`; of what only
 *   reads it is `failed` and counts as having run.
 */
import { randomUUID } from 'node:crypto'
import { isObject } from '../../core/words/is-object.ts'
import { type Failed, refused, type Outcome } from '../../core/words/outcome.ts'
import type { CallerCan, Question } from '../../core/words/question.ts'
import type { StopReason } from '../../core/ports/upstream.ts'
import { readResultHead } from '../wire/codec.ts'
import { JsonFault } from '../wire/json-fault.ts'
import type { RpcError, RpcResult } from '../wire/json-rpc.ts'
import { mcpNative } from '../wire/native.ts'
import { PlainResult } from '../wire/plain-result.ts'
import { LEGACY_ERRORS, LEGACY_REVISION } from '../wire/rev-2025-11-25.ts'
import { RESULT_TYPES, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson, findMember, readValue, scanObject, sliceOf, textOf } from '../wire/spans.ts'
import type { Member } from '../wire/spans.ts'
import { checkStrict } from '../wire/strict.ts'
import type { LoginAddress } from './credentials.ts'
import type { PeerFacts } from './facts.ts'
import type { LinkFailure } from './link.ts'
import { canBear, mayBeOpened, NO_ADDRESS, problemOf, readQuestion } from './questions.ts'
import { readLegacyCreated } from './read-legacy-task.ts'
import { readCreated } from './read-task.ts'
import { sealState } from './request.ts'

/** Codes that say the message was refused before any work. */
const NOTHING_RAN: ReadonlySet<number> = new Set([
  RPC_ERRORS.parse,
  RPC_ERRORS.invalidRequest,
  RPC_ERRORS.methodNotFound,
  RPC_ERRORS.invalidParams,
  RPC_ERRORS.headerMismatch,
  RPC_ERRORS.missingClientCapability,
  RPC_ERRORS.unsupportedProtocolVersion,
  LEGACY_ERRORS.resourceNotFound,
  LEGACY_ERRORS.urlElicitationRequired,
])

/** Questions of one round: a person answers them. */
const MOST_QUESTIONS = 64

/** What the outcome is made for. */
export interface Asked {
  readonly peer: string
  readonly facts: PeerFacts
  readonly can: CallerCan
  /** It may have effects: not only a read, nor a tool that is believed to read only. */
  readonly act: boolean
  /** Whose call it is, where its answer may be a task. */
  readonly taskFor?: string | undefined
  /** It was sent as a task of 2025-11-25. */
  readonly isLegacyTask?: boolean
}

/** The outcome of an answer. */
export function judgeAnswer(answer: RpcResult | RpcError, asked: Asked): Outcome {
  if (answer.kind === 'error') return judgeError(answer, asked)
  const { facts, peer, act } = asked
  const created = asked.isLegacyTask === true ? judgeLegacyTask(answer, asked) : undefined
  if (created !== undefined) return created
  if (answer instanceof PlainResult) {
    const native = mcpNative(sliceOf(answer.bytes, answer.result.value), facts.revision)
    return { state: 'completed', native, toolError: answer.isError }
  }
  if (answer.result.type !== 'object') return unclear(peer, 'a result that is no object', act)
  const bytes = sliceOf(answer.bytes, answer.result.value)
  const native = mcpNative(bytes, facts.revision)
  let head: ReturnType<typeof readResultHead>
  try {
    head = readResultHead(bytes, undefined, { validated: true })
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return unclear(peer, `a result of which readers may disagree: ${error.message}`, act)
  }
  if (!head.sound) return unclear(peer, 'a resultType that is no string', act)
  if (head.resultType === RESULT_TYPES.complete) {
    return { state: 'completed', native, toolError: head.isError }
  }
  if (head.resultType === RESULT_TYPES.inputRequired && facts.era === 'modern') {
    return judgeQuestions(bytes, head.members, native, asked)
  }
  if (head.resultType === RESULT_TYPES.task && asked.taskFor !== undefined)
    return judgeTask(bytes, head.members, native, asked.taskFor, asked)
  return unclear(
    peer,
    `the result type ${JSON.stringify(head.resultType.slice(0, 60))}, which was not declared`,
    act,
  )
}

/** It goes on there; where it stands is told by whoever follows it. */
function judgeTask(
  bytes: Uint8Array,
  members: readonly Member[],
  native: ReturnType<typeof mcpNative>,
  principal: string,
  { peer, can, act }: Asked,
): Outcome {
  const created = readCreated(peer, bytes, members, { principal, can })
  if (typeof created === 'string') return unclear(peer, created, act)
  return { state: 'working', native, ...created }
}

/** @returns undefined for a result that is no task: the server answered at once. */
function judgeLegacyTask(
  { bytes, result }: RpcResult,
  { peer, can, act, taskFor = '', facts }: Asked,
): Outcome | undefined {
  if (result.type !== 'object') return undefined
  const own = sliceOf(bytes, result.value)
  const created = readLegacyCreated(peer, own, { principal: taskFor, can })
  if (created === undefined) return undefined
  if (typeof created === 'string') return unclear(peer, created, act)
  return { state: 'working', native: mcpNative(own, facts.revision), ...created }
}

/**
 * The outcome of no answer.
 *
 * @param stopped why the caller's signal was aborted, if it was.
 * @param address where a login that is missing was begun, for a caller that can open it.
 * @param limit which limit of the peer was passed, in words that go on its name.
 */
export function judgeFailure(
  failure: LinkFailure,
  { peer, act }: Pick<Asked, 'peer' | 'act'>,
  stopped: StopReason | undefined,
  limit?: string,
  address?: LoginAddress,
): Outcome {
  const { reason, sent, message } = failure
  const detail = `${peer}: ${message}`
  switch (reason) {
    case 'unreachable':
      return refused('transport', 'peer_unreachable', detail)
    case 'unauthorized':
      return address === undefined
        ? refused('peer', 'credentials_missing', detail)
        : askForLogin(address, peer)
    case 'refused':
      return refused('transport', 'peer_error', detail)
    case 'congested':
      return refused('transport', 'not_sent', detail)
    case 'broken':
      if (!sent) return refused('transport', 'peer_crashed', detail)
      return {
        state: 'unknown',
        because: 'sent_no_answer',
        detail: `${detail}; it was sent and may have run`,
      }
    case 'unreadable':
      return unclear(peer, message, act)
    case 'unclear':
      return {
        state: 'unknown',
        because: 'peer_unclear',
        detail: `${detail}; it was sent and may have run`,
      }
    case 'aborted':
      return judgeStop(peer, sent, stopped, limit)
  }
}

/** For callers that can open an address: as servers of 2025-11-25 ask for one, which every door can pass on. */
function askForLogin({ url, detail: message }: LoginAddress, peer: string): Failed {
  const login = refused('peer', 'credentials_missing', `${peer}: ${message}`)
  if (url === undefined) return login
  const elicitation = { mode: 'url', elicitationId: `login-${randomUUID()}`, url, message }
  const error = {
    code: LEGACY_ERRORS.urlElicitationRequired,
    message,
    data: { elicitations: [elicitation] },
  }
  return { ...login, native: mcpNative(encodeJson(error), LEGACY_REVISION) }
}

function judgeStop(
  peer: string,
  sent: boolean,
  stopped: StopReason | undefined,
  limit = 'did not answer before the deadline',
): Outcome {
  const late = stopped === 'deadline'
  if (!sent) {
    const why = late ? 'the deadline passed' : 'it was canceled'
    const code = late ? 'deadline_before_send' : 'canceled_before_send'
    return refused('transport', code, `${why} before anything was sent to ${peer}`)
  }
  const why = late
    ? `${peer} ${limit}; it was told to stop, but MCP servers do not confirm that`
    : `${peer} was told to stop, but MCP servers do not confirm that; it may have run, wholly or in part`
  return { state: 'unknown', because: late ? 'deadline' : 'cancel_unconfirmed', detail: why }
}

function judgeError(answer: RpcError, { peer, facts }: Asked): Outcome {
  if (answer.code === LEGACY_ERRORS.urlElicitationRequired && !allMayBeOpened(answer)) {
    const detail = `${peer} answered error ${answer.code}, and ${NO_ADDRESS}`
    return refused('protocol', 'protocol_violation', detail)
  }
  const bytes = sliceOf(answer.bytes, answer.error)
  return {
    state: 'failed',
    origin: 'peer',
    ran: NOTHING_RAN.has(answer.code) ? 'no' : 'yes',
    code: 'peer_error',
    detail: `${peer} answered error ${answer.code}: ${answer.message.slice(0, 500)}`,
    native: mcpNative(bytes, facts.revision),
  }
}

/** What names no address asks for none. */
function allMayBeOpened({ bytes, data }: RpcError): boolean {
  const said = data === undefined ? undefined : readValue(bytes, data)
  const asked = isObject(said) ? said['elicitations'] : undefined
  if (!Array.isArray(asked)) return true
  return asked.every((one: unknown) => !isObject(one) || !('url' in one) || mayBeOpened(one.url))
}

function violation(peer: string, what: string): Outcome {
  return {
    state: 'failed',
    origin: 'protocol',
    ran: 'yes',
    code: 'protocol_violation',
    detail: `${peer} answered, but not as the protocol says: ${what}`,
  }
}

/** What the answer does not say cannot be known: an act is not to be sent again as if it had failed. */
export function unclear(peer: string, what: string, act: boolean): Outcome {
  if (!act) return violation(peer, what)
  return {
    state: 'unknown',
    because: 'peer_unclear',
    detail: `${peer} answered, but not as the protocol says: ${what}; it may have run`,
  }
}

/** What goes to a caller, and comes back from it, has to mean the same to everybody. */
function faultIn(bytes: Uint8Array, members: readonly (Member | undefined)[]): string | undefined {
  try {
    for (const member of members) if (member !== undefined) checkStrict(bytes, member.value)
    return undefined
  } catch (error) {
    if (error instanceof JsonFault) return error.message
    throw error
  }
}

function judgeQuestions(
  bytes: Uint8Array,
  members: readonly Member[],
  native: ReturnType<typeof mcpNative>,
  { peer, facts, can }: Asked,
): Outcome {
  const requests = findMember(members, 'inputRequests')
  const state = findMember(members, 'requestState')
  if (requests === undefined && state === undefined) {
    return violation(peer, 'input_required with neither inputRequests nor requestState')
  }
  if (state !== undefined && state.type !== 'string')
    return violation(peer, 'a requestState that is no string')
  if (requests !== undefined && requests.type !== 'object') {
    return violation(peer, 'inputRequests that are no object')
  }
  const fault = faultIn(bytes, [requests, state])
  if (fault !== undefined) {
    return violation(peer, `a round of which readers may disagree: ${fault}`)
  }
  const questions: Question[] = []
  const asked = requests === undefined ? [] : scanObject(bytes, requests.value)
  if (asked.length > MOST_QUESTIONS) {
    return violation(peer, `${asked.length} questions in one round, more than ${MOST_QUESTIONS}`)
  }
  for (const member of asked) {
    const own = member.type === 'object' ? sliceOf(bytes, member.value) : undefined
    const question = own && readQuestion(own, member.key, facts.revision)
    if (question === undefined || !canBear(can, question.kind)) {
      return violation(peer, 'it asks a kind of question that was not declared')
    }
    const problem = problemOf(question)
    if (problem !== undefined) return violation(peer, problem)
    questions.push(question)
  }
  const sealed = sealState(state === undefined ? undefined : textOf(bytes, state.value))
  return { state: 'input_required', handle: { peer, kind: 'mcp_state', sealed }, questions, native }
}
