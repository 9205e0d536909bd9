/**
 * The modern era (2026-07-28): every request stands alone, by its `_meta` and, over HTTP, the headers that mirror it.
 *
 * Checked in this order, the first fault answers: metadata present, header equals body, version served, capabilities
 * present, other headers, method known. Nothing is remembered between requests.
 *
 * @source MCP 2026-07-28, basic, `_meta` and versioning; transports, Streamable HTTP, server validation
 */
import type { Principal } from '../../core/words/principal.ts'
import { checkMirrorHeaders, decodeHeaderValue, type HeaderBag } from '../wire/headers.ts'
import type { Change, ChangedObject } from '../wire/changed-object.ts'
import { encodeChangedResult, encodeError, type RpcId, type RpcRequest } from '../wire/json-rpc.ts'
import { JsonFault } from '../wire/json-fault.ts'
import {
  CACHEABLE_METHODS,
  MCP_HEADERS,
  MODERN_META,
  MODERN_REVISION,
  MODERN_STATUS,
  NAME_PARAM,
  RPC_ERRORS,
} from '../wire/rev-2026-07-28.ts'
import {
  encodeJson,
  findMember,
  readString,
  readValue,
  scanObject,
  sliceOf,
  type Member,
  type Span,
} from '../wire/spans.ts'
import {
  badParams,
  faultAnswer,
  ourError,
  unreadableResult,
  type Answer,
  type ErrorAnswer,
  type Reply,
  type ResultAnswer,
} from './answer.ts'
import { SERVED_REVISIONS } from './discover.ts'
import { keptReply } from './kept-reply.ts'
import { findModernMethod } from './methods.ts'
import type { Door } from './options.ts'
import { isLogLevel, readCallerCan, readRequestMeta, type RequestMeta } from './request-meta.ts'
import { stringParam, type Caller, type Visit } from './visit.ts'

/** As `CACHEABLE_METHODS`, of an extension. @source Skills extension (SEP-2640), listing and getting */
const CACHEABLE_SKILLS: ReadonlySet<string> = new Set(['skills/list', 'skills/get'])

/** How a request arrived. */
export interface Arrival {
  readonly principal: Principal
  readonly transport: 'http' | 'stdio'
  /** Over HTTP only. */
  readonly headers?: HeaderBag
  readonly caller: Caller
}

/** Answers one request of the modern era. Never rejects. */
export async function answerModern(
  door: Door,
  request: RpcRequest,
  arrival: Arrival,
): Promise<Reply> {
  let made: Answer
  try {
    const begun = begin(door, request, arrival)
    made = begun instanceof Promise ? await begun : begun
  } catch (fault) {
    made = answerFault(door, fault)
  }
  try {
    return encodeModern(door, request, made)
  } catch (fault) {
    // A result whose members repeat cannot be rewritten, and must not be guessed at.
    door.report(fault)
    return errorReply(request.id, unreadableResult())
  }
}

function begin(door: Door, request: RpcRequest, arrival: Arrival): Answer | Promise<Answer> {
  const visit = openVisit(request, arrival)
  if ('kind' in visit) return visit
  const serve = findModernMethod(door, request.method)
  return serve === undefined ? unknownMethod(request.method) : serve(door, visit)
}

function answerFault(door: Door, fault: unknown): Answer {
  if (fault instanceof JsonFault) return badParams(`params: ${fault.message}`)
  door.report(fault)
  return faultAnswer(fault)
}

function openVisit(request: RpcRequest, arrival: Arrival): Visit | Answer {
  const params =
    request.params === undefined ? encodeJson({}) : sliceOf(request.bytes, request.params)
  const members = request.paramsMembers ?? scanObject(params, undefined, VALIDATED)
  const meta = readRequestMeta(params, members, request.metaMembers)
  const version = meta?.protocolVersion
  if (meta === undefined || version === undefined) {
    return missingMeta(MODERN_META.protocolVersion, 'a string')
  }
  const visit: Visit = {
    era: 'modern',
    revision: MODERN_REVISION,
    transport: arrival.transport,
    principal: arrival.principal,
    request,
    params,
    members,
    meta,
    can: readCallerCan(meta.clientCapabilities),
    headers: arrival.headers,
    caller: arrival.caller,
  }
  return refuseVisit(visit, meta, version) ?? visit
}

