/**
 * One request at the HTTP door, from its headers to the end of its answer.
 *
 * The era of a message is told by `_meta` or the version header, never by its method alone. Refusals before a message is
 * understood are HTTP statuses with a JSON-RPC error body; what happens after is the era's.
 *
 * @source MCP 2026-07-28 and 2025-11-25, transports, Streamable HTTP
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { StopReason } from '../../core/ports/upstream.ts'
import type { InFlight, Place } from '../wire/in-flight.ts'
import { encodeError, parseMessage, type RpcMessage, type RpcRequest } from '../wire/json-rpc.ts'
import { LEGACY_REVISIONS, SESSION_HEADER } from '../wire/rev-2025-11-25.ts'
import { MCP_HEADERS, MODERN_REVISION, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import type { Reply } from './answer.ts'
import { looksLikeBatch } from './batch.ts'
import { SERVED_REVISIONS } from './discover.ts'
import { claimsModern } from './era.ts'
import type { Authenticate, Authenticated } from './http.ts'
import { HttpAnswer, type AnswerTerms, type AnswerWatcher } from './http-answer.ts'
import type { Arrivals, BodyReader, ReadBody } from './http-body.ts'
import { HttpCaller } from './http-caller.ts'
import { refuseMediaTypes, refusalReply, type HttpRefusal } from './http-guard.ts'
import {
  answerLegacyBatch,
  answerLegacyMessage,
  endHttpSession,
  type Desk,
  type From,
} from './http-legacy.ts'
import { listen, NO_STREAM } from './http-listen.ts'
import { answerModern } from './modern.ts'
import type { Door } from './options.ts'
import type { Sessionless } from './sessionless.ts'
import type { Sessions } from './sessions.ts'
import { stopReasonOf } from './visit.ts'

/** What all requests of one door share. */
export interface HttpHall {
  readonly door: Door
  readonly authenticate: Authenticate
  readonly sessions: Sessions
  readonly sessionless: Sessionless
  readonly arrivals: Arrivals
  readonly answers: AnswerTerms
  /** Aborted when the door's time is up. */
  readonly closing: AbortSignal
  /** Why a request is not even read. */
  refuse(request: IncomingMessage): HttpRefusal | undefined
}

const SESSION = SESSION_HEADER.toLowerCase()
const VERSION = MCP_HEADERS.protocolVersion.toLowerCase()

/** One object for it, since there is one for every call. */
export class HttpVisit implements Desk, AnswerWatcher, BodyReader {
  readonly answer: HttpAnswer
  readonly #hall: HttpHall
  readonly #request: IncomingMessage
  #over: PromiseWithResolvers<void> | undefined
  /** Whose it is, once that is known. */
  #from: From | undefined
  #caller: HttpCaller | undefined
  #kept: InFlight<HttpVisit> | undefined
  #place: Place<HttpVisit> | undefined
  /** What it waits for: that it is served, and that its answer is taken. One that nobody reads is in flight. */
  #open = 2

  constructor(hall: HttpHall, request: IncomingMessage, response: ServerResponse) {
    this.#hall = hall
    this.#request = request
    this.answer = new HttpAnswer(response, hall.answers, this)
  }

  get door(): Door {
    return this.#hall.door
  }

  get sessions(): Sessions {
    return this.#hall.sessions
  }

  get sessionless(): Sessionless {
    return this.#hall.sessionless
  }

  get closing(): AbortSignal {
    return this.#hall.closing
  }

  /** Resolves when nothing of it is under way any more. */
  get over(): Promise<void> {
    this.#over ??= Promise.withResolvers()
    if (this.#open === 0) this.#over.resolve()
    return this.#over.promise
  }

  /** Keeps it there until it is over. */
  keepIn(kept: InFlight<HttpVisit>): void {
    if (this.#open === 0) return
    this.#kept = kept
    this.#place = kept.add(this)
  }

  /** The one who called waits no longer; or may not, since the door closes. */
  withdraw(why: StopReason): void {
    this.#caller?.withdraw(why)
  }

  answerLost(): void {
    this.withdraw('caller_canceled')
  }

  answerOver(): void {
    this.#close()
  }

  /** Never throws. What need not be waited for is not: there are no promises until the call itself. */
  serve(): void {
    try {
      const refused = this.#hall.refuse(this.#request)
      if (refused !== undefined) return this.#end(refusalReply(refused))
      const who = this.#hall.authenticate(this.#request.headers)
      if (!(who instanceof Promise)) return this.#admit(who)
      who.then((known) => this.#admit(known)).catch((fault: unknown) => this.#fail(fault))
    } catch (fault) {
      this.#fail(fault)
    }
  }

  /** All of the body is there, or nothing more of it is read. */
  bodyRead(body: ReadBody): void {
    try {
      this.#endWith(this.#answerBody(body, this.#from!))
    } catch (fault) {
      this.#fail(fault)
    }
  }

  #admit(who: Authenticated): void {
    if ('refused' in who) return this.#end(refusalReply(who.refused))
    this.#from = { principal: who.principal, headers: this.#request.headers }
    const reply = this.#answerRequest(this.#from)
    if (reply !== 'when_read') return this.#endWith(reply)
    this.#hall.arrivals.read(this.#request, this)
  }

  #endWith(reply: Reply | Promise<Reply | undefined>): void {
    if (!(reply instanceof Promise)) return this.#end(reply)
    reply.then(
      (made) => this.#end(made),
      (fault: unknown) => this.#fail(fault),
    )
  }

  /** @param reply none when it was answered on its stream. */
  #end(reply: Reply | undefined): void {
    try {
      if (reply !== undefined) this.answer.end(reply)
    } catch (fault) {
      return this.#fail(fault)
    }
    this.#close()
  }

