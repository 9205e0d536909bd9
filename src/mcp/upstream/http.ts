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
import { mirrorHeaders } from '../wire/headers.ts'
import {
  createId,
  encodeError,
  encodeNotification,
  encodeRequest,
  encodeResult,
  parseMessage,
  type RpcError,
  type RpcMessage,
  type RpcResult,
} from '../wire/json-rpc.ts'
import { SESSION_HEADER } from '../wire/rev-2025-11-25.ts'
import { MCP_HEADERS, MODERN_REVISION, RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { encodeJson } from '../wire/spans.ts'
import { post, type Post, type PostAnswer } from './http-exchange.ts'
import { sessionLost, splitBatch, statusFailure } from './http-status.ts'
import { DEFAULT_MAX_BYTES, LinkFailure, type Agreement, type Link } from './link.ts'
import type { LinkListener, LinkRequest } from './link.ts'

export interface HttpEndpoint {
  /** http or https, with path and query. */
  readonly url: string
  /** The operator's headers for this peer, for example Authorization. */
  readonly headers: Readonly<Record<string, string>>
}

export interface HttpOptions {
  /** Largest answer or event, bytes, default 64 MiB. */
  readonly maxBytes?: number
  /** Default: a pool of our own to the origin. */
  readonly dispatcher?: Dispatcher
}

const NOTIFY_TIMEOUT_MS = 10_000
const NOISE_SAMPLES = 10

/** Headers that belong to the message: configured ones must not override them. */
const OWN_HEADERS =
  /^(?:content-(?:type|length|encoding)|transfer-encoding|accept|host|connection|mcp-.*)$/i
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
  readonly #listener: LinkListener
  readonly #dispatcher: Dispatcher
  readonly #ownsDispatcher: boolean
  readonly #maxBytes: number
  readonly #noiseSample: string[] = []
  #path: string
  #session: string | undefined
  #agreement: Agreement | undefined
  #lastId = 0
  #noise = 0
  #stray = 0
  #nonConforming = 0
  #over: LinkFailure | undefined
  #end: (failure: LinkFailure) => void = () => {}

  constructor(endpoint: HttpEndpoint, listener: LinkListener, options: HttpOptions) {
    const url = new URL(endpoint.url)
    this.#origin = url.origin
    this.#path = url.pathname + url.search
    this.#configured = Object.fromEntries(
      Object.entries(endpoint.headers)
        .filter(([name]) => !OWN_HEADERS.test(name))
        .map(([name, value]) => [name.toLowerCase(), value]),
    )
    this.#listener = listener
    this.#maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES
    this.#ownsDispatcher = options.dispatcher === undefined
    this.#dispatcher = options.dispatcher ?? createPool(url.origin)
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

  async request(request: LinkRequest): Promise<RpcResult | RpcError> {
    if (this.#over !== undefined)
      throw new LinkFailure(this.#over.reason, false, this.#over.message)
    if (request.signal.aborted) throw new LinkFailure('aborted', false, 'canceled before sending')
    const body = encodeRequest(createId(request.id), request.method, request.params)
    let sent = false
    const onSend = (): void => {
      if (!sent) request.onSend?.()
      sent = true
    }
    let answer = await this.#exchange(request, body, onSend)
    if (!('kind' in answer) && request.followRedirect && this.#follow(answer)) {
      answer = await this.#exchange(request, body, onSend)
    }
    if ('kind' in answer) return answer
    throw this.#judge(answer)
  }

  async notify(method: string, params?: Uint8Array): Promise<void> {
    const answer = await this.#send(encodeNotification(method, params), this.#headers(method))
    if (answer.status >= 300) throw statusFailure(answer.status)
  }

  complaints(): string {
    return ''
  }

  counts(): ReturnType<Link['counts']> {
    return {
      noise: this.#noise,
      stray: this.#stray,
      nonConforming: this.#nonConforming,
      noiseSample: [...this.#noiseSample],
    }
  }

  async close(): Promise<void> {
    if (this.#session !== undefined && this.#over === undefined) {
      // Best effort: a server without an end to its sessions answers 405.
      await this.#send(new Uint8Array(0), this.#headers('DELETE'), 'DELETE').catch(() => {})
    }
    this.#finish(new LinkFailure('broken', false, 'the connection was closed'))
    if (this.#ownsDispatcher) await this.#dispatcher.destroy()
  }

  /** @returns the JSON-RPC answer, or the HTTP answer when there was none in it. */
  async #exchange(
    request: LinkRequest,
    body: Uint8Array,
    onSend: () => void,
  ): Promise<RpcResult | RpcError | PostAnswer> {
    let found: RpcResult | RpcError | undefined
    let broken: LinkFailure | undefined
    let answered: () => void = () => {}
    const fromStream = new Promise<void>((resolve) => {
      answered = resolve
    })
    const sending = post(this.#dispatcher, {
      path: this.#path,
      headers: this.#requestHeaders(request),
      body,
      maxBytes: this.#maxBytes,
      onSend,
      onEvent: (data) => {
        // The answer ends the stream: nothing after it belongs to this call.
        if (found !== undefined || broken !== undefined) return undefined
        const read = this.#readMessage(parseMessage(data), request)
        if (read instanceof LinkFailure) broken = read
        else if (read !== undefined && 'kind' in read) found = read
        else return read
        return answered()
      },
    })
    const abort = (): void => this.#abort(request, sending)
    request.signal.addEventListener('abort', abort, { once: true })
    try {
      const answer = await Promise.race([sending.answer, fromStream])
      this.#keepSession(request, sending.headers())
      if (broken !== undefined) throw broken
      if (found !== undefined) return found
      if (answer === undefined) throw new LinkFailure('broken', true, 'the stream ended')
      return this.#readBody(answer, request)
    } finally {
      request.signal.removeEventListener('abort', abort)
      sending.release()
    }
  }

  #abort(request: LinkRequest, sending: Post): void {
    const sent = sending.sent()
    // Modern: closing the stream is the cancel. Session revisions: a disconnect is none, so say it.
    if (sent && this.#agreement?.era === 'legacy') {
      const params = encodeJson({ requestId: request.id })
      this.notify('notifications/cancelled', params).catch(() => {})
    }
    sending.abort(new LinkFailure('aborted', sent, 'canceled after sending'))
  }

  /** A whole body: one message, or (2025-03-26) several in an array. */
  #readBody(answer: PostAnswer, request: LinkRequest): RpcResult | RpcError | PostAnswer {
    if (answer.status === 401 || answer.status === 403) return answer
    if (answer.status === 404 && this.#session !== undefined) return answer
    if (answer.streamed || answer.body.length === 0) return answer
    const messages = splitBatch(answer.body).map((bytes) => parseMessage(bytes))
    for (const message of messages) {
      // Servers in the field say so of a session they do not know; a new one heals it.
      const odd = message.kind === 'error' && answer.status === 400
      if (odd && this.#session !== undefined) this.#finish(sessionLost())
      // The only request of this POST is ours: an error without an id can only answer it.
      if (message.kind === 'error' && message.id === undefined) return message
      const read = this.#readMessage(message, request)
      if (read instanceof LinkFailure) throw read
      if (read !== undefined && 'kind' in read) return read
    }
    if (answer.status < 300) {
      const fault = messages.find((message) => message.kind === 'fault')
      const what = fault?.kind === 'fault' ? fault.message : 'a message that answers nothing'
      throw new LinkFailure('unreadable', true, `the answer is ${what}`)
    }
    return answer
  }

  /** @returns the answer to this request; a failure when it is broken; else what to wait for. */
  #readMessage(
    message: RpcMessage,
    request: LinkRequest,
  ): RpcResult | RpcError | LinkFailure | Promise<void> | undefined {
    switch (message.kind) {
      case 'result':
      case 'error':
        if (message.id === undefined) return message.kind === 'error' ? message : undefined
        if (message.id.value !== String(request.id)) {
          this.#stray += 1
          return undefined
        }
        if (message.id.type === 'string') this.#nonConforming += 1
        return message
      case 'notification': {
        if (/^notifications\/(?:progress|message)$/.test(message.method)) {
          return request.onNotification?.(message) ?? undefined
        }
        this.#listener(message)
        return undefined
      }
      case 'request':
        this.#answerRequest(message)
        return undefined
      case 'fault':
        if (message.claimed && message.id?.value === String(request.id)) {
          return new LinkFailure('unreadable', true, `the answer is broken: ${message.message}`)
        }
        this.#addNoise(message.message)
        return undefined
    }
  }

  #answerRequest(request: RpcMessage & { readonly kind: 'request' }): void {
    if (this.#agreement?.era === 'modern') {
      this.#stray += 1
      return
    }
    const message = `${request.method} is not supported: this client declared no such capability`
    const answer =
      request.method === 'ping'
        ? encodeResult(request.id, encodeJson({}))
        : encodeError(request.id, { code: RPC_ERRORS.methodNotFound, message })
    this.#send(answer, this.#headers(request.method)).catch(() => {})
  }

  async #send(
    body: Uint8Array,
    headers: Readonly<Record<string, string>>,
    method: 'POST' | 'DELETE' = 'POST',
  ): Promise<PostAnswer> {
    const sending = post(this.#dispatcher, {
      path: this.#path,
      headers,
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

  #requestHeaders(request: LinkRequest): Record<string, string> {
    const modern = (request.revision ?? this.#agreement?.revision) === MODERN_REVISION
    const base = this.#headers(request.method, request.revision)
    if (!modern) return base
    const { method, name } = request
    const body = {
      protocolVersion: MODERN_REVISION,
      method,
      ...(name === undefined ? {} : { name }),
    }
    return { ...base, ...lowerCase(mirrorHeaders(body)), ...lowerCase(request.paramHeaders ?? {}) }
  }

  #headers(method: string, revision = this.#agreement?.revision): Record<string, string> {
    const session = this.#session
    // Before a session revision is agreed on the header would claim what nobody said.
    const named = revision !== undefined && method !== 'initialize'
    return {
      ...this.#configured,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(named ? { [MCP_HEADERS.protocolVersion.toLowerCase()]: revision } : {}),
      ...(session === undefined ? {} : { [SESSION_HEADER.toLowerCase()]: session }),
    }
  }

  #keepSession(request: LinkRequest, headers: PostAnswer['headers']): void {
    const session = headers[SESSION_HEADER.toLowerCase()]
    if (request.method !== 'initialize' || typeof session !== 'string') return
    if (/^[\x21-\x7e]{1,1024}$/.test(session)) this.#session = session
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

  #judge(answer: PostAnswer): LinkFailure {
    const { status } = answer
    if (answer.streamed) {
      return new LinkFailure('broken', true, 'the event stream ended before an answer came')
    }
    const failure = statusFailure(status)
    // The session may be gone: the next call begins a new one. This call may have run all the same.
    if (this.#session !== undefined && status === 404) this.#finish(sessionLost())
    return failure
  }

  #addNoise(what: string): void {
    this.#noise += 1
    if (this.#noiseSample.length < NOISE_SAMPLES) this.#noiseSample.push(what)
  }

  #finish(failure: LinkFailure): void {
    if (this.#over !== undefined) return
    this.#over = failure
    this.#end(failure)
  }
}

function createPool(origin: string): Pool {
  return new Pool(origin, {
    connections: 256,
    pipelining: 1,
    // Deadlines are the caller's; a tool may be silent for as long as its caller waits.
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeout: 10_000,
  })
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