function refuseVisit(visit: Visit, meta: RequestMeta, version: string): Answer | undefined {
  const { headers, request } = visit
  if (headers !== undefined && versionHeader(headers) !== version) {
    return ourError(
      RPC_ERRORS.headerMismatch,
      `the header ${MCP_HEADERS.protocolVersion} must be there and say what _meta says`,
    )
  }
  if (version !== MODERN_REVISION) return unsupportedVersion(version)
  if (meta.clientCapabilities === undefined) {
    return missingMeta(MODERN_META.clientCapabilities, 'an object, {} when there are none')
  }
  if (headers !== undefined) {
    const nameKey = Object.hasOwn(NAME_PARAM, request.method)
      ? NAME_PARAM[request.method]
      : undefined
    const name = nameKey === undefined ? undefined : stringParam(visit, nameKey)
    const mismatch = checkMirrorHeaders(headers, {
      protocolVersion: version,
      method: request.method,
      name,
    })
    if (mismatch !== undefined) return ourError(RPC_ERRORS.headerMismatch, mismatch)
  }
  if (meta.logLevel !== undefined && !isLogLevel(meta.logLevel)) {
    return badParams(`_meta["${MODERN_META.logLevel}"] is no log level`)
  }
  return undefined
}

function versionHeader(headers: HeaderBag): string | undefined {
  const raw = headers[VERSION]
  return typeof raw === 'string' ? decodeHeaderValue(raw) : undefined
}

function missingMeta(key: string, expected: string): Answer {
  return ourError(
    RPC_ERRORS.invalidParams,
    `params._meta["${key}"] is required on every request: ${expected}`,
    undefined,
    400,
  )
}

function unsupportedVersion(requested: string): Answer {
  // A legacy version is served through `initialize` only; offering it again here would lead in a circle.
  const supported = SERVED_REVISIONS.includes(requested) ? [MODERN_REVISION] : SERVED_REVISIONS
  return ourError(
    RPC_ERRORS.unsupportedProtocolVersion,
    `protocol version ${requested.slice(0, 64)} is not served this way; served: ${supported.join(', ')}`,
    { supported, requested: requested.slice(0, 64) },
  )
}

function unknownMethod(method: string): Answer {
  const versions =
    method === 'initialize'
      ? ` with ${MODERN_REVISION} metadata; served: ${SERVED_REVISIONS.join(', ')}`
      : ''
  return ourError(RPC_ERRORS.methodNotFound, `method not found: ${method.slice(0, 128)}${versions}`)
}

/** Puts on what modern answers carry: one look at the top level, one copy, every other byte as it came. */
function encodeModern(door: Door, request: RpcRequest, made: Answer): Reply {
  if (made.kind === 'error') return errorReply(request.id, made)
  const kept = keptReply(door, request.id, made)
  if (kept !== undefined) return kept
  const { bytes } = made
  const members = made.members ?? scanObject(bytes, undefined, VALIDATED)
  const span = { start: 0, end: bytes.length }
  const changes = changesOf(door, request, made, members)
  const added = extendedReply(ownName(door), request.id, { span, members, changes }, bytes)
  if (added !== undefined) return added
  return { status: 200, body: encodeChangedResult(request.id, bytes, { span, members, changes }) }
}

/** From so many bytes on a result is not copied: its message goes out in three parts. */
const LARGE_BYTES = 2048

/**
 * The answer that nearly all answers are: a result that says nothing of what we say. Ours goes behind its last member, as
 * bytes that were written before.
 *
 * @returns undefined for any other.
 */
function extendedReply(
  own: OwnName,
  { type, json }: RpcId,
  { members, changes }: ChangedObject,
  bytes: Uint8Array,
): Reply | undefined {
  const last = members.at(-1)
  const isPlain = type === 'integer' || PLAIN_TEXT.test(json)
  if (last === undefined || last.value.end !== bytes.length - 1 || !isPlain) return undefined
  const tail = tailOf(own, members, changes)
  if (tail === undefined) return undefined
  const head = `{"jsonrpc":"2.0","id":${json},"result":`
  const { end } = last.value
  const length = head.length + end + tail.length
  if (length > LARGE_BYTES)
    return { status: 200, body: Buffer.from(head), middle: bytes.subarray(0, end), tail }
  const body = Buffer.allocUnsafe(length)
  body.write(head, 0, 'latin1')
  body.set(bytes, head.length)
  body.set(tail, head.length + end)
  return { status: 200, body }
}

