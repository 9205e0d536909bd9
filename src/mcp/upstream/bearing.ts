/**
 * Exchanges that bear credentials: what a message goes out with, and what is done when the server refuses them. The link hears
 * only of the answer in the end, or that a person has to log in.
 *
 * @source MCP 2026-07-28 and 2025-11-25, authorization; RFC 9110, 11.6.1.
 */
import type { Dispatcher } from 'undici'
import type { AfterRefusal, Bearing, Credentials } from './credentials.ts'
import {
  openExchange,
  type ExchangeOwner,
  type Post,
  type PostAnswer,
  type PostOptions,
  type Reading,
  type Sent,
  type StreamMark,
} from './http-exchange.ts'
import { LinkFailure } from './link.ts'

/** How messages of one link travel. */
export interface Way {
  readonly dispatcher: Dispatcher
  readonly origin: string
  /** Left out: messages go as they are. */
  readonly credentials?: Credentials | undefined
  /** For whom what belongs to no call is sent. */
  readonly principal: string
}

/** One message and for whom it is sent; left out: the way's own. */
export type Borne = Sent & { readonly principal?: string | undefined }

/** A new nonce, a renewed token, and more scopes: what a message may be sent again for, and then once more. */
const MOST_REFUSALS = 3
const SCOPE = /\binsufficient_scope\b/i
const NOTHING = {}

/** Sends it on this way. */
export function postOn(way: Way, options: PostOptions & Borne): Post {
  return openOn(way, options, options, options)
}

/** As `postOn`, for an owner of its own. */
export function openOn(way: Way, sent: Borne, reading: Reading, owner: ExchangeOwner): Post {
  const { credentials, dispatcher } = way
  if (credentials === undefined) return openExchange(dispatcher, sent, reading, owner)
  const message = { sent, reading, owner }
  const { onEvent } = owner
  const exchange =
    onEvent === undefined
      ? new BearingExchange(way, credentials, message)
      : new ListeningExchange(way, credentials, message, onEvent)
  exchange.send()
  return exchange
}

interface Message {
  readonly sent: Borne
  readonly reading: Reading
  readonly owner: ExchangeOwner
}

class BearingExchange implements Post, ExchangeOwner {
  readonly #way: Way
  readonly #credentials: Credentials
  protected readonly message: Message
  readonly #bearing: Bearing
  /** Made when something is to be waited for. */
  #gone: AbortController | undefined
  #exchange: Post | undefined
  #bore: Readonly<Record<string, string>> = NOTHING
  #refusals = 0
  #isRefused = false
  #isReleased = false
  #ended: PostAnswer | LinkFailure | undefined
  #answer: PromiseWithResolvers<PostAnswer> | undefined

