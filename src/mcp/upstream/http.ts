/**
 * The Streamable HTTP link: each message its own POST, answered as JSON or as an event stream.
 *
 * Headers are ours, rebuilt for every message; redirects are followed for housekeeping only, within
 * the origin, where the method is kept. A status without a message is never taken for "it did not run"
 * unless HTTP itself says that the request was not looked at.
 *
 * @source MCP 2026-07-28 and 2025-11-25, transports, Streamable HTTP; RFC 9110, 15.
 */
import { Pool, type Dispatcher } from 'undici'
import { LOCAL } from '../../core/words/principal.ts'
import { encodeNotification, type RpcError, type RpcResult } from '../wire/json-rpc.ts'
import { encodeJson } from '../wire/spans.ts'
import { abortSignalOf, type CancelSignal } from './cancel.ts'
import { openGetStream, type GetStream } from './get-stream.ts'
import { postOn, type Way } from './bearing.ts'
import type { Credentials } from './credentials.ts'
import type { DeprecatedFeature } from './deprecated.ts'
import type { Post, PostAnswer } from './http-exchange.ts'
import {
  configuredHeaders,
  messageHeaders,
  RequestHeaders,
  sessionOf,
  streamHeaders,
  type HttpEndpoint,
} from './http-headers.ts'
import { createInbox, type Inbox } from './http-inbox.ts'
import { requestOver, type RequestLink } from './http-request.ts'
import {
  saysSessionLost,
  sessionLost,
  sessionLostBy,
  splitBatch,
  statusFailure,
} from './http-status.ts'
import { createIncoming } from './incoming.ts'
import { DEFAULT_MAX_BYTES, LinkFailure, type Agreement, type Link } from './link.ts'
import type { LinkListener, LinkOptions, LinkRequest } from './link.ts'
import { createReadShare } from './read-share.ts'

export interface HttpOptions extends LinkOptions {
  /** Default: a pool of our own to the origin. */
  readonly dispatcher?: Dispatcher
  /** What its messages bear, and whose what belongs to no call bears. Left out: nothing, and the local principal's. */
  readonly credentials?: Credentials
  readonly principal?: string
  /** A session that was not used for so long is asked whether it still is one before a call goes out on it, milliseconds. Default 30000. */
  readonly doubtAfterMs?: number
  /** How long a server of 2024-11-05 may take to take a message that is no request, milliseconds. Default 30000. */
  readonly takeMs?: number
}

const NOTIFY_TIMEOUT_MS = 10_000
const DEFAULT_DOUBT_AFTER_MS = 30_000
const BROKE_MS = 1_000
/** How long a server may take to say whether it knows the session, milliseconds. */
const DOUBT_MS = 3_000
/** How long, and how many at once, canceled calls of a session are listened to for a late answer. */
const LATE = { ms: 60_000, most: 16 }

/** Opens a link; nothing is sent yet. @throws TypeError for a url that is none. */
export function createHttpLink(
  endpoint: HttpEndpoint,
  listener: LinkListener,
  options: HttpOptions = {},
): Link {
  return new HttpLink(endpoint, listener, options)
}

const SESSIONS: readonly DeprecatedFeature[] = ['sessions']
const NOTHING_OLD: readonly DeprecatedFeature[] = []

class HttpLink implements Link {
  readonly transport = 'http'
  readonly ended: Promise<LinkFailure>
  readonly #origin: string
  readonly #headers: RequestHeaders
  readonly #way: Way
  readonly #ownsDispatcher: boolean
  readonly #maxBytes: number
  readonly #doubtAfterMs: number
  readonly #incoming = createIncoming()
  readonly #share = createReadShare(() => performance.now())
  readonly #inbox: Inbox
  /** What its requests see of it. */
  readonly #ofRequests: RequestLink
  #path: string
  #session: string | undefined
  #agreement: Agreement | undefined
  #stream: GetStream | undefined
  #lastId = 0
  #lastHeardAt = performance.now()
  #lateHearings = 0
  #over: LinkFailure | undefined
  #end: (failure: LinkFailure) => void = () => {}

