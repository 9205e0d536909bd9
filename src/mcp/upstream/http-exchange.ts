/**
 * One HTTP exchange and what comes back: a body, or a stream of server-sent events read as it arrives.
 *
 * Says whether bytes may have left (the connection was there and writing began) and never throws
 * within the HTTP client. What a status means is the link's to decide.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createParser, type EventSourceParser } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import { LinkFailure } from './link.ts'
import type { ReadShare } from './read-share.ts'

export interface PostOptions {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Default POST. A GET has no body: leave it empty. */
  readonly method?: 'POST' | 'GET' | 'DELETE'
  readonly maxBytes: number
  /** True answers with the status alone, whatever body may follow or stay open. */
  readonly headOnly?: boolean
  readonly onSend?: () => void
  /** The status came; `streamed` when events follow. */
  readonly onHead?: (status: number, streamed: boolean) => void
  /** One event with data; `message` when it was not named. A returned promise pauses the stream. */
  readonly onEvent?: (data: Uint8Array, name: string) => void | Promise<void>
  /** How to go on after a break: the id of the last event, or the pause that the server asks for, milliseconds. */
  readonly onMark?: (mark: StreamMark) => void
  /** Shared by the streams of one server. */
  readonly share?: ReadShare
}

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
/** Deadlines are the caller's. */
const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 }
/** How much of an error page is read. */
const MAX_ERROR_BYTES = 1024 * 1024

const LINE_FEED = 0x0a

/** Longest event id that is given back, characters. */
const MAX_EVENT_ID = 4096

/** Sends the request. */
export function post(dispatcher: Dispatcher, options: PostOptions): Post {
  const exchange = new HttpExchange(options)
  const { path, headers, body, method = 'POST' } = options
  try {
    dispatcher.dispatch(
      { path, method, headers, body: method === 'GET' ? null : body, ...NO_TIMEOUTS },
      exchange,
    )
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    exchange.abort(new LinkFailure('unreachable', false, `cannot send: ${reason}`, { cause }))
  }
  return exchange
}

class HttpExchange implements Dispatcher.DispatchHandler, Post {
  readonly answer: Promise<PostAnswer>
  readonly #options: PostOptions
  readonly #chunks: Uint8Array[] = []
  #resolve: (answer: PostAnswer) => void = () => {}
  #reject: (failure: LinkFailure) => void = () => {}
  #controller: Dispatcher.DispatchController | undefined
  #parser: EventSourceParser | undefined
  /** Made when events come: most answers are one body. */
  #decoder: TextDecoder | undefined
  #status = 0
  #headers: PostAnswer['headers'] = {}
  #size = 0
  #sent = false
  #done: LinkFailure | true | undefined
  #waits: Promise<void>[] = []

  constructor(options: PostOptions) {
    this.#options = options
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // Whoever aborts may no longer be waiting.
    this.answer.catch(() => {})
  }

  sent = (): boolean => this.#sent

  headers = (): PostAnswer['headers'] => this.#headers

  abort(failure: LinkFailure): void {
    if (this.#done !== undefined) return
    this.#done = failure
    this.#controller?.abort(failure)
    this.#reject(failure)
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
    if (!this.#sent) this.#options.onSend?.()
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
    const type = String(headers['content-type'] ?? '')
    if (status < 300 && this.#options.onEvent && /^\s*text\/event-stream\b/i.test(type)) {
      this.#parser = this.#createParser(this.#options.onEvent)
    }
    if (this.#done === undefined) this.#options.onHead?.(status, this.#parser !== undefined)
    if (this.#options.headOnly === true) {
      this.#resolve({ status, headers, streamed: false, body: new Uint8Array(0) })
      this.release()
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done !== undefined) return
    if (this.#parser === undefined) return this.#collect(chunk)
    const since = performance.now()
    this.#feed(this.#parser, chunk, true)
    this.#size += chunk.length
    // A piece of a long line costs next to nothing, and is what a large answer comes in.
    const inLine = this.#size <= this.#options.maxBytes && !chunk.includes(LINE_FEED)
    const ms = inLine ? 0 : this.#options.share?.spend(this.#size, performance.now() - since)
    if (ms !== undefined && ms > 0) this.#waits.push(delay(ms, undefined, { ref: false }))
    if (this.#waits.length === 0) return
    const waits = this.#waits
    this.#waits = []
    controller.pause()
    void Promise.allSettled(waits).then(() => controller.resume())
  }

  onResponseEnd(): void {
    if (this.#parser !== undefined && this.#done === undefined) {
      this.#feed(this.#parser, new Uint8Array(0), false)
    }
    if (this.#done !== undefined) return
    this.#done = true
    const [only] = this.#chunks
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      streamed: this.#parser !== undefined,
      body: only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks),
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
    this.#reject(failure)
  }

  #collect(chunk: Buffer): void {
    this.#size += chunk.length
    const limit = this.#status < 300 ? this.#options.maxBytes : MAX_ERROR_BYTES
    if (this.#size <= limit) this.#chunks.push(chunk)
    else this.#tooLarge(limit)
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
    this.#options.onMark?.({ lastEventId: id })
  }

  #createParser(onEvent: NonNullable<PostOptions['onEvent']>): EventSourceParser {
    return createParser({
      maxBufferSize: this.#options.maxBytes,
      onRetry: (retryMs) => this.#options.onMark?.({ retryMs }),
      onId: (id) => this.#mark(id),
      onEvent: ({ event, data }) => {
        // An empty event only primes the stream (2025-11-25).
        if (this.#done !== undefined || data === '') return
        // The parser bounds only what it keeps between chunks.
        if (data.length > this.#options.maxBytes) return this.#tooLarge(this.#options.maxBytes)
        const wait = onEvent(new TextEncoder().encode(data), event ?? 'message')
        if (wait !== undefined) this.#waits.push(wait)
      },
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') this.#tooLarge(this.#options.maxBytes)
      },
    })
  }
}

function connectReason(error: Error): string {
  const inner = error instanceof AggregateError && error.errors[0] instanceof Error
  return (inner ? (error.errors[0] as Error) : error).message
}