  constructor(way: Way, credentials: Credentials, message: Message) {
    const { sent } = message
    this.#way = way
    this.#credentials = credentials
    this.message = message
    this.#bearing = {
      principal: sent.principal ?? way.principal,
      method: sent.method ?? 'POST',
      url: way.origin + sent.path,
    }
  }

  get answer(): Promise<PostAnswer> {
    if (this.#answer === undefined) {
      this.#answer = Promise.withResolvers()
      // Whoever aborts may no longer be waiting.
      this.#answer.promise.catch(() => {})
      if (this.#ended instanceof LinkFailure) this.#answer.reject(this.#ended)
      else if (this.#ended !== undefined) this.#answer.resolve(this.#ended)
    }
    return this.#answer.promise
  }

  send(): void {
    const bears = this.#credentials.headersFor(this.#bearing)
    if (!(bears instanceof Promise)) return this.#sendWith(bears)
    void bears.then(
      (headers) => this.#sendWith(headers),
      // Whatever keeps them: the server then says what it wants.
      () => this.#sendWith(NOTHING),
    )
  }

  sent(): boolean {
    return this.#exchange?.sent() ?? false
  }

  headers(): PostAnswer['headers'] {
    return this.#exchange?.headers() ?? NOTHING
  }

  abort(failure: LinkFailure): void {
    if (this.#ended !== undefined) return
    this.#gone?.abort()
    if (this.#exchange !== undefined && !this.#isRefused) this.#exchange.abort(failure)
    else this.onFailure(failure)
  }

  release(): void {
    this.#isReleased = true
    this.#exchange?.release()
  }

  onSend(): void {
    this.message.owner.onSend?.()
  }

  onHead(status: number, streamed: boolean): void {
    this.#isRefused = this.#refuses(status)
    if (!this.#isRefused) this.message.owner.onHead?.(status, streamed)
  }

  onMark(mark: StreamMark): void {
    this.message.owner.onMark?.(mark)
  }

  onAnswer(answer: PostAnswer): void {
    if (this.#ended !== undefined) return
    if (this.#isRefused) void this.#consult(answer)
    else this.#end(answer)
  }

  onFailure(failure: LinkFailure): void {
    if (this.#ended !== undefined) return
    this.#ended = failure
    this.#answer?.reject(failure)
    this.message.owner.onFailure?.(failure)
  }

  #sendWith(bears: Readonly<Record<string, string>>): void {
    if (this.#ended !== undefined) return
    this.#bore = bears
    this.#isRefused = false
    const { sent, reading } = this.message
    const names = Object.keys(bears)
    const message =
      names.length === 0
        ? sent
        : { ...sent, headers: [...sent.headers, ...Object.entries(bears).flat()] }
    this.#exchange = openExchange(this.#way.dispatcher, message, reading, this)
    if (this.#isReleased) this.#exchange.release()
  }

  #refuses(status: number): boolean {
    if (this.#refusals >= MOST_REFUSALS) return false
    // Most that is forbidden stays so, whoever logs in.
    return status === 401 || (status === 403 && SCOPE.test(challengesIn(this.headers()).join()))
  }

  async #consult(answer: PostAnswer): Promise<void> {
    this.#refusals += 1
    const after = await this.#ask(answer)
    if (this.#ended !== undefined) return
    if (after?.kind === 'again') return this.send()
    if (after?.kind === 'login') return this.onFailure(loginNeeded(answer, after))
    this.message.owner.onHead?.(answer.status, false)
    this.#end(answer)
  }

  /** @returns nothing when it failed by a fault of ours: then the server's own words stand. */
  async #ask({ status, headers }: PostAnswer): Promise<AfterRefusal | undefined> {
    const nonce = headers['dpop-nonce']
    const refusal = {
      ...this.#bearing,
      status: status === 401 ? (401 as const) : (403 as const),
      challenges: challengesIn(headers),
      ...(typeof nonce === 'string' ? { nonce } : {}),
      sent: this.#bore,
    }
    this.#gone = new AbortController()
    return this.#credentials.afterRefusal(refusal, this.#gone.signal).catch(() => undefined)
  }

  #end(answer: PostAnswer): void {
    this.#ended = answer
    this.#answer?.resolve(answer)
    this.message.owner.onAnswer?.(answer)
  }
}

/** Whether a stream is read as one is told by who listens: this one does. */
class ListeningExchange extends BearingExchange {
  readonly #onEvent: NonNullable<ExchangeOwner['onEvent']>

  constructor(
    way: Way,
    credentials: Credentials,
    message: Message,
    onEvent: NonNullable<ExchangeOwner['onEvent']>,
  ) {
    super(way, credentials, message)
    this.#onEvent = onEvent
  }

  onEvent(data: Uint8Array, name: string): void | Promise<void> {
    return this.#onEvent.call(this.message.owner, data, name)
  }
}

function challengesIn(headers: PostAnswer['headers']): readonly string[] {
  return [headers['www-authenticate'] ?? []].flat()
}

function loginNeeded(
  { status }: PostAnswer,
  { begin: login, detail }: Extract<AfterRefusal, { kind: 'login' }>,
): LinkFailure {
  return new LinkFailure('unauthorized', true, detail, { status, login })
}
