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
import {
  createId,
  encodeNotification,
  encodeRequest,
  parseMessage,
  type RpcError,
  type RpcResult,
} from '../wire/json-rpc.ts'
import { encodeJson } from '../wire/spans.ts'
import { openGetStream, type GetStream } from './get-stream.ts'
import { post, type Post, type PostAnswer, type PostOptions } from './http-exchange.ts'
import {
  configuredHeaders,
  messageHeaders,
  requestHeaders,
  sessionOf,
  streamHeaders,
  type HttpEndpoint,
  type InForce,
} from './http-headers.ts'
import { createInbox, type Inbox, type OpenRequest } from './http-inbox.ts'
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
import { isBreak, resumeStream, type Marks } from './resume-stream.ts'

export interface HttpOptions extends LinkOptions {
  /** Default: a pool of our own to the origin. */
  readonly dispatcher?: Dispatcher
  /** A session that was not used for so long is asked whether it still is one before a call goes out on it, milliseconds. Default 30000. */
  readonly doubtAfterMs?: number
  /** How long a server of 2024-11-05 may take to take a message that is no request, milliseconds. Default 30000. */
  readonly takeMs?: number
}

/** One exchange that carries an answer. */
type Carried = Pick<PostOptions, 'path' | 'headers' | 'body' | 'method' | 'onSend'>

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

