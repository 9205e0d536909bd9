/**
 * Raw requests over HTTP: each its own POST with whatever headers it is to have, read up to a bound of time and bytes.
 *
 * Goes where the ordinary connection goes and bears what that one would. A redirect within the origin that keeps the method is
 * followed from then on, any other is told.
 *
 * @source MCP 2026-07-28 and 2025-11-25, transports, Streamable HTTP.
 */
import { openOn, type Way } from '../upstream/bearing.ts'
import { configuredHeaders, flatHeaders, type HttpEndpoint } from '../upstream/http-headers.ts'
import type { PostAnswer } from '../upstream/http-exchange.ts'
import { LinkFailure } from '../upstream/link.ts'
import { createReadShare } from '../upstream/read-share.ts'
import { objectOf } from '../upstream/facts.ts'
import { createId, encodeNotification, encodeRequest, parseMessage } from '../wire/json-rpc.ts'
import { encodeHeaderValue } from '../wire/headers.ts'
import { MODERN_META, NAME_PARAM } from '../wire/rev-2026-07-28.ts'
import { encodeJson } from '../wire/spans.ts'
import type { Budget } from './budget.ts'
import { replyOf, toldOf, type RawRequest, type RawWire, type Reply, type Told } from './raw.ts'
import { createServerAsks, type ServerAsks } from './server-asks.ts'

/** A wire over HTTP can also be visited by other methods than POST. */
export interface RawHttp extends RawWire {
  readonly transport: 'http'
  /** The status alone, whatever follows. @returns undefined when none came. */
  visit(method: 'GET' | 'DELETE', headers: RawRequest['headers']): Promise<number | undefined>
  readonly asks: ServerAsks
  /** Where the server is, after redirects. */
  url(): string
  /** Of the first 401; undefined when there was none. */
  challenges(): readonly string[] | undefined
}

export interface RawHttpOptions {
  readonly endpoint: HttpEndpoint
  readonly way: Way
  readonly budget: Budget
  /** Of one answer, bytes. */
  readonly maxBytes: number
}

/** Notifications of one answer that are kept. */
const MOST_TOLD = 20
const POST_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

/** Makes the wire; nothing is sent yet. */
export function createRawHttp(options: RawHttpOptions): RawHttp {
  return new HttpWire(options)
}

class HttpWire implements RawHttp {
  readonly transport = 'http'
  readonly asks = createServerAsks()
  readonly #options: RawHttpOptions
  readonly #configured: Readonly<Record<string, string>>
  readonly #share = createReadShare(() => performance.now())
  #path: string
  #lastId = 0
  #challenges: readonly string[] | undefined
  #gone: ((method: string, why: string) => void) | undefined

  constructor(options: RawHttpOptions) {
    const { pathname, search } = new URL(options.endpoint.url)
    this.#options = options
    this.#configured = configuredHeaders(options.endpoint)
    this.#path = pathname + search
  }

  challenges(): readonly string[] | undefined {
    return this.#challenges
  }

  url(): string {
    return this.#options.way.origin + this.#path
  }

  whenGone(listener: (method: string, why: string) => void): void {
    this.#gone = listener
  }

  async ask(request: RawRequest): Promise<Reply> {
    const reply = await this.#post(request)
    if (reply.status === 401) {
      this.#challenges ??= [reply.headers['www-authenticate'] ?? []].flat()
    }
    if (reply.kind === 'nothing' && reply.unreachable === true) {
      this.#gone?.(request.method, reply.why)
      this.#gone = undefined
    }
    const moved = this.#movedTo(reply)
    if (moved === undefined) return reply
    this.#path = moved
    return this.#post(request)
  }

  async tell(
    method: string,
    params?: Readonly<Record<string, unknown>>,
    headers: RawRequest['headers'] = {},
  ): Promise<number | undefined> {
    const body = encodeNotification(method, params && encodeJson(params))
    return this.#head('POST', { ...POST_HEADERS, ...headers }, body)
  }

  visit(method: 'GET' | 'DELETE', headers: RawRequest['headers']): Promise<number | undefined> {
    return this.#head(method, headers ?? {}, new Uint8Array(0))
  }