const PLAIN_TEXT = /^[\x20-\x7e]*$/u

/** What is added behind all members, with the braces of result and message; undefined when one of them changes in its place. */
function tailOf(
  own: OwnName,
  members: readonly Member[],
  changes: readonly Change[],
): Uint8Array | undefined {
  if (changes === own.alone) return own.tails.alone
  const isAdded = changes === own.complete && findMember(members, 'resultType') === undefined
  return isAdded ? own.tails.complete : undefined
}

function changesOf(
  door: Door,
  { method }: RpcRequest,
  made: ResultAnswer,
  members: readonly Member[],
): readonly Change[] {
  const { bytes } = made
  const own = ownName(door)
  const wanted = made.resultType ?? 'complete'
  // A peer's own word stays where it is; another one cannot be what it claims.
  const isSaid = stringOf(bytes, members, 'resultType') === wanted
  const meta = findMember(members, '_meta')
  const isCacheable =
    wanted === 'complete' && (CACHEABLE_METHODS.has(method) || CACHEABLE_SKILLS.has(method))
  if (!isCacheable && meta === undefined && wanted === 'complete')
    return isSaid ? own.alone : own.complete
  const changes: Change[] = []
  if (!isSaid) changes.push({ key: 'resultType', value: encodeJson(wanted) })
  if (isCacheable) {
    // Filtered by principal: never public, whatever the peer allowed.
    changes.push(
      { key: 'ttlMs', value: encodeJson(made.ttlMs ?? ttlOf(made, members)) },
      { key: 'cacheScope', value: PRIVATE },
    )
  }
  changes.push(meta?.type === 'object' ? withOwnName(bytes, meta.value, own) : own.meta)
  return changes
}

const PRIVATE = encodeJson('private')
const VALIDATED = { validated: true }
const VERSION = MCP_HEADERS.protocolVersion.toLowerCase()

/** Our name as answers carry it: in a `_meta` that came, as a `_meta` of its own, and that with or without the type. */
interface OwnName {
  readonly info: readonly Change[]
  readonly meta: Change
  readonly alone: readonly Change[]
  readonly complete: readonly Change[]
  /** These two as they stand behind all other members, at the end of the message. */
  readonly tails: { readonly alone: Uint8Array; readonly complete: Uint8Array }
}

const ownNames = new WeakMap<Door['serverInfo'], OwnName>()

function ownName({ serverInfo }: Door): OwnName {
  const known = ownNames.get(serverInfo)
  if (known !== undefined) return known
  const text = JSON.stringify({ [MODERN_META.serverInfo]: serverInfo })
  const meta = { key: '_meta', value: Buffer.from(text) }
  const made: OwnName = {
    info: [{ key: MODERN_META.serverInfo, value: encodeJson(serverInfo) }],
    meta,
    alone: [meta],
    complete: [{ key: 'resultType', value: encodeJson('complete') }, meta],
    tails: {
      alone: Buffer.from(`,"_meta":${text}}}`),
      complete: Buffer.from(`,"resultType":"complete","_meta":${text}}}`),
    },
  }
  ownNames.set(serverInfo, made)
  return made
}

/** Our name in place of the peer's. A `_meta` that is no object gives way as a whole: nothing could be read from it. */
function withOwnName(bytes: Uint8Array, span: Span, { info }: OwnName): Change {
  const members = scanObject(bytes, span, VALIDATED)
  return { key: '_meta', value: { span, members, changes: info } }
}

function stringOf(bytes: Uint8Array, members: readonly Member[], key: string): string | undefined {
  const member = findMember(members, key)
  return member?.type === 'string' ? readString(bytes, member.value) : undefined
}

/** A peer's own hint, 0 when it gave none that can be kept to; only modern peers have any. */
function ttlOf({ bytes, revision }: ResultAnswer, members: readonly Member[]): number {
  const member = revision === MODERN_REVISION ? findMember(members, 'ttlMs') : undefined
  const value = member?.type === 'number' ? readValue(bytes, member.value) : undefined
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

function errorReply(id: RpcId, made: ErrorAnswer): Reply {
  return {
    status: made.status ?? MODERN_STATUS[made.code] ?? 200,
    body: encodeError(id, made),
  }
}
