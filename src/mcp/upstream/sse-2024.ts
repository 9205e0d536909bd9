/**
 * The HTTP link of 2024-11-05: one event stream that brings everything, and an endpoint named on it
 * to which every message is posted.
 *
 * The stream is the session: when it ends, what was asked on it has no answer, and the next use is a
 * new session.
 *
 * @source MCP 2024-11-05, transports, HTTP with SSE.
 */
import {
  encodeNotification,
  parseMessage,
  type RpcError,
  type RpcResult,
} from '../wire/json-rpc.ts'
import { encodeJson } from '../wire/spans.ts'
import { ONCE, type CancelSignal } from './cancel.ts'
import { wayOf, type HttpOptions } from './http.ts'
import { postOn, type Way } from './bearing.ts'
import type { DeprecatedFeature } from './deprecated.ts'
import type { FlatHeaders, Post, PostAnswer } from './http-exchange.ts'
import { configuredHeaders, flatHeaders, type HttpEndpoint } from './http-headers.ts'
import { createInbox, type Inbox, type OpenRequest } from './http-inbox.ts'
import {
  saysSessionLost,
  sessionLost,
  sessionLostBy,
  splitBatch,
  statusFailure,
} from './http-status.ts'
import { createIncoming } from './incoming.ts'
import { DEFAULT_MAX_BYTES, LinkFailure, messageOf, type Agreement, type Link } from './link.ts'
import type { LinkListener, LinkRequest } from './link.ts'
import { createReadShare } from './read-share.ts'

/** A link of which can be found out whether there is such a server. */
export interface SseLink extends Link {
  /** Opens the stream and waits for the endpoint; requests do so by themselves. @throws LinkFailure */
  open(signal: CancelSignal): Promise<void>
}

/** How long the first event may take, milliseconds. */
const ENDPOINT_TIMEOUT_MS = 15_000
const DEFAULT_TAKE_MS = 30_000
/** Longest path that messages are posted to, characters. */
const MAX_TARGET = 8192

/** Makes the link; nothing is sent yet. @throws TypeError for a url that is none. */
export function createSseLink(
  endpoint: HttpEndpoint,
  listener: LinkListener,
  options: HttpOptions = {},
): SseLink {
  return new OldHttpLink(endpoint, listener, options)
}

const HTTP_SSE: readonly DeprecatedFeature[] = ['httpSse']

class OldHttpLink implements SseLink {
  readonly transport = 'http'
  readonly ended: Promise<LinkFailure>
  readonly #url: URL
  readonly #configured: Readonly<Record<string, string>>
  readonly #messageHeaders: FlatHeaders
  readonly #way: Way
  readonly #ownsDispatcher: boolean
  readonly #maxBytes: number
  readonly #takeMs: number
  readonly #incoming = createIncoming()
  readonly #inbox: Inbox
  /** Where messages are posted, once the server has said so. */
  #target: string | undefined
  #opening: Promise<void> | undefined
  #stream: Post | undefined
  #lastId = 0
  #over: LinkFailure | undefined
  #end: (failure: LinkFailure) => void = () => {}

  constructor(endpoint: HttpEndpoint, listener: LinkListener, options: HttpOptions) {
    this.#url = new URL(endpoint.url)
    this.#configured = configuredHeaders(endpoint)
    this.#messageHeaders = flatHeaders({
      ...this.#configured,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    })
    this.#maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES
    this.#takeMs = options.takeMs ?? DEFAULT_TAKE_MS
    this.#ownsDispatcher = options.dispatcher === undefined
    this.#way = wayOf(this.#url.origin, options)
    this.#inbox = createInbox({
      listener,
      incoming: this.#incoming,
      reply: async (message) => void (await this.#sendInTime(message)),
      onStray: options.onStray,
      isModern: () => false,
    })
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  uses(): readonly DeprecatedFeature[] {
    return HTTP_SSE
  }

  nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  agree(_agreement: Agreement): void {
    // Nothing on this wire depends on the revision.
  }