  #head(
    method: 'POST' | 'GET' | 'DELETE',
    headers: Readonly<Record<string, string | undefined>>,
    body: Uint8Array,
  ): Promise<number | undefined> {
    const { way, budget, maxBytes } = this.#options
    return new Promise((resolve) => {
      const sent = { path: this.#path, method, headers: this.#flat(headers), body }
      const exchange = openOn(
        way,
        sent,
        { maxBytes, headOnly: true },
        {
          onAnswer: ({ status }) => end(status),
          onFailure: ({ status }) => end(status),
        },
      )
      const end = this.#deadline(budget.request(), (status?: number) => {
        exchange.abort(new LinkFailure('aborted', true, 'enough was seen'))
        resolve(status)
      })
    })
  }

  /** Ends by itself in time. @returns ends it, once. */
  #deadline<T>(ms: number, done: (value?: T) => void): (value?: T) => void {
    const { signal } = this.#options.budget
    let ended = false
    const end = (value?: T): void => {
      if (ended) return
      ended = true
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      done(value)
    }
    const abort = (): void => end()
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) queueMicrotask(abort)
    return end
  }

  #post(request: RawRequest): Promise<Reply> {
    const { way, budget, maxBytes } = this.#options
    const id = (this.#lastId += 1)
    const told: Told[] = []
    let read = 0
    const none = (why: string, more: object = {}): Reply => ({
      kind: 'nothing',
      why,
      headers: exchange.headers(),
      told,
      ...more,
    })
    const { method, params = {}, until } = request
    const sent = {
      path: this.#path,
      headers: this.#flat({ ...POST_HEADERS, ...mirrored(request), ...request.headers }),
      body: encodeRequest(createId(id), method, encodeJson(params)),
    }
    let finish: (reply?: Reply) => void = () => {}
    let status: number | undefined
    const exchange = openOn(
      way,
      sent,
      { maxBytes, share: this.#share },
      {
        onHead: (code) => void (status = code),
        onEvent: (data) => {
          read += data.length
          if (read > maxBytes) return finish(none(`more than ${maxBytes} bytes of events`))
          const reply = this.#readEvent(data, id, { status, headers: exchange.headers(), told })
          if (reply !== undefined) return finish(reply)
          const last = told.at(-1)
          if (until !== undefined && last?.method === until) {
            finish({ kind: 'told', headers: exchange.headers(), told, ...withStatus(status) })
          }
          return undefined
        },
        onAnswer: (answer) => finish(readAnswer(answer, id, told)),
        onFailure: (failure) => finish(none(failure.message, failed(failure))),
      },
    )
    return new Promise((resolve) => {
      const ms = budget.request(request.ms)
      finish = this.#deadline<Reply>(ms, (reply) => {
        exchange.abort(new LinkFailure('aborted', true, 'enough was seen'))
        const late = `no answer within ${Math.round(ms)} ms`
        resolve(reply ?? none(late, { silent: true, ...withStatus(status) }))
      })
    })
  }

  /** @returns the reply, when it is the one that is waited for. */
  #readEvent(
    data: Uint8Array,
    id: number,
    came: { readonly status: number | undefined } & Pick<Reply, 'headers'> & { told: Told[] },
  ): Reply | undefined {
    const message = parseMessage(data)
    const { status, headers, told } = came
    switch (message.kind) {
      case 'result':
      case 'error':
        return replyOf(message, id, { headers, told, ...withStatus(status) })
      case 'notification':
        if (told.length < MOST_TOLD) told.push(toldOf(message))
        return undefined
      case 'request': {
        const answer = this.asks.answer(message)
        if (answer !== undefined) void this.#head('POST', POST_HEADERS, answer)
        return undefined
      }
      case 'fault':
        return { kind: 'nothing', why: message.message, broken: true, headers, told }
    }
  }

  #flat(headers: Readonly<Record<string, string | undefined>>): readonly string[] {
    const all = { ...this.#configured, ...headers }
    return flatHeaders(
      Object.fromEntries(
        Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
      ),
    )
  }

  /** @returns the path to go on at, when the server says that it is elsewhere within the origin. */
  #movedTo({ status, headers }: Reply): string | undefined {
    const { location } = headers
    if ((status !== 307 && status !== 308) || typeof location !== 'string') return undefined
    if (!URL.canParse(location, this.url())) return undefined
    const { origin, pathname, search } = new URL(location, this.url())
    const path = pathname + search
    return origin === this.#options.way.origin && path !== this.#path ? path : undefined
  }
}

/** The headers that repeat the body of a modern request. */
function mirrored({ method, params = {} }: RawRequest): Record<string, string> {
  const version = objectOf(params['_meta'])[MODERN_META.protocolVersion]
  if (typeof version !== 'string') return {}
  const name = params[NAME_PARAM[method] ?? '']
  return {
    'mcp-protocol-version': version,
    'mcp-method': encodeHeaderValue(method),
    ...(typeof name === 'string' ? { 'mcp-name': encodeHeaderValue(name) } : {}),
  }
}

function readAnswer(
  { status, headers, body, streamed }: PostAnswer,
  id: number,
  told: Told[],
): Reply {
  const came = { status, headers, told }
  if (streamed) {
    return {
      ...came,
      kind: 'nothing',
      why: `HTTP ${status}, a stream that ended without an answer`,
    }
  }
  if (body.length === 0) return { ...came, kind: 'nothing', why: `HTTP ${status} without a body` }
  const message = parseMessage(body)
  if (message.kind === 'result' || message.kind === 'error') return replyOf(message, id, came)
  const isJson = /^\s*application\/json\b/i.test(String(headers['content-type'] ?? ''))
  const what = message.kind === 'fault' ? message.message : `a ${message.kind}`
  return {
    ...came,
    kind: 'nothing',
    why: `HTTP ${status}, ${what}`,
    ...(isJson && status < 300 ? { broken: true } : {}),
  }
}

function failed({ reason, status }: LinkFailure): object {
  return {
    ...withStatus(status),
    ...(reason === 'unreachable' ? { unreachable: true } : {}),
    ...(reason === 'unreadable' ? { broken: true } : {}),
  }
}

function withStatus(status: number | undefined): { readonly status?: number } {
  return status === undefined ? {} : { status }
}
