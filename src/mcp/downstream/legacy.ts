/**
 * The legacy era (2025-11-25, 2025-06-18, 2025-03-26 without batches): `initialize`, then requests under a session.
 *
 * Cancelled by `notifications/cancelled` only; a connection that drops cancels nothing.
 *
 * @source MCP 2025-11-25, basic, lifecycle and cancellation; server, utilities
 */
import { CANNOT_BE_ASKED } from '../../core/words/question.ts'
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
import {
  LEGACY_NOTIFICATIONS,
  LEGACY_REVISION,
  LEGACY_REVISIONS,
  type LegacyRevision,
} from '../wire/rev-2025-11-25.ts'
import { MODERN_META, MODERN_REVISION, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import {
  encodeJson,
  findMember,
  readString,
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
import { capabilitiesOf } from './discover.ts'
import { findMethod } from './methods.ts'
import type { Arrival } from './modern.ts'
import type { Door } from './options.ts'
import { isLogLevel, readRequestMeta } from './request-meta.ts'
import type { Session } from './sessions.ts'
import { stringParam, type Caller, type Visit } from './visit.ts'

/** The version that `initialize` agrees on: the one asked for if served, else our newest. */
export function agreeRevision(request: RpcRequest): LegacyRevision {
  const asked = initializeVersion(request)
  return LEGACY_REVISIONS.find((revision) => revision === asked) ?? LEGACY_REVISION
}

/** What is wrong with an `initialize`; undefined when nothing is. */
export function refuseInitialize(request: RpcRequest): Reply | undefined {
  if (initializeVersion(request) !== undefined) return undefined
  const fault = badParams('initialize needs params.protocolVersion, a string')
  return { status: 200, body: encodeLegacy(request, fault) }
}

/** The result of `initialize`. */
export async function answerInitialize(
  door: Door,
  request: RpcRequest,
  revision: LegacyRevision,
  principal: Principal,
): Promise<Reply> {
  try {
    const instructions = await door.ports.catalogue.instructions(principal)
    const result = ourResult({
      protocolVersion: revision,
      capabilities: capabilitiesOf(door),
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
  arrival: Arrival,
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

/** Takes a notification. All but a cancellation need nothing of us. @returns the id key that was withdrawn, if any. */
export function takeNotification(
  running: ReadonlyMap<string, AbortController>,
  notification: RpcNotification,
): string | undefined {
  if (notification.method !== LEGACY_NOTIFICATIONS.cancelled) return undefined
  if (notification.params === undefined) return undefined
  const { bytes, params } = notification
  const members = scanObject(bytes, params, { validated: true, allowDuplicates: true })
  const member = findMember(members, 'requestId')
  const id = member === undefined ? undefined : parseId(bytes, member)
  const key = id === undefined ? undefined : idKey(id)
  const controller = key === undefined ? undefined : running.get(key)
  controller?.abort('caller_canceled')
  return controller === undefined ? undefined : key
}

async function answerUnder(
  door: Door,
  session: Session,
  request: RpcRequest,
  arrival: Arrival,
): Promise<Answer> {
  try {
    const visit = openVisit(session, request, arrival)
    if ('kind' in visit) return visit
    if (request.method === 'ping') return ourResult({})
    if (request.method === 'logging/setLevel' && door.offers.has('logging')) {
      return setLevel(session, visit)
    }
    if (request.method === 'initialize') {
      return ourError(RPC_ERRORS.invalidRequest, 'this session is initialized already')
    }
    const serve = findMethod(door, request.method)
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

function openVisit(session: Session, request: RpcRequest, arrival: Arrival): Visit | Answer {
  const sent =
    request.params === undefined ? encodeJson({}) : sliceOf(request.bytes, request.params)
  const params = session.logLevel === undefined ? sent : stampLevel(sent, session.logLevel)
  const members = scanObject(params, undefined, { validated: true })
  const meta = readRequestMeta(params, members)
  if (meta === undefined) return badParams('params._meta must be an object')
  return {
    era: 'legacy',
    revision: session.revision,
    transport: arrival.transport,
    principal: arrival.principal,
    request,
    params,
    members,
    meta,
    // Questions to a legacy caller need a live session both ways, which is not carried yet.
    can: CANNOT_BE_ASKED,
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

function setLevel(session: Session, visit: Visit): Answer {
  const level = stringParam(visit, 'level')
  if (!isLogLevel(level)) return badParams('params.level must be a log level, debug to emergency')
  session.logLevel = level
  return ourResult({})
}

function initializeVersion(request: RpcRequest): string | undefined {
  if (request.params === undefined) return undefined
  const members = scanObject(request.bytes, request.params, {
    validated: true,
    allowDuplicates: true,
  })
  const version = findMember(members, 'protocolVersion')
  return version?.type === 'string' ? readString(request.bytes, version.value) : undefined
}

function encodeSafely(door: Door, request: RpcRequest, answer: Answer): Uint8Array {
  try {
    return encodeLegacy(request, answer)
  } catch (fault) {
    door.report(fault)
    return encodeLegacy(request, unreadableResult())
  }
}

/** Takes off what only modern answers carry, when a modern peer wrote it. */
function encodeLegacy(request: RpcRequest, answer: Answer): Uint8Array {
  if (answer.kind === 'error') return encodeError(request.id, answer)
  const bytes = answer.revision === MODERN_REVISION ? toLegacyResult(answer.bytes) : answer.bytes
  const fits = request.method === 'tools/call' ? wrapStructured(bytes) : bytes
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
