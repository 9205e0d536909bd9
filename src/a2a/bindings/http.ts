/**
 * One HTTP exchange, which knows whether anything may have left.
 *
 * `not_sent` is said only while no byte of the request was handed to a connection; from then on
 * silence is `no_answer`, and nobody may send it again on their own. Redirects are never followed:
 * a redirect is a response like any other. Retries are the caller's decision.
 */
import { Agent, type Dispatcher } from 'undici'
import { Pieces } from '../../core/pieces.ts'

/** What to send, and how long to wait for the head of the response. */
export interface HttpRequest {
  readonly url: URL
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Ends the exchange at any moment, the reading of the body included. */
  readonly signal: AbortSignal
  /** Milliseconds until the head of the response must be there. */
  readonly headTimeoutMs: number
  /** Called once, just before the first byte may leave. */
  onSending?(): void
}

/** Nothing left: it is safe to say that the request was not seen. */
export interface NotSent {
  readonly kind: 'not_sent'
  readonly because: 'deadline' | 'canceled' | 'unreachable'
  readonly detail: string
}

/** It may have been seen, and nobody answered. */
export interface NoAnswer {
  readonly kind: 'no_answer'
  readonly because: 'deadline' | 'canceled' | 'broken'
  readonly detail: string
}

/** The head of a response; the body follows while it is read. */
export interface HttpResponse {
  readonly kind: 'response'
  readonly status: number
  /** Lower-case names; repeated headers joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  /** Ends with the body; throws when the connection broke or the signal fired before its end. */
  readonly body: AsyncIterable<Uint8Array>
  /** Lets go of the connection, whatever is left of the body. */
  close(): void
}

/** The two ways of connecting: kept connections for reads, a fresh one for each act. */
export interface Connections {
  readonly reads: Dispatcher
  /**
   * A kept connection that the peer closes in the same moment would make an `unknown` of a send that
   * never arrived, so acts do not use one.
   */
  readonly acts: Dispatcher
  close(): Promise<void>
}

