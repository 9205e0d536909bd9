/**
 * One POST and what comes back: a JSON body, or a stream of server-sent events read as it arrives.
 *
 * Says whether bytes may have left (the connection was there and writing began) and never throws
 * within the HTTP client. What a status means is the link's to decide.
 */
import { createParser, type EventSourceParser } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import { LinkFailure } from './link.ts'

export interface PostOptions {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly method?: 'POST' | 'DELETE'
  readonly maxBytes: number
  /** True answers with the status alone, whatever body may follow or stay open. */
  readonly headOnly?: boolean
  readonly onSend?: () => void
  /** One SSE message's data. A returned promise pauses the stream. @returns false to stop reading. */
  readonly onEvent?: (data: Uint8Array) => void | Promise<void>
}

/** How a POST ended. `body` is empty for a stream. */
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

/** Sends the POST. */
export function post(dispatcher: Dispatcher, options: PostOptions): Post {
  const exchange = new HttpExchange(options)
  const { path, headers, body, method = 'POST' } = options
  try {
    dispatcher.dispatch(
      { path, method, headers, body, headersTimeout: 0, bodyTimeout: 0 },
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
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  readonly #chunks: Uint8Array[] = []
  #resolve: (answer: PostAnswer) => void = () => {}
  #reject: (failure: LinkFailure) => void = () => {}
  #controller: Dispatcher.DispatchController | undefined
  #parser: EventSourceParser | undefined
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
    if (this.#options.headOnly === true) {
      this.#resolve({ status, headers, streamed: false, body: new Uint8Array(0) })
      this.release()
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done !== undefined) return
    if (this.#parser === undefined) return this.#collect(chunk)
    this.#feed(this.#parser, chunk, true)
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
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      streamed: this.#parser !== undefined,
      body: Buffer.concat(this.#chunks),
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
      text = this.#decoder.decode(chunk, { stream })
    } catch {
      return this.abort(new LinkFailure('unreadable', true, 'the event stream is not valid UTF-8'))
    }
    parser.feed(text)
  }

  #createParser(onEvent: NonNullable<PostOptions['onEvent']>): EventSourceParser {
    return createParser({
      maxBufferSize: this.#options.maxBytes,
      onEvent: ({ event, data }) => {
        // An empty event only primes the stream (2025-11-25); other event names are not ours.
        if (this.#done !== undefined || data === '') return
        if (event !== undefined && event !== 'message') return
        // The parser bounds only what it keeps between chunks.
        if (data.length > this.#options.maxBytes) return this.#tooLarge(this.#options.maxBytes)
        const wait = onEvent(new TextEncoder().encode(data))
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