class HttpLink implements Link {
  readonly transport = 'http'
  readonly ended: Promise<LinkFailure>
  readonly #origin: string
  readonly #configured: Readonly<Record<string, string>>
  readonly #dispatcher: Dispatcher
  readonly #ownsDispatcher: boolean
  readonly #maxBytes: number
  readonly #doubtAfterMs: number
  readonly #incoming = createIncoming()
  readonly #share = createReadShare(() => performance.now())
  readonly #inbox: Inbox
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
    this.#configured = configuredHeaders(endpoint)
    this.#maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES
    this.#doubtAfterMs = options.doubtAfterMs ?? DEFAULT_DOUBT_AFTER_MS
    this.#ownsDispatcher = options.dispatcher === undefined
    this.#dispatcher = options.dispatcher ?? createPool(url.origin)
    this.#inbox = createInbox({
      listener,
      incoming: this.#incoming,
      reply: async (message) => void (await this.#send(message)),
      onStray: options.onStray,
      isModern: () => this.#agreement?.era === 'modern',
    })
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  agree(agreement: Agreement): void {
    this.#agreement = agreement
  }

  hear(onGap: () => void, expected = false): void {
    if (this.#agreement?.era !== 'legacy' || this.#over !== undefined) return
    if (!expected && this.#session === undefined) return
    this.#stream ??= openGetStream({
      open: ({ lastEventId, onHead, onMark }) =>
        post(this.#dispatcher, {
          ...this.#get(lastEventId),
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

  async request(request: LinkRequest): Promise<RpcResult | RpcError> {
    this.#checkUsable()
    if (request.signal.aborted) throw new LinkFailure('aborted', false, 'canceled before sending')
    if (!request.followRedirect && this.#doubtsSession()) await this.#askForSession(request.signal)
    const body = encodeRequest(createId(request.id), request.method, request.params)
    let sent = false
    const onSend = (): void => {
      if (!sent) request.onSend?.()
      sent = true
    }
    const open = this.#inbox.open(request)
    const abort = (): void => this.#abort(open, sent)
    request.signal.addEventListener('abort', abort, { once: true })
    try {
      let answer = await this.#post(open, body, onSend)
      if (!('kind' in answer) && request.followRedirect && this.#follow(answer)) {
        answer = await this.#post(open, body, onSend)
      }
      if (!('kind' in answer)) throw this.#judge(answer)
      this.#noticeLostSession(answer)
      return answer
    } finally {
      request.signal.removeEventListener('abort', abort)
      if (!open.isSettled()) open.fail(new LinkFailure('aborted', sent, 'nobody waits for it'))
    }
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
    if (this.#over?.sessionLost === true) await this.#dispatcher.close()
    else await this.#dispatcher.destroy()
  }

  #checkUsable(): void {
    const over = this.#over
    if (over === undefined) return
    throw new LinkFailure(over.reason, false, over.message, { sessionLost: over.sessionLost })
  }

  /** What is sent on a session that the server lost may have run all the same: better to know before. */
  #doubtsSession(): boolean {
    if (this.#session === undefined || this.hears()) return false
    // A stream that was open and is not: the server may have been started anew.
    const broke = this.#stream?.wasOpen() === true
    const after = broke ? Math.min(BROKE_MS, this.#doubtAfterMs) : this.#doubtAfterMs
    return performance.now() - this.#lastHeardAt > after
  }

  /** @throws LinkFailure unsent, when the session is lost. */
  async #askForSession(signal: AbortSignal): Promise<void> {
    const ping = this.request({
      id: this.nextId(),
      method: 'ping',
      params: encodeJson({}),
      followRedirect: true,
      signal: AbortSignal.any([signal, AbortSignal.timeout(DOUBT_MS)]),
    })
    // Whatever else it says or does not say, the call will show.
    await ping.catch(() => {})
    if (signal.aborted) throw new LinkFailure('aborted', false, 'canceled before sending')
    this.#checkUsable()
  }

  /** @returns the JSON-RPC answer, or the HTTP answer when there was none in it. */
  async #post(
    open: OpenRequest,
    body: Uint8Array,
    onSend: () => void,
  ): Promise<RpcResult | RpcError | PostAnswer> {
    const marks: Marks = {}
    try {
      const answer = await this.#carry(
        open,
        { path: this.#path, headers: requestHeaders(this.#inForce(), open.request), body, onSend },
        marks,
      )
      if ('kind' in answer) return answer
      if (!answer.streamed) return this.#readBody(answer, open)
      if (open.isSettled()) return await open.answered
      throw new LinkFailure('broken', true, 'the event stream ended before an answer came')
    } catch (error) {
      if (!isBreak(error) || !this.#mayResume(marks)) throw error
      return await resumeStream(open, marks, error, (get) =>
        this.#carry(open, this.#get(get.lastEventId), marks),
      )
    }
  }

  /** Event ids mean something in the session revisions only. */
  #mayResume({ lastEventId }: Marks): boolean {
    return this.#agreement?.era === 'legacy' && lastEventId !== undefined
  }

  /** One HTTP exchange on which the answer may come. @param marks where in the stream it stands. */
  async #carry(
    open: OpenRequest,
    options: Carried,
    marks: Marks,
  ): Promise<RpcResult | RpcError | PostAnswer> {
    const sending = post(this.#dispatcher, {
      maxBytes: this.#maxBytes,
      share: this.#share,
      onMark: (mark) => Object.assign(marks, mark),
      onEvent: (data, name) => this.#takeEvent(open, data, name),
      ...options,
    })
    try {
      const answer = await Promise.race([sending.answer, open.answered])
      if (open.request.method === 'initialize') this.#session = sessionOf(sending.headers())
      this.#lastHeardAt = performance.now()
      sending.release()
      return answer
    } catch (error) {
      if (!(error instanceof LinkFailure)) throw error
      if (!this.#mayAnswerLate(open.request, error)) sending.abort(error)
      else void this.#hearOut(sending)
      throw error
    }
  }

  #takeEvent(open: OpenRequest, data: Uint8Array, name: string): Promise<void> | undefined {
    if (name === 'message') {
      const [first = data, ...rest] = splitBatch(data)
      const wait = open.take(parseMessage(first), first)
      // Batches were of 2025-03-26 alone.
      for (const one of rest) void open.take(parseMessage(one))
      return wait
    }
    if (name !== 'endpoint' || this.#agreement !== undefined) return undefined
    // It takes a POST for the GET that opens the stream of 2024-11-05.
    const what = 'the server answered with the event stream of 2024-11-05'
    open.fail(new LinkFailure('refused', true, what, { status: 405 }))
    return undefined
  }

  /** In session revisions a disconnect is no cancel, and a cancel no end. */
  #mayAnswerLate({ onLate }: LinkRequest, { reason, sent }: LinkFailure): boolean {
    const isCanceled = reason === 'aborted' && sent && this.#agreement?.era === 'legacy'
    return isCanceled && onLate !== undefined && this.#lateHearings < LATE.most
  }

  async #hearOut(sending: Post): Promise<void> {
    this.#lateHearings += 1
    const enough = new LinkFailure('aborted', true, 'no late answer came')
    const timer = setTimeout(() => sending.abort(enough), LATE.ms)
    timer.unref()
    try {
      const { streamed, body } = await sending.answer
      if (!streamed && body.length > 0)
        for (const one of splitBatch(body)) this.#inbox.takeStray(one)
    } catch (error) {
      if (!(error instanceof LinkFailure)) throw error
    } finally {
      clearTimeout(timer)
      this.#lateHearings -= 1
    }
  }

  #get(lastEventId: string | undefined): Carried {
    return {
      path: this.#path,
      method: 'GET',
      headers: streamHeaders(this.#inForce(), lastEventId),
      body: new Uint8Array(0),
    }
  }

  #abort(open: OpenRequest, sent: boolean): void {
    if (open.isSettled()) return
    // Modern: closing the stream is the cancel. Session revisions: a disconnect is none, so say it.
    if (sent && this.#agreement?.era === 'legacy') {
      const params = encodeJson({ requestId: open.request.id })
      this.notify('notifications/cancelled', params).catch(() => {})
    }
    const when = sent ? 'after sending' : 'before sending'
    open.fail(new LinkFailure('aborted', sent, `canceled ${when}`))
  }

  /** A whole body: one message, or (2025-03-26) several in an array. */
  async #readBody(
    answer: PostAnswer,
    open: OpenRequest,
  ): Promise<RpcResult | RpcError | PostAnswer> {
    const { status, body } = answer
    if (status === 401 || status === 403) return answer
    const messages = body.length === 0 ? [] : splitBatch(body).map((bytes) => parseMessage(bytes))
    if (this.#session !== undefined && status >= 400 && saysSessionLost(answer, messages)) {
      this.#finish(sessionLost())
      // It may have run all the same: servers are known to find out afterwards.
      throw sessionLostBy(status)
    }
    for (const message of messages) {
      void open.take(message)
      if (open.isSettled()) return await open.answered
    }
    if (status >= 300 || body.length === 0) return answer
    const fault = messages.find((message) => message.kind === 'fault')
    const what = fault?.kind === 'fault' ? fault.message : 'a message that answers nothing'
    throw new LinkFailure('unreadable', true, `the answer is ${what}`)
  }

  /** An error in words, with a status that says nothing: it stands as the answer, the next call begins a new session. */
  #noticeLostSession(answer: RpcResult | RpcError): void {
    if (answer.kind !== 'error' || this.#session === undefined) return
    if (saysSessionLost({ status: 200, body: answer.bytes }, [answer])) this.#finish(sessionLost())
  }

  async #send(body: Uint8Array, method: 'POST' | 'DELETE' = 'POST'): Promise<PostAnswer> {
    const sending = post(this.#dispatcher, {
      path: this.#path,
      headers: messageHeaders(this.#inForce()),
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

  #inForce(): InForce {
    return {
      configured: this.#configured,
      revision: this.#agreement?.revision,
      session: this.#session,
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