/** Opens both. One request at a time a connection: pipelined ones would be sent again on a break. */
export function openConnections(options: { readonly connectTimeoutMs?: number } = {}): Connections {
  const common = {
    allowH2: false,
    connect: { timeout: options.connectTimeoutMs ?? 10_000 },
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  const reads = new Agent({ ...common, pipelining: 1 })
  const acts = new Agent({ ...common, pipelining: 0 })
  return {
    reads,
    acts,
    close: async () => {
      await Promise.all([reads.destroy(), acts.destroy()])
    },
  }
}

/** Sends one request and waits for the head of its response. Never rejects. */
export function openHttp(
  dispatcher: Dispatcher,
  request: HttpRequest,
): Promise<HttpResponse | NotSent | NoAnswer> {
  if (request.signal.aborted) {
    return Promise.resolve({
      kind: 'not_sent',
      because: 'canceled',
      detail: 'canceled before it was sent',
    })
  }
  return new Promise((resolve) => {
    new Exchange(request, resolve).start(dispatcher)
  })
}

type Settle = (reply: HttpResponse | NotSent | NoAnswer) => void
const QUEUE_BYTES = 256 * 1024

/** Owns one exchange from dispatch to the end of its body. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest
  readonly #settle: Settle
  readonly #timer: NodeJS.Timeout
  readonly #onAbort: () => void
  #controller: Dispatcher.DispatchController | undefined
  #sending = false
  /** Set when we gave up; the transport may still have to be told. */
  #stopped: { readonly because: 'deadline' | 'canceled' } | undefined
  #chunks: Uint8Array[] = []
  #queued = 0
  #ended: { readonly error?: Error } | undefined
  #wake: (() => void) | undefined

  constructor(request: HttpRequest, settle: Settle) {
    this.#request = request
    this.#settle = settle
    this.#timer = setTimeout(() => this.#stop('deadline'), request.headTimeoutMs)
    this.#onAbort = () => this.#stop('canceled')
    request.signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  start(dispatcher: Dispatcher): void {
    const { url, method, headers, body } = this.#request
    try {
      dispatcher.dispatch(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method,
          headers: { ...headers },
          ...(body === undefined ? {} : { body }),
        },
        this,
      )
    } catch (error) {
      // Such as a header value with a line break: refused by the client, nothing left.
      this.#fail(error)
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#stopped !== undefined) {
      controller.abort(new Error('given up before sending'))
      return
    }
    if (this.#sending) return
    this.#sending = true
    this.#request.onSending?.()
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return
    clearTimeout(this.#timer)
    this.#settle({
      kind: 'response',
      status,
      headers: flatten(headers),
      body: this.#read(),
      close: () => this.#abandon(),
    })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#chunks.push(chunk)
    this.#queued += chunk.byteLength
    // Back-pressure: a reader that is slow must not make a flood grow in memory.
    if (this.#queued > QUEUE_BYTES) controller.pause()
    this.#wake?.()
  }

  onResponseEnd(): void {
    this.#end({})
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  #stop(because: 'deadline' | 'canceled'): void {
    if (this.#ended !== undefined || this.#stopped !== undefined) return
    this.#stopped = { because }
    this.#fail(new Error(because))
    this.#controller?.abort(new Error(because))
  }

  #abandon(): void {
    if (this.#ended !== undefined) return
    this.#end({})
    this.#controller?.abort(new Error('no longer read'))
  }

  #fail(error: unknown): void {
    const why = this.#stopped?.because
    const detail = why === undefined ? describeFailure(error) : STOPPED[why]
    // Settling a second time does nothing: after the head, the body alone carries the failure.
    this.#settle(
      this.#sending
        ? { kind: 'no_answer', because: why ?? 'broken', detail }
        : { kind: 'not_sent', because: why ?? 'unreachable', detail },
    )
    this.#end({ error: new Error(detail, { cause: error }) })
  }

  #end(ended: { readonly error?: Error }): void {
    if (this.#ended !== undefined) return
    this.#ended = ended
    clearTimeout(this.#timer)
    this.#request.signal.removeEventListener('abort', this.#onAbort)
    this.#wake?.()
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    try {
      while (true) {
        const chunk = this.#chunks.shift()
        if (chunk !== undefined) {
          this.#queued -= chunk.byteLength
          if (this.#queued <= QUEUE_BYTES && this.#ended === undefined) this.#controller?.resume()
          yield chunk
          continue
        }
        if (this.#ended?.error !== undefined) throw this.#ended.error
        if (this.#ended !== undefined) return
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      this.#abandon()
    }
  }
}

const STOPPED = {
  deadline: 'the time for an answer ran out',
  canceled: 'canceled while waiting for the answer',
} as const

/** The code of a failure, not its text: texts of nested errors may quote what was sent. */
function describeFailure(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  if (code === 'ECONNREFUSED') return 'nothing listens there (ECONNREFUSED)'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `the host name does not resolve (${code})`
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'no connection within the time for it'
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET') return `the connection broke (${code})`
  return code === undefined ? 'the request could not be made' : `the request failed (${code})`
}

function flatten(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Readonly<Record<string, string>> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined)
      flat[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}

/**
 * Reads a body whole, as UTF-8 text.
 *
 * @returns `too_large` as soon as it passes `maxBytes`; `not_utf8` when it is not text; `broken` with
 *   the reason when the connection ended before the body did.
 */
export async function readText(
  response: HttpResponse,
  maxBytes: number,
): Promise<
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'not_utf8' }
  | { readonly kind: 'broken'; readonly detail: string }
> {
  const pieces = new Pieces()
  let bytes = 0
  try {
    for await (const chunk of response.body) {
      bytes += chunk.byteLength
      if (bytes > maxBytes) return { kind: 'too_large' }
      pieces.add(chunk)
    }
  } catch (error) {
    return { kind: 'broken', detail: error instanceof Error ? error.message : 'broken' }
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces.take()))
    return { kind: 'text', text }
  } catch {
    return { kind: 'not_utf8' }
  }
}