  async open(signal: CancelSignal): Promise<void> {
    const over = this.#over
    if (over !== undefined) throw new LinkFailure(over.reason, false, over.message)
    this.#opening ??= this.#connect()
    const abort = (): void => {
      if (this.#target !== undefined) return
      this.#finish(new LinkFailure('aborted', false, 'canceled while connecting'))
    }
    signal.addEventListener('abort', abort, ONCE)
    try {
      if (signal.aborted) abort()
      await this.#opening
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async request(request: LinkRequest): Promise<RpcResult | RpcError> {
    if (request.method === 'server/discover') {
      throw new LinkFailure('refused', false, 'the transport of 2024-11-05 is older than it')
    }
    await this.open(request.signal)
    if (request.signal.aborted) throw new LinkFailure('aborted', false, 'canceled before sending')
    let sent = false
    const open = this.#inbox.open(request)
    const abort = (): void => this.#abort(open, sent)
    request.signal.addEventListener('abort', abort, ONCE)
    // Servers are known that end the POST of a request only when its answer is on the stream: the
    // caller's patience is its only limit.
    const sending = this.#send(
      messageOf(request),
      () => {
        if (!sent) request.onSend?.()
        sent = true
      },
      request.caller?.principal,
    )
    try {
      const refused = sending.answer.then((answer) => this.#readPosted(answer, open))
      return await Promise.race([open.answered, refused.then(() => open.answered)])
    } finally {
      request.signal.removeEventListener('abort', abort)
      open.fail(new LinkFailure('aborted', sent, 'nobody waits for it'))
      // What still waits for a connection must not leave any more.
      if (sending.sent()) sending.release()
      else sending.abort(new LinkFailure('aborted', false, 'canceled before sending'))
    }
  }

  async notify(method: string, params?: Uint8Array): Promise<void> {
    const { status } = await this.#sendInTime(encodeNotification(method, params))
    if (status >= 300) throw statusFailure(status)
  }

  complaints(): string {
    return ''
  }

  counts(): ReturnType<Link['counts']> {
    return this.#inbox.counts()
  }

  async close(): Promise<void> {
    this.#finish(new LinkFailure('broken', true, 'the connection was closed'))
    if (this.#ownsDispatcher) await this.#way.dispatcher.destroy()
  }

  /** Resolves once the endpoint is known; the stream goes on. */
  #connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      const stream = postOn(this.#way, {
        path: this.#url.pathname + this.#url.search,
        method: 'GET',
        headers: flatHeaders({ ...this.#configured, accept: 'text/event-stream' }),
        body: new Uint8Array(0),
        maxBytes: this.#maxBytes,
        share: createReadShare(() => performance.now()),
        onHead: (status, streamed) => {
          if (!streamed) stream.abort(notSuch(status))
        },
        onEvent: (data, name) => {
          if (name === 'message') return this.#inbox.takeStray(data)
          if (name !== 'endpoint' || this.#target !== undefined) return undefined
          this.#target = this.#targetOf(new TextDecoder().decode(data))
          if (this.#target === undefined) stream.abort(elsewhere())
          else resolve()
        },
      })
      this.#stream = stream
      const late = new LinkFailure('unreadable', false, 'no endpoint came on the event stream')
      const timer = setTimeout(() => {
        if (this.#target === undefined) stream.abort(late)
      }, ENDPOINT_TIMEOUT_MS)
      void stream.answer
        .then(
          () => new LinkFailure('broken', true, 'the event stream of the session ended'),
          (failure: LinkFailure) => failure,
        )
        .then((failure) => {
          clearTimeout(timer)
          reject(new LinkFailure(failure.reason, false, failure.message, statusOf(failure)))
          this.#finish(failure)
        })
    })
  }

  /** Within the origin only: credentials go there. @returns undefined for what is none. */
  #targetOf(said: string): string | undefined {
    if (!URL.canParse(said, this.#url)) return undefined
    const target = new URL(said, this.#url)
    const path = target.pathname + target.search
    return target.origin === this.#url.origin && path.length <= MAX_TARGET ? path : undefined
  }

  #send(body: Uint8Array, onSend?: () => void, principal?: string): Post {
    return postOn(this.#way, {
      principal,
      path: this.#target ?? this.#url.pathname,
      headers: this.#messageHeaders,
      body,
      maxBytes: this.#maxBytes,
      ...(onSend === undefined ? {} : { onSend }),
    })
  }

  /** Of a message that has no answer. */
  async #sendInTime(message: Uint8Array): Promise<PostAnswer> {
    const sending = this.#send(message)
    const timer = setTimeout(() => {
      sending.abort(new LinkFailure('broken', sending.sent(), 'the message was not taken'))
    }, this.#takeMs)
    try {
      return await sending.answer
    } finally {
      clearTimeout(timer)
    }
  }

  /** 202 says that it was taken. The answer comes on the stream; some servers also give it here. */
  #readPosted(answer: PostAnswer, open: OpenRequest): void {
    const { status, body } = answer
    if (status >= 300) {
      // The session is one that this server does not know: it was restarted, or is another one.
      if (!saysSessionLost(answer, [])) throw statusFailure(status)
      open.fail(sessionLostBy(status))
      this.#finish(sessionLost())
      return
    }
    if (body[0] !== 0x7b && body[0] !== 0x5b) return
    for (const bytes of splitBatch(body)) void open.take(parseMessage(bytes))
  }

  #abort(open: OpenRequest, sent: boolean): void {
    if (open.isSettled()) return
    const { id, method } = open.request
    if (sent && method !== 'initialize') {
      this.notify('notifications/cancelled', encodeJson({ requestId: id })).catch(() => {})
    }
    const when = sent ? 'after sending' : 'before sending'
    open.fail(new LinkFailure('aborted', sent, `canceled ${when}`))
  }

  #finish(failure: LinkFailure): void {
    if (this.#over !== undefined) return
    this.#over = failure
    this.#stream?.abort(failure)
    this.#incoming.end()
    this.#inbox.failAll(new LinkFailure('broken', true, failure.message))
    this.#end(failure)
  }
}

function notSuch(status: number): LinkFailure {
  if (status >= 400) return statusFailure(status)
  const what = `the server answered a GET with ${status} and no event stream`
  return new LinkFailure('unreadable', false, what, { status })
}

function elsewhere(): LinkFailure {
  const what = 'the server wants its messages at another origin than its stream: set `url:` to that'
  return new LinkFailure('unreadable', false, what)
}

function statusOf({ status, login }: LinkFailure) {
  return status === undefined ? {} : { status, login }
}