  #fail(fault: unknown): void {
    this.door.report(fault)
    this.answer.end(refusalReply({ status: 500, message: 'internal error' }))
    this.#close()
  }

  #answerRequest(from: From): Reply | Promise<Reply | undefined> | 'when_read' {
    const { headers } = from
    const { method } = this.#request
    // Only session revisions have sessions to listen to and to end.
    const isModern = hasModernHeader(headers)
    if (method === 'DELETE' && !isModern) return endHttpSession(this, from)
    const listens = headers[SESSION] !== undefined && !isModern
    if (method === 'GET' && listens) return listen(this, from)
    if (method !== 'POST') return refusalReply(NO_STREAM)
    const refused = refuseMediaTypes(headers)
    return refused === undefined ? 'when_read' : refusalReply(refused)
  }

  #answerBody(body: ReadBody, from: From): Reply | Promise<Reply | undefined> {
    if (body === undefined) return { status: 400 }
    if (!(body instanceof Uint8Array)) return refusalReply(body)
    if (!hasModernHeader(from.headers) && looksLikeBatch(body))
      return answerLegacyBatch(this, body, from)
    return this.#answerMessage(parseMessage(body), from)
  }

  #answerMessage(message: RpcMessage, from: From): Reply | Promise<Reply | undefined> {
    const { headers, principal } = from
    if (message.kind === 'fault') {
      return { status: 400, body: encodeError(message.id, message) }
    }
    if (message.kind === 'request' && meansModern(message, headers)) {
      const caller = this.#openCaller()
      return answerModern(this.door, message, { principal, transport: 'http', headers, caller })
    }
    const version = headers[VERSION]
    if (typeof version === 'string' && !SERVED_REVISIONS.includes(version.trim())) {
      const text = `${MCP_HEADERS.protocolVersion} is none of those served: ${SERVED_REVISIONS.join(', ')}`
      return badRequest(message, text)
    }
    const isAlone = headers[SESSION] === undefined && hasModernHeader(headers)
    // 2026-07-28 defines no notification over HTTP; one that comes is taken and means nothing.
    if (isAlone && message.kind === 'notification') return { status: 202 }
    return answerLegacyMessage(this, message, from)
  }

  #openCaller(): HttpCaller {
    const caller = new HttpCaller(this.answer)
    this.#caller = caller
    if (this.answer.isLost) caller.withdraw('caller_canceled')
    else if (this.closing.aborted) caller.withdraw(stopReasonOf(this.closing))
    return caller
  }

  #close(): void {
    this.#open -= 1
    if (this.#open > 0) return
    if (this.#place !== undefined) this.#kept?.remove(this.#place)
    this.#over?.resolve()
  }
}

function meansModern(message: RpcRequest, headers: IncomingHttpHeaders): boolean {
  return claimsModern(message) || hasModernHeader(headers)
}

/** A version that is no legacy one claims the modern era, served or not. */
function hasModernHeader(headers: IncomingHttpHeaders): boolean {
  const version = headers[VERSION]
  if (typeof version !== 'string') return false
  if (version === MODERN_REVISION) return true
  const legacy: readonly string[] = LEGACY_REVISIONS
  // An older date than any session revision is a legacy caller's, not a future one's.
  return !legacy.includes(version.trim()) && version.trim() !== '2024-11-05'
}

function badRequest(message: Exclude<RpcMessage, { kind: 'fault' }>, text: string): Reply {
  const id = message.kind === 'request' ? message.id : undefined
  return { status: 400, body: encodeError(id, { code: RPC_ERRORS.invalidRequest, message: text }) }
}
