/**
 * The Streamable HTTP door: one endpoint, both eras, over node:http request and response.
 *
 * The era of a message is told by `_meta` or the version header, never by its method alone. Refusals before a message is
 * understood are HTTP statuses with a JSON-RPC error body; what happens after is the era's.
 *
 * @source MCP 2026-07-28 and 2025-11-25, transports, Streamable HTTP
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from '../../core/words/principal.ts'
import { encodeError, parseMessage, type RpcMessage, type RpcRequest } from '../wire/json-rpc.ts'
import { LEGACY_REVISIONS, SESSION_HEADER } from '../wire/rev-2025-11-25.ts'
import { MCP_HEADERS, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import type { Reply } from './answer.ts'
import { SERVED_REVISIONS } from './discover.ts'
import { drain } from './drain.ts'
import { claimsModern } from './era.ts'
import { openHttpAnswer, type HttpAnswer } from './http-answer.ts'
import { readBody } from './http-body.ts'
import {
  LOOPBACK_HOSTS,
  refuseMediaTypes,
  refuseOrigin,
  refuseRepeats,
  type HttpRefusal,
} from './http-guard.ts'
import {
  agreeRevision,
  answerInitialize,
  answerLegacy,
  refuseInitialize,
  takeNotification,
} from './legacy.ts'
import { answerModern, type Arrival } from './modern.ts'
import { createDoor, type Door, type DoorOptions, type DoorPorts } from './options.ts'
import { createUnread } from './outgoing.ts'
import { createSessions, type Session, type Sessions } from './sessions.ts'

/** Who a request is from, or why it is not served. */
export type Authenticate = (
  headers: IncomingHttpHeaders,
) => Promise<{ readonly principal: Principal } | { readonly refused: HttpRefusal }>

export interface HttpDoorOptions extends DoorOptions {
  /** Called for every request, once Host and Origin were found good. */
  readonly authenticate: Authenticate
  /** Host names served, without ports. Default: those of loopback. */
  readonly allowedHosts?: readonly string[]
}

export interface HttpDoor {
  /** Answers one request whose body nobody has read. Never rejects; resolves when the answer was taken or the connection is gone. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Takes nothing new, lets running requests answer for a while, then stops them. */
  close(): Promise<void>
}

const SESSION = SESSION_HEADER.toLowerCase()
const VERSION = MCP_HEADERS.protocolVersion.toLowerCase()

export function createHttpDoor(ports: DoorPorts, options: HttpDoorOptions): HttpDoor {
  const door = createDoor(ports, options)
  const sessions = createSessions(door.clock, door.limits)
  const allowed = (options.allowedHosts ?? LOOPBACK_HOSTS).map((host) => host.toLowerCase())
  const closing = new AbortController()
  const running = new Set<Promise<void>>()
  const unread = createUnread(door.limits.maxUnreadBytes)
  let closed = false

  const refuseLoad = (): HttpRefusal | undefined => {
    const headers = { 'retry-after': '1' }
    if (closed || running.size >= door.limits.maxInFlight) {
      return { status: 503, message: 'too busy to take another request now', headers }
    }
    if (!unread.isFull()) return undefined
    return { status: 503, message: 'too many bytes of answers are waiting to be read', headers }
  }
  const visit = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = openHttpAnswer(response, door.limits, unread)
    const desk = { door, sessions, answer, closing: closing.signal }
    const read = async (): Promise<Reply> => {
      const refused =
        refuseLoad() ?? refuseRepeats(request.rawHeaders) ?? refuseOrigin(request.headers, allowed)
      if (refused !== undefined) return refusalReply(refused)
      const who = await options.authenticate(request.headers)
      if ('refused' in who) return refusalReply(who.refused)
      return answerRequest(desk, request, who.principal)
    }
    try {
      answer.end(await read())
    } catch (fault) {
      door.report(fault)
      answer.end(refusalReply({ status: 500, message: 'internal error' }))
    }
    // An answer that nobody reads is one in flight.
    await answer.over
  }
  return {
    handle: async (request, response) => {
      const done = visit(request, response)
      running.add(done)
      await done
      running.delete(done)
    },
    close: async () => {
      closed = true
      await drain(() => Promise.allSettled(running), door.limits.drainMs, closing)
    },
  }
}

interface Desk {
  readonly door: Door
  readonly sessions: Sessions
  readonly answer: HttpAnswer
  readonly closing: AbortSignal
}

async function answerRequest(
  desk: Desk,
  request: IncomingMessage,
  principal: Principal,
): Promise<Reply> {
  if (request.method === 'DELETE') return endSession(desk, request.headers, principal)
  if (request.method !== 'POST') {
    const headers = { allow: 'POST, DELETE' }
    return refusalReply({ status: 405, message: 'POST a message, or DELETE a session', headers })
  }
  const refused = refuseMediaTypes(request.headers)
  if (refused !== undefined) return refusalReply(refused)
  const body = await readBody(request, desk.door.limits)
  if (body === undefined) return { status: 400 }
  if (!(body instanceof Uint8Array)) return refusalReply(body)
  return answerMessage(desk, parseMessage(body), request.headers, principal)
}

