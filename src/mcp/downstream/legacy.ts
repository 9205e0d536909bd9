/**
 * The legacy era (2025-11-25, 2025-06-18, 2025-03-26): `initialize`, then requests under a session, or under none.
 *
 * Cancelled by `notifications/cancelled` only; a connection that drops cancels nothing. Callers are asked on their session.
 *
 * @source MCP 2025-11-25, basic, lifecycle and cancellation; server, utilities
 */
import type { Principal } from '../../core/words/principal.ts'
import { toLegacyResult } from '../wire/codec.ts'
import { JsonFault } from '../wire/json-fault.ts'
import {
  encodeError,
  encodeResult,
  idKey,
  parseId,
  type RpcNotification,
  type RpcRequest,
} from '../wire/json-rpc.ts'
import { LEGACY_NOTIFICATIONS } from '../wire/rev-2025-11-25.ts'
import { MODERN_META, MODERN_REVISION, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import {
  encodeJson,
  findMember,
  scanObject,
  setMembers,
  sliceOf,
  type Member,
} from '../wire/spans.ts'
import {
  badParams,
  faultAnswer,
  ourError,
  ourResult,
  unreadableResult,
  type Answer,
  type Reply,
} from './answer.ts'
import { serverCapabilities } from './discover.ts'
import { LEGACY_TASKS, servesLegacyTasks } from './legacy-tasks.ts'
import { findLegacyMethod } from './methods.ts'
import type { Arrival } from './modern.ts'
import type { Door } from './options.ts'
import { isLogLevel, readRequestMeta } from './request-meta.ts'
import { agreeTerms, callerCanOf, type SessionTerms } from './session-terms.ts'
import type { SessionNews } from './session-news.ts'
import type { Session } from './sessions.ts'
import { stringParam, type Caller, type Visit } from './visit.ts'

/** How one request under a session arrived, and where its questions go. */
export interface LegacyArrival extends Arrival {
  /** Takes a question of ours to the caller; left out where nobody can answer. */
  readonly sendQuestion?: (message: Uint8Array) => void | Promise<void>
  /** Takes a notification to the session, whatever became of the request; left out where there is none. */
  readonly tell?: (message: Uint8Array) => void | Promise<void>
  /** Tells the session news from now on; left out for a request that belongs to no session. */
  readonly news?: () => SessionNews
}

/** What an `initialize` agrees on; a refusal when its params are not what it takes. */
export function readInitialize(request: RpcRequest): SessionTerms | Reply {
  const refuse = (text: string): Reply => ({
    status: 200,
    body: encodeLegacy(request, badParams(text)),
  })
  try {
    const terms = agreeTerms(request)
    return typeof terms === 'string' ? refuse(terms) : terms
  } catch (fault) {
    if (fault instanceof JsonFault) return refuse(`params: ${fault.message}`)
    throw fault
  }
}

/** The result of `initialize`. */
export async function answerInitialize(
  door: Door,
  request: RpcRequest,
  terms: SessionTerms,
  principal: Principal,
): Promise<Reply> {
  try {
    const instructions = await door.ports.catalogue.instructions(principal)
    // Session revisions have no word for extensions.
    const { extensions: _extensions, ...capabilities } = await serverCapabilities(door, principal)
    const result = ourResult({
      protocolVersion: terms.revision,
      capabilities: servesLegacyTasks(door, terms.revision)
        ? { ...capabilities, tasks: LEGACY_TASKS }
        : capabilities,
      serverInfo: door.serverInfo,
      ...(instructions === undefined ? {} : { instructions }),
    })
    return { status: 200, body: encodeLegacy(request, result) }
  } catch (fault) {
    door.report(fault)
    return { status: 200, body: encodeLegacy(request, faultAnswer(fault)) }
  }
}

/** Answers one request under a session. Never rejects. */
export async function answerLegacy(
  door: Door,
  session: Session,
  request: RpcRequest,
  arrival: LegacyArrival,
): Promise<Reply> {
  const key = idKey(request.id)
  if (session.running.has(key)) {
    const fault = ourError(RPC_ERRORS.invalidRequest, 'a request with this id is still running')
    return { status: 200, body: encodeLegacy(request, fault) }
  }
  const withdrawn = new AbortController()
  session.running.set(key, withdrawn)
  try {
    const signal = AbortSignal.any([withdrawn.signal, arrival.caller.signal])
    const caller: Caller = {
      notify: (message) => arrival.caller.notify(message),
      signal,
      gone: arrival.caller.gone,
      ...(arrival.tell === undefined ? {} : { tell: arrival.tell }),
      ...askOn(session, arrival, signal),
    }
    const answer = await answerUnder(door, session, request, { ...arrival, caller })
    return {
      status: 200,
      body: encodeSafely(door, request, answer),
      withdrawn: withdrawn.signal.aborted,
    }
  } finally {
    session.running.delete(key)
    session.lastUsedAt = door.clock.now()
  }
}

function askOn(
  session: Session,
  { sendQuestion }: LegacyArrival,
  signal: AbortSignal,
): Pick<Caller, 'ask'> {
  if (sendQuestion === undefined) return {}
  const can = callerCanOf(session.terms)
  if (!can.form && !can.url && !can.sampling && !can.roots) return {}
  return {
    ask: (question, withdrawn) =>
      session.questions.ask(question, {
        withdrawn: AbortSignal.any([withdrawn, signal]),
        send: sendQuestion,
      }),
  }
}

/** Takes a notification. All but a cancellation need nothing of us. */
export function takeNotification(
  running: ReadonlyMap<string, AbortController>,
  notification: RpcNotification,
): void {
  const key = canceledKey(notification)
  if (key !== undefined) running.get(key)?.abort('caller_canceled')
}

/** The id key of the request that a cancellation names. */
export function canceledKey(notification: RpcNotification): string | undefined {
  if (notification.method !== LEGACY_NOTIFICATIONS.cancelled) return undefined
  if (notification.params === undefined) return undefined
  const { bytes, params } = notification
  const members = scanObject(bytes, params, { validated: true, allowDuplicates: true })
  const member = findMember(members, 'requestId')
  const id = member === undefined ? undefined : parseId(bytes, member)
  return id === undefined ? undefined : idKey(id)
}

async function answerUnder(
  door: Door,
  session: Session,
  request: RpcRequest,
  arrival: LegacyArrival,
): Promise<Answer> {
  try {
    const visit = openVisit(session, request, arrival)
    if ('kind' in visit) return visit
    if (request.method === 'ping') return ourResult({})
    if (request.method === 'logging/setLevel' && door.offers.has('logging')) {
      return await setLevel(session, visit, arrival)
    }
    const subscribes = SUBSCRIBING.get(request.method)
    if (subscribes !== undefined && isSubscribable(door)) {
      return await subscribes(visit, arrival)
    }
    if (request.method === 'initialize') {
      return ourError(RPC_ERRORS.invalidRequest, 'this session is initialized already')
    }
    const serve = findLegacyMethod(door, request.method, visit.revision)
    if (serve === undefined) {
      return ourError(
        RPC_ERRORS.methodNotFound,
        `method not found: ${request.method.slice(0, 128)}`,
      )
    }
    return await serve(door, visit)
  } catch (fault) {
    if (fault instanceof JsonFault) return badParams(`params: ${fault.message}`)
    door.report(fault)
    return faultAnswer(fault)
  }
}

function openVisit(session: Session, request: RpcRequest, arrival: LegacyArrival): Visit | Answer {
  const sent =
    request.params === undefined ? encodeJson({}) : sliceOf(request.bytes, request.params)
  const { logLevel, revision } = session.terms
  const params = logLevel === undefined ? sent : stampLevel(sent, logLevel)
  const members = scanObject(params, undefined, { validated: true })
  const meta = readRequestMeta(params, members)
  if (meta === undefined) return badParams('params._meta must be an object')
  return {
    era: 'legacy',
    revision,
    transport: arrival.transport,
    principal: arrival.principal,
    request,
    params,
    members,
    meta,
    can: callerCanOf(session.terms),
    ...(arrival.headers === undefined ? {} : { headers: arrival.headers }),
    caller: arrival.caller,
  }
}

/** A session's level, said on each request as modern peers want it; legacy peers' hops drop it. */
function stampLevel(params: Uint8Array, level: string): Uint8Array {
  const members = scanObject(params, undefined, { validated: true })
  const meta = findMember(members, '_meta')
  if (meta !== undefined && meta.type !== 'object') return params
  const own = meta === undefined ? encodeJson({}) : sliceOf(params, meta.value)
  const stamped = setMembers(own, undefined, { [MODERN_META.logLevel]: encodeJson(level) })
  return setMembers(params, undefined, { _meta: stamped })
}

async function setLevel(session: Session, visit: Visit, { news }: LegacyArrival): Promise<Answer> {
  const level = stringParam(visit, 'level')
  if (!isLogLevel(level)) return badParams('params.level must be a log level, debug to emergency')
  if (news === undefined) return needsSession(visit)
  const { terms } = session
  const before = terms.logLevel
  terms.logLevel = level
  try {
    await session.save()
  } catch (fault) {
    if (before === undefined) delete terms.logLevel
    else terms.logLevel = before
    throw fault
  }
  return ourResult({})
}

type Subscribing = (visit: Visit, arrival: LegacyArrival) => Promise<Answer>

const SUBSCRIBING: ReadonlyMap<string, Subscribing> = new Map([
  ['resources/subscribe', (visit, arrival) => changeSubscription(visit, arrival, 'subscribe')],
  ['resources/unsubscribe', (visit, arrival) => changeSubscription(visit, arrival, 'unsubscribe')],
])

function isSubscribable(door: Door): boolean {
  return door.ports.catalogue.watch !== undefined && door.offers.has('resources')
}

async function changeSubscription(
  visit: Visit,
  { news }: LegacyArrival,
  change: 'subscribe' | 'unsubscribe',
): Promise<Answer> {
  const uri = stringParam(visit, 'uri')
  if (uri === undefined) return badParams(`${visit.request.method} needs params.uri, a string`)
  return news === undefined ? needsSession(visit) : news()[change](uri)
}

/** Nothing is remembered for a request that belongs to no session. */
function needsSession(visit: Visit): Answer {
  return ourError(
    RPC_ERRORS.invalidRequest,
    `${visit.request.method} needs a session: send initialize, then its Mcp-Session-Id`,
  )
}

function encodeSafely(door: Door, request: RpcRequest, answer: Answer): Uint8Array {
  try {
    return encodeLegacy(request, answer)
  } catch (fault) {
    door.report(fault)
    return encodeLegacy(request, unreadableResult())
  }
}

const RESULTS_OF_TOOLS: ReadonlySet<string> = new Set(['tools/call', 'tasks/result'])

/** Takes off what only modern answers carry, when a modern peer wrote it. */
function encodeLegacy(request: RpcRequest, answer: Answer): Uint8Array {
  if (answer.kind === 'error') return encodeError(request.id, answer)
  const bytes = answer.revision === MODERN_REVISION ? toLegacyResult(answer.bytes) : answer.bytes
  const fits = RESULTS_OF_TOOLS.has(request.method) ? wrapStructured(bytes) : bytes
  return encodeResult(request.id, fits)
}

/** Legacy callers reject structured content that is no object: it is kept, one level down. */
function wrapStructured(result: Uint8Array): Uint8Array {
  const members: readonly Member[] = scanObject(result, undefined, { validated: true })
  const structured = findMember(members, 'structuredContent')
  if (structured === undefined || structured.type === 'object') return result
  const wrapped = setMembers(encodeJson({}), undefined, {
    value: sliceOf(result, structured.value),
  })
  return setMembers(result, undefined, { structuredContent: wrapped })
}
