/**
 * One HTTP exchange and what comes back: a body, or a stream of server-sent events read as it arrives.
 *
 * Says whether bytes may have left (the connection was there and writing began) and never throws
 * within the HTTP client. What a status means is the link's to decide.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createParser, type EventSourceParser } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import { Pieces } from '../../core/pieces.ts'
import { LinkFailure } from './link.ts'
import type { ReadShare } from './read-share.ts'

/** Names in lower case and values, in turn: as they go out, with nothing made of them on the way. */
export type FlatHeaders = readonly string[]

/** What is sent. */
export interface Sent {
  readonly path: string
  readonly headers: FlatHeaders
  readonly body: Uint8Array
  /** Default POST. A GET has no body: leave it empty. */
  readonly method?: 'POST' | 'GET' | 'DELETE'
}

/** Whose exchange it is. */
export interface ExchangeOwner {
  onSend?(): void
  /** The status came; `streamed` when events follow. */
  onHead?(status: number, streamed: boolean): void
  /** One event with data; `message` when it was not named. A returned promise pauses the stream. Left out: a stream is a body. */
  onEvent?(data: Uint8Array, name: string): void | Promise<void>
  /** How to go on after a break: the id of the last event, or the pause that the server asks for, milliseconds. */
  onMark?(mark: StreamMark): void
  /** It ended. */
  onAnswer?(answer: PostAnswer): void
  /** It ended without an answer, by itself or by `abort`. */
  onFailure?(failure: LinkFailure): void
}

/** How an answer is read. */
export interface Reading {
  readonly maxBytes: number
  /** True answers with the status alone, whatever body may follow or stay open. */
  readonly headOnly?: boolean
  /** Shared by the streams of one server. */
  readonly share?: ReadShare
}

export type PostOptions = Sent & Reading & ExchangeOwner

/** One of the two. */
export interface StreamMark {
  readonly lastEventId?: string
  readonly retryMs?: number
}

/** How an exchange ended. `body` is empty for a stream. */
export interface PostAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly streamed: boolean
  readonly body: Uint8Array
}

export interface Post {
  readonly answer: Promise<PostAnswer>
  readonly sent: () => boolean
  /** The response's headers, once they came. */
  readonly headers: () => PostAnswer['headers']
  /** Closes the connection; the answer rejects with this failure unless it is there already. */
  abort(failure: LinkFailure): void
  /** Takes no more and lets a stream end by itself, or closes it shortly after. */
  release(): void
}

/** How long a server may keep a stream open after it answered, milliseconds. */
const LINGER_MS = 1000
/** How much of an error page is read. */
const MAX_ERROR_BYTES = 1024 * 1024

const LINE_FEED = 0x0a
const NO_BYTES = new Uint8Array(0)
const NO_HEADERS = {}

/** Longest event id that is given back, characters. */
const MAX_EVENT_ID = 4096

/** Sends the request. */
export function post(dispatcher: Dispatcher, options: PostOptions): Post {
  return openExchange(dispatcher, options, options, options)
}