  constructor(endpoint: HttpEndpoint, listener: LinkListener, options: HttpOptions) {
    const url = new URL(endpoint.url)
    this.#origin = url.origin
    this.#path = url.pathname + url.search
    this.#headers = new RequestHeaders(configuredHeaders(endpoint))
    this.#maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES
    this.#doubtAfterMs = options.doubtAfterMs ?? DEFAULT_DOUBT_AFTER_MS
    this.#ownsDispatcher = options.dispatcher === undefined
    this.#way = wayOf(url.origin, options)
    this.#inbox = createInbox({
      listener,
      incoming: this.#incoming,
      reply: async (message) => void (await this.#send(message)),
      onStray: options.onStray,
      isModern: () => this.#agreement?.era === 'modern',
    })
    this.#ofRequests = this.#forRequests()
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  uses(): readonly DeprecatedFeature[] {
    return this.#session === undefined ? NOTHING_OLD : SESSIONS
  }

  nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  agree(agreement: Agreement): void {
    this.#agreement = agreement
    this.#headers.put(agreement.revision, this.#session)
  }

  hear(onGap: () => void, expected = false): void {
    if (this.#agreement?.era !== 'legacy' || this.#over !== undefined) return
    if (!expected && this.#session === undefined) return
    this.#stream ??= openGetStream({
      open: ({ lastEventId, onHead, onMark }) =>
        postOn(this.#way, {
          path: this.#path,
          method: 'GET',
          headers: streamHeaders(this.#headers.inForce, lastEventId),
          body: new Uint8Array(0),
          maxBytes: this.#maxBytes,
          share: this.#share,
          onHead,
          onMark,
          onEvent: (data, name) => (name === 'message' ? this.#inbox.takeStray(data) : undefined),
        }),
      onSessionLost: () => this.#finish(sessionLost()),
      onGap,
      monotonic: () => performance.now(),
    })
  }

  hears(): boolean {
    return this.#stream?.isOpen() === true
  }

  request(request: LinkRequest): Promise<RpcResult | RpcError> {
    const problem = this.#problemOf(request.signal)
    if (problem !== undefined) return Promise.reject(problem)
    if (!request.followRedirect && this.#doubtsSession()) return this.#requestInDoubt(request)
    return requestOver(this.#ofRequests, request)
  }

  async notify(method: string, params?: Uint8Array): Promise<void> {
    const answer = await this.#send(encodeNotification(method, params))
    if (answer.status >= 300) throw this.#judge(answer)
  }

  complaints(): string {
    return ''
  }

  counts(): ReturnType<Link['counts']> {
    return this.#inbox.counts()
  }

  async close(): Promise<void> {
    if (this.#session !== undefined && this.#over === undefined) {
      this.#stream?.close()
      // Best effort: a server without an end to its sessions answers 405.
      await this.#send(new Uint8Array(0), 'DELETE').catch(() => {})
    }
    this.#finish(new LinkFailure('broken', false, 'the connection was closed'))
    if (!this.#ownsDispatcher) return
    // Calls that are under way may be answered though their session is not known any more.
    if (this.#over?.sessionLost === true) await this.#way.dispatcher.close()
    else await this.#way.dispatcher.destroy()
  }

  /** Why nothing is sent. */
  #problemOf(signal: CancelSignal): LinkFailure | undefined {
    const over = this.#over
    if (over !== undefined) {
      const { reason, message, sessionLost: isLost } = over
      return new LinkFailure(reason, false, message, { sessionLost: isLost })
    }
    if (!signal.aborted) return undefined
    return new LinkFailure('aborted', false, 'canceled before sending')
  }

  #forRequests(): RequestLink {
    return {
      way: this.#way,
      inbox: this.#inbox,
      reading: { maxBytes: this.#maxBytes, share: this.#share },
      path: () => this.#path,
      headersOf: (request) => this.#headers.of(request),
      streamHeaders: (lastEventId) => streamHeaders(this.#headers.inForce, lastEventId),
      isLegacy: () => this.#agreement?.era === 'legacy',
      isAgreed: () => this.#agreement !== undefined,
      heard: ({ method }, headers) => {
        if (method === 'initialize') this.#begin(sessionOf(headers))
        this.#lastHeardAt = performance.now()
      },
      noticeLostSession: (answer) => this.#noticeLostSession(answer),
      refuseLostSession: (answer, messages) => {
        if (this.#session === undefined || answer.status < 400) return
        if (!saysSessionLost(answer, messages)) return
        this.#finish(sessionLost())
        // It may have run all the same: servers are known to find out afterwards.
        throw sessionLostBy(answer.status)
      },
      follow: (answer) => this.#follow(answer),
      judge: (answer) => this.#judge(answer),
      cancel: ({ id }) => {
        const params = encodeJson({ requestId: id })
        this.notify('notifications/cancelled', params).catch(() => {})
      },
      mayHearOut: () => this.#lateHearings < LATE.most,
      hearOut: (exchange) => void this.#hearOut(exchange),
    }
  }

  #begin(session: string | undefined): void {
    this.#session = session
    this.#headers.put(this.#agreement?.revision, session)
  }

  /** What is sent on a session that the server lost may have run all the same: better to know before. */
  #doubtsSession(): boolean {
    if (this.#session === undefined || this.hears()) return false
    // A stream that was open and is not: the server may have been started anew.
    const broke = this.#stream?.wasOpen() === true
    const after = broke ? Math.min(BROKE_MS, this.#doubtAfterMs) : this.#doubtAfterMs
    return performance.now() - this.#lastHeardAt > after
  }

  async #requestInDoubt(request: LinkRequest): Promise<RpcResult | RpcError> {
    const { signal } = request
    const ping = this.request({
      id: this.nextId(),
      method: 'ping',
      params: encodeJson({}),
      followRedirect: true,
      signal: AbortSignal.any([abortSignalOf(signal), AbortSignal.timeout(DOUBT_MS)]),
    })
    // Whatever else it says or does not say, the call will show.
    await ping.catch(() => {})
    if (signal.aborted) throw new LinkFailure('aborted', false, 'canceled before sending')
    const problem = this.#problemOf(signal)
    if (problem !== undefined) throw problem
    return requestOver(this.#ofRequests, request)
  }

  async #hearOut(exchange: Post): Promise<void> {
    this.#lateHearings += 1
    const enough = new LinkFailure('aborted', true, 'no late answer came')
    const timer = setTimeout(() => exchange.abort(enough), LATE.ms)
    timer.unref()
    try {
      const { streamed, body } = await exchange.answer
      if (!streamed && body.length > 0)
        for (const one of splitBatch(body)) this.#inbox.takeStray(one)
    } catch (error) {
      if (!(error instanceof LinkFailure)) throw error
    } finally {
      clearTimeout(timer)
      this.#lateHearings -= 1
    }
  }

  /** An error in words, with a status that says nothing: it stands as the answer, the next call begins a new session. */
  #noticeLostSession(answer: RpcResult | RpcError): void {
    if (answer.kind !== 'error' || this.#session === undefined) return
    if (saysSessionLost({ status: 200, body: answer.bytes }, [answer])) this.#finish(sessionLost())
  }

  async #send(body: Uint8Array, method: 'POST' | 'DELETE' = 'POST'): Promise<PostAnswer> {
    const sending = postOn(this.#way, {
      path: this.#path,
      headers: messageHeaders(this.#headers.inForce),
      body,
      method,
      maxBytes: this.#maxBytes,
      headOnly: true,
    })
    const timer = setTimeout(() => {
      sending.abort(new LinkFailure('broken', sending.sent(), 'no answer to a notification'))
    }, NOTIFY_TIMEOUT_MS)
    try {
      return await sending.answer
    } finally {
      clearTimeout(timer)
    }
  }

  /** 307 and 308 within the origin keep the method; anything else is the operator's to decide. */
  #follow(answer: PostAnswer): boolean {
    if (answer.status !== 307 && answer.status !== 308) return false
    const location = answer.headers.location
    if (typeof location !== 'string' || !URL.canParse(location, this.#origin + this.#path))
      return false
    const target = new URL(location, this.#origin + this.#path)
    if (target.origin !== this.#origin) return false
    this.#path = target.pathname + target.search
    return true
  }

  #judge({ status }: PostAnswer): LinkFailure {
    if (this.#session === undefined || status !== 404) return statusFailure(status)
    this.#finish(sessionLost())
    return sessionLostBy(status)
  }

  #finish(failure: LinkFailure): void {
    if (this.#over !== undefined) return
    this.#over = failure
    this.#stream?.close()
    this.#incoming.end()
    this.#end(failure)
  }
}

/** How a link to this origin sends. */
export function wayOf(origin: string, options: HttpOptions): Way {
  const { dispatcher = createPool(origin), credentials, principal = LOCAL.id } = options
  return { dispatcher, origin, credentials, principal }
}

/** A pool to one origin in which nothing is given up by time. */
export function createPool(origin: string): Pool {
  return new Pool(origin, {
    connections: 256,
    pipelining: 1,
    // Deadlines are the caller's; a tool may be silent for as long as its caller waits.
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeout: 10_000,
  })
}
