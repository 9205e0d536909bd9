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
import { InFlight, type Place } from '../wire/in-flight.ts'
import type { Reply } from './answer.ts'
import { SERVED_REVISIONS } from './discover.ts'
import { drain } from './drain.ts'
import { looksLikeBatch } from './batch.ts'
import { claimsModern } from './era.ts'
import { openHttpAnswer } from './http-answer.ts'
import { createArrivals, readBody } from './http-body.ts'
import {
  LOOPBACK_HOSTS,
  refuseMediaTypes,
  refuseOrigin,
  refuseRepeats,
  refusalReply,
  type HttpRefusal,
} from './http-guard.ts'
import {
  answerLegacyBatch,
  answerLegacyMessage,
  endHttpSession,
  type Desk,
  type From,
} from './http-legacy.ts'
import { listen, NO_STREAM } from './http-listen.ts'
import { createMemorySessions } from './memory-sessions.ts'
import { answerModern } from './modern.ts'
import { createDoor, type DoorOptions, type DoorPorts } from './options.ts'
import { createUnread } from './outgoing.ts'
import { createSessionless } from './sessionless.ts'
import { createSessions } from './sessions.ts'

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
  const store = options.sessions ?? createMemorySessions()
  const sessions = createSessions(store, door.clock, door.limits, door.report)
  const sessionless = createSessionless()
  const allowed = (options.allowedHosts ?? LOOPBACK_HOSTS).map((host) => host.toLowerCase())
  const closing = new AbortController()
  closing.signal.addEventListener('abort', door.parked.shutDown)
  const running = new InFlight<Promise<void>>()
  /** Connections that wait for news: a session has one, so that they are bounded with the sessions. */
  const listening = new InFlight<Promise<void>>()
  const withdrawals = createWithdrawals(closing.signal)
  const unread = createUnread(door.limits.maxUnreadBytes)
  const arrivals = createArrivals()
  let closed = false

  const refuseLoad = (): HttpRefusal | undefined => {
    const headers = { 'retry-after': '1' }
    const isFull = running.size >= door.limits.maxInFlight
    // Nobody keeps others out by a message that never ends.
    if (closed || (isFull && !arrivals.makeRoom())) {
      return { status: 503, message: 'too busy to take another request now', headers }
    }
    if (!unread.isFull()) return undefined
    return { status: 503, message: 'too many bytes of answers are waiting to be read', headers }
  }
  const visit = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = openHttpAnswer(response, door.limits, unread)
    const withdrawal = withdrawals.open(answer.closed)
    const stop = { closing: closing.signal, withdrawn: withdrawal.signal }
    const desk = { door, sessions, sessionless, arrivals, answer, ...stop }
    const read = async (): Promise<Reply | undefined> => {
      const refused =
        refuseLoad() ??
        refuseRepeats(request.rawHeaders) ??
        refuseOrigin(request.headers, allowed, request.url)
      if (refused !== undefined) return refusalReply(refused)
      const who = await options.authenticate(request.headers)
      if ('refused' in who) return refusalReply(who.refused)
      return answerRequest(desk, request, who.principal)
    }
    try {
      const reply = await read()
      if (reply !== undefined) answer.end(reply)
    } catch (fault) {
      door.report(fault)
      answer.end(refusalReply({ status: 500, message: 'internal error' }))
    }
    // An answer that nobody reads is one in flight.
    await answer.over
    withdrawal.forget()
  }
  return {
    handle: async (request, response) => {
      const done = visit(request, response)
      const kept = request.method === 'GET' ? listening : running
      const place = kept.add(done)
      await done
      kept.remove(place)
    },
    close: async () => {
      closed = true
      door.leave()
      sessions.close()
      const all = (): Promise<unknown> =>
        Promise.allSettled([...running.all(), ...listening.all(), door.parked.settled()])
      await drain(all, door.limits.drainMs, closing)
    },
  }
}

/**
 * One signal for both ways in which a request is withdrawn: its caller goes, or the door closes.
 *
 * A composite signal of the platform would do the same, and costs more than all else that a request needs of signals.
 */
function createWithdrawals(closing: AbortSignal): {
  open(closed: AbortSignal): Withdrawal
} {
  const open = new InFlight<AbortController>()
  closing.addEventListener('abort', () => {
    for (const controller of open.all()) controller.abort(closing.reason)
  })
  return {
    open(closed) {
      let place: Place<AbortController> | undefined
      return {
        signal() {
          const controller = new AbortController()
          if (closed.aborted || closing.aborted)
            controller.abort(closed.aborted ? closed.reason : closing.reason)
          else {
            place = open.add(controller)
            closed.addEventListener('abort', () => controller.abort(closed.reason), { once: true })
          }
          return controller.signal
        },
        forget() {
          if (place !== undefined) open.remove(place)
        },
      }
    },
  }
}

/** Of one request. */
interface Withdrawal {
  /** Made when it is asked for, once. */
  signal(): AbortSignal
  /** It is over. */
  forget(): void
}

async function answerRequest(
  desk: Desk,
  request: IncomingMessage,
  principal: Principal,
): Promise<Reply | undefined> {
  const { headers } = request
  const from = { principal, headers }
  // Only session revisions have sessions to listen to and to end.
  const isModern = hasModernHeader(headers)
  if (request.method === 'DELETE' && !isModern) return endHttpSession(desk, from)
  const listens = headers[SESSION] !== undefined && !isModern
  if (request.method === 'GET' && listens) return listen(desk, from)
  if (request.method !== 'POST') return refusalReply(NO_STREAM)
  const refused = refuseMediaTypes(headers)
  if (refused !== undefined) return refusalReply(refused)
  const body = await readBody(request, desk.door.limits, desk.arrivals)
  if (body === undefined) return { status: 400 }
  if (!(body instanceof Uint8Array)) return refusalReply(body)
  if (looksLikeBatch(body) && !isModern) return answerLegacyBatch(desk, body, from)
  return answerMessage(desk, parseMessage(body), from)
}

async function answerMessage(
  desk: Desk,
  message: RpcMessage,
  from: From,
): Promise<Reply | undefined> {
  const { headers, principal } = from
  if (message.kind === 'fault') {
    return { status: 400, body: encodeError(message.id, message) }
  }
  if (message.kind === 'request' && meansModern(message, headers)) {
    const caller = {
      notify: desk.answer.notify,
      // Closing the stream, or the connection of a plain answer, cancels.
      signal: desk.withdrawn(),
      gone: desk.answer.closed,
    }
    return answerModern(desk.door, message, { principal, transport: 'http', headers, caller })
  }
  const version = headers[VERSION]
  if (typeof version === 'string' && !SERVED_REVISIONS.includes(version.trim())) {
    const text = `${MCP_HEADERS.protocolVersion} is none of those served: ${SERVED_REVISIONS.join(', ')}`
    return badRequest(message, text)
  }
  const isAlone = headers[SESSION] === undefined && hasModernHeader(headers)
  // 2026-07-28 defines no notification over HTTP; one that comes is taken and means nothing.
  if (isAlone && message.kind === 'notification') return { status: 202 }
  return answerLegacyMessage(desk, message, from)
}

function meansModern(message: RpcRequest, headers: IncomingHttpHeaders): boolean {
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

function badRequest(message: Exclude<RpcMessage, { kind: 'fault' }>, text: string): Reply {
  const id = message.kind === 'request' ? message.id : undefined
  return { status: 400, body: encodeError(id, { code: RPC_ERRORS.invalidRequest, message: text }) }
}