/** As `post`, for an owner of its own. */
export function openExchange(
  dispatcher: Dispatcher,
  sent: Sent,
  reading: Reading,
  owner: ExchangeOwner,
): Post {
  const exchange = new HttpExchange(reading, owner)
  const { path, method = 'POST', body } = sent
  // Nobody changes them.
  const headers = sent.headers as string[]
  try {
    dispatcher.dispatch(
      // Deadlines are the caller's.
      {
        path,
        method,
        headers,
        body: method === 'GET' ? null : body,
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      exchange,
    )
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    exchange.abort(new LinkFailure('unreachable', false, `cannot send: ${reason}`, { cause }))
  }
  return exchange
}

class HttpExchange implements Dispatcher.DispatchHandler, Post {
  readonly #reading: Reading
  readonly #owner: ExchangeOwner
  #chunks: Pieces | undefined
  #first: Uint8Array | undefined
  #controller: Dispatcher.DispatchController | undefined
  #parser: EventSourceParser | undefined
  /** Made when events come: most answers are one body. */
  #decoder: TextDecoder | undefined
  #status = 0
  #headers: PostAnswer['headers'] = NO_HEADERS
  #size = 0
  #sent = false
  #done: LinkFailure | true | undefined
  #waits: Promise<void>[] | undefined
  /** Made for whoever asks for it. */
  #answer: PromiseWithResolvers<PostAnswer> | undefined
  #ended: PostAnswer | LinkFailure | undefined

  constructor(reading: Reading, owner: ExchangeOwner) {
    this.#reading = reading
    this.#owner = owner
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

  sent(): boolean {
    return this.#sent
  }

  headers(): PostAnswer['headers'] {
    return this.#headers
  }

  abort(failure: LinkFailure): void {
    if (this.#done !== undefined) return
    this.#done = failure
    this.#controller?.abort(failure)
    this.#fail(failure)
  }

  release(): void {
    if (this.#done !== undefined) return
    this.#done = true
    const timer = setTimeout(() => this.#controller?.abort(new Error('answered')), LINGER_MS)
    timer.unref()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#done instanceof LinkFailure) {
      controller.abort(this.#done)
      return
    }
    if (!this.#sent) this.#owner.onSend?.()
    this.#sent = true
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: PostAnswer['headers'],
  ): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
    if (status < 300 && isStream(headers) && this.#owner.onEvent !== undefined) {
      this.#parser = this.#createParser()
    }
    if (this.#done === undefined) this.#owner.onHead?.(status, this.#parser !== undefined)
    if (this.#reading.headOnly === true) {
      this.#answerWith({ status, headers, streamed: false, body: NO_BYTES })
      this.release()
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done !== undefined) return
    if (this.#parser === undefined) return this.#collect(chunk)
    const since = performance.now()
    this.#feed(this.#parser, chunk, true)
    const { maxBytes, share } = this.#reading
    this.#size += chunk.length
    // A piece of a long line costs next to nothing, and is what a large answer comes in.
    const inLine = this.#size <= maxBytes && !chunk.includes(LINE_FEED)
    const ms = inLine ? 0 : share?.spend(this.#size, performance.now() - since)
    if (ms !== undefined && ms > 0) this.#wait(delay(ms, undefined, { ref: false }))
    if (this.#waits === undefined) return
    const waits = this.#waits
    this.#waits = undefined
    controller.pause()
    void Promise.allSettled(waits).then(() => controller.resume())
  }

  onResponseEnd(): void {
    if (this.#parser !== undefined && this.#done === undefined) {
      this.#feed(this.#parser, NO_BYTES, false)
    }
    if (this.#done !== undefined) return
    this.#done = true
    this.#answerWith({
      status: this.#status,
      headers: this.#headers,
      streamed: this.#parser !== undefined,
      body:
        this.#chunks === undefined ? (this.#first ?? NO_BYTES) : Buffer.concat(this.#chunks.take()),
    })
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    if (this.#done !== undefined) return
    const code = 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : ''
    const failure = this.#sent
      ? new LinkFailure('broken', true, `the connection broke before an answer came${code}`, {
          cause,
        })
      : new LinkFailure('unreachable', false, `cannot connect: ${connectReason(cause)}`, { cause })
    this.#done = failure
    this.#fail(failure)
  }

  #answerWith(answer: PostAnswer): void {
    this.#ended = answer
    this.#answer?.resolve(answer)
    this.#owner.onAnswer?.(answer)
  }

  #fail(failure: LinkFailure): void {
    this.#ended = failure
    this.#answer?.reject(failure)
    this.#owner.onFailure?.(failure)
  }

  #wait(until: Promise<void>): void {
    this.#waits ??= []
    this.#waits.push(until)
  }

  #collect(chunk: Buffer): void {
    this.#size += chunk.length
    const limit = this.#status < 300 ? this.#reading.maxBytes : MAX_ERROR_BYTES
    if (this.#size > limit) return this.#tooLarge(limit)
    if (this.#first === undefined) {
      this.#first = chunk
      return
    }
    if (this.#chunks === undefined) {
      this.#chunks = new Pieces()
      this.#chunks.add(this.#first)
    }
    this.#chunks.add(chunk)
  }

  #tooLarge(limit: number): void {
    this.abort(new LinkFailure('unreadable', true, `the answer is larger than ${limit} bytes`))
  }

  #feed(parser: EventSourceParser, chunk: Uint8Array, stream: boolean): void {
    let text: string
    try {
      this.#decoder ??= new TextDecoder('utf-8', { fatal: true })
      text = this.#decoder.decode(chunk, { stream })
    } catch {
      return this.abort(new LinkFailure('unreadable', true, 'the event stream is not valid UTF-8'))
    }
    parser.feed(text)
  }

  /** It goes out again in a header: what does not fit into one cannot be resumed from. */
  #mark(id: string): void {
    if (id.length > MAX_EVENT_ID || !/^[\x20-\x7e]*$/.test(id)) return
    this.#owner.onMark?.({ lastEventId: id })
  }

  #createParser(): EventSourceParser {
    const { maxBytes } = this.#reading
    return createParser({
      maxBufferSize: maxBytes,
      onRetry: (retryMs) => this.#owner.onMark?.({ retryMs }),
      onId: (id) => this.#mark(id),
      onEvent: ({ event, data }) => {
        // An empty event only primes the stream (2025-11-25).
        if (this.#done !== undefined || data === '') return
        // The parser bounds only what it keeps between chunks.
        if (data.length > maxBytes) return this.#tooLarge(maxBytes)
        const wait = this.#owner.onEvent?.(Buffer.from(data, 'utf8'), event ?? 'message')
        if (wait !== undefined) this.#wait(wait)
      },
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') this.#tooLarge(maxBytes)
      },
    })
  }
}

function isStream(headers: PostAnswer['headers']): boolean {
  const type = headers['content-type']
  // What most answers are needs no search.
  if (type === undefined || type === 'application/json') return false
  return /^\s*text\/event-stream\b/i.test(String(type))
}

function connectReason(error: Error): string {
  const inner = error instanceof AggregateError && error.errors[0] instanceof Error
  return (inner ? (error.errors[0] as Error) : error).message
}