async function answerMessage(
  desk: Desk,
  message: RpcMessage,
  headers: IncomingHttpHeaders,
  principal: Principal,
): Promise<Reply> {
  if (message.kind === 'fault') {
    return { status: 400, body: encodeError(message.id, message) }
  }
  if (message.kind === 'request' && isModern(message, headers)) {
    const caller = {
      notify: desk.answer.notify,
      // Closing the stream, or the connection of a plain answer, cancels.
      signal: AbortSignal.any([desk.answer.closed, desk.closing]),
      gone: desk.answer.closed,
    }
    return answerModern(desk.door, message, { principal, transport: 'http', headers, caller })
  }
  const version = headers[VERSION]
  if (typeof version === 'string' && !SERVED_REVISIONS.includes(version.trim())) {
    return badRequest(
      message,
      `${MCP_HEADERS.protocolVersion} is none of those served: ${SERVED_REVISIONS.join(', ')}`,
    )
  }
  if (
    message.kind === 'request' &&
    message.method === 'initialize' &&
    headers[SESSION] === undefined
  ) {
    return openSession(desk, message, principal)
  }
  if (
    headers[SESSION] === undefined &&
    message.kind === 'notification' &&
    hasModernHeader(headers)
  ) {
    // 2026-07-28 defines no notification over HTTP; one that comes is taken and means nothing.
    return { status: 202 }
  }
  const session = findSession(desk, headers, principal)
  if ('status' in session) return refuseSession(message, session)
  return answerInSession(desk, session, message, { principal, headers })
}

async function answerInSession(
  desk: Desk,
  session: Session,
  message: Exclude<RpcMessage, { kind: 'fault' }>,
  from: { readonly principal: Principal; readonly headers: IncomingHttpHeaders },
): Promise<Reply> {
  switch (message.kind) {
    case 'notification':
      takeNotification(session.running, message)
      return { status: 202 }
    case 'result':
    case 'error':
      // Nothing was asked on this session, so nothing waits for it.
      return { status: 202 }
    case 'request': {
      const caller = {
        notify: desk.answer.notify,
        signal: desk.closing,
        gone: desk.answer.closed,
      }
      const arrival: Arrival = { ...from, transport: 'http', caller }
      return answerLegacy(desk.door, session, message, arrival)
    }
  }
}

function isModern(message: RpcRequest, headers: IncomingHttpHeaders): boolean {
  return claimsModern(message) || hasModernHeader(headers)
}

/** A version that is no legacy one claims the modern era, served or not. */
function hasModernHeader(headers: IncomingHttpHeaders): boolean {
  const version = headers[VERSION]
  if (typeof version !== 'string') return false
  const legacy: readonly string[] = LEGACY_REVISIONS
  // An older date than any session revision is a legacy caller's, not a future one's.
  return !legacy.includes(version.trim()) && version.trim() !== '2024-11-05'
}

async function openSession(desk: Desk, request: RpcRequest, principal: Principal): Promise<Reply> {
  const refused = refuseInitialize(request)
  if (refused !== undefined) return refused
  const revision = agreeRevision(request)
  const session = desk.sessions.open(principal, revision)
  if (session === undefined) {
    return refusalReply({
      status: 503,
      message: 'all sessions are in use',
      headers: { 'retry-after': '5' },
    })
  }
  const reply = await answerInitialize(desk.door, request, revision, principal)
  return { ...reply, headers: { [SESSION_HEADER]: session.id } }
}

function findSession(
  desk: Desk,
  headers: IncomingHttpHeaders,
  principal: Principal,
): Session | HttpRefusal {
  const id = headers[SESSION]
  if (typeof id !== 'string') {
    return {
      status: 400,
      message: `expected ${MCP_HEADERS.protocolVersion} with its _meta (2026-07-28), or ${SESSION_HEADER} from initialize`,
    }
  }
  const session = desk.sessions.find(id, principal)
  return session ?? { status: 404, message: 'no such session: initialize again' }
}

/** A request with neither version header, metadata nor session lacks a header, whichever era it meant. */
function refuseSession(
  message: Exclude<RpcMessage, { kind: 'fault' }>,
  refusal: HttpRefusal,
): Reply {
  const code = refusal.status === 400 ? RPC_ERRORS.headerMismatch : RPC_ERRORS.invalidRequest
  const id = message.kind === 'request' ? message.id : undefined
  return { status: refusal.status, body: encodeError(id, { code, message: refusal.message }) }
}

function endSession(desk: Desk, headers: IncomingHttpHeaders, principal: Principal): Reply {
  const session = findSession(desk, headers, principal)
  if ('status' in session) return refusalReply(session)
  desk.sessions.end(session)
  for (const controller of session.running.values()) controller.abort('caller_canceled')
  return { status: 204 }
}

function badRequest(message: Exclude<RpcMessage, { kind: 'fault' }>, text: string): Reply {
  const id = message.kind === 'request' ? message.id : undefined
  return { status: 400, body: encodeError(id, { code: RPC_ERRORS.invalidRequest, message: text }) }
}

function refusalReply({ status, message, headers }: HttpRefusal): Reply {
  return {
    status,
    body: encodeError(undefined, { code: RPC_ERRORS.invalidRequest, message }),
    ...(headers === undefined ? {} : { headers }),
  }
}
