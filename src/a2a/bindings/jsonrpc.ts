/**
 * The JSON-RPC binding of A2A 1.0, client side: one POST a call, answered whole or as a stream.
 *
 * What the peer did is always a value: a result, a typed error, `not_sent` or `no_answer`. Which
 * calls may be repeated is the caller's decision. Configured headers (credentials) go to one origin
 * only and are no part of any message.
 *
 * @source A2A 1.0.1, section 9
 */
import { A2A_VERSION, type MethodName, VERSION_HEADER } from '../wire/rev-1-0.ts'
import {
  type Connections,
  type HttpResponse,
  type NoAnswer,
  type NotSent,
  openHttp,
  readText,
} from './http.ts'
import {
  type ErrorReply,
  httpAdvice,
  httpError,
  parseResponse,
  type Received,
  type ResultReply,
  type RpcError,
  unreadable,
} from './rpc-response.ts'
import { readEvents } from './sse.ts'

/** The answer to one call. */
export type RpcReply = ResultReply | ErrorReply | NotSent | NoAnswer

/** One item of a stream. `end` is always the last: `closed` says nothing about the task. */
export type StreamItem =
  | { readonly kind: 'event'; readonly received: Received }
  | { readonly kind: 'error'; readonly error: RpcError }
  | { readonly kind: 'end'; readonly how: 'closed' | 'broken'; readonly detail: string }

/** An open stream. */
export interface RpcStream {
  readonly kind: 'stream'
  readonly items: AsyncIterable<StreamItem>
  /** Lets go of the connection. Says nothing to the agent: its work goes on. */
  close(): void
}

/** One call. */
export interface RpcCall {
  readonly method: MethodName
  /** The parameters as JSON text: parts of a message travel as they were written. */
  readonly params: string
  /** JSON-RPC id, unique among what is in flight. */
  readonly wireId: string
  readonly signal: AbortSignal
  /** Milliseconds for the whole answer, or for a stream's head. */
  readonly timeoutMs: number
  /** True for what has effects: a fresh connection is used. */
  readonly act: boolean
  /** Called once, just before the first byte may leave. */
  onSending?(): void
}

/** Where and how to call. */
export interface JsonRpcOptions {
  /** The chosen interface's address. */
  readonly url: string
  /** Configured headers of the peer, credentials among them. */
  readonly headers?: Readonly<Record<string, string>>
  /** The only origin the configured headers are sent to. */
  readonly headersOrigin: string
  /** Bytes of one answer or one event. Default 48 MiB: 32 MiB of raw parts in base64, and room. */
  readonly maxMessageBytes?: number
}

/** A way to call one interface of one agent. */
export interface JsonRpc {
  send(call: RpcCall): Promise<RpcReply>
  stream(call: RpcCall): Promise<RpcStream | Exclude<RpcReply, { kind: 'result' }>>
}

const DEFAULT_MAX_BYTES = 48 * 1024 * 1024

/** Makes the client for one interface. Opens nothing before the first call. */
export function createJsonRpc(connections: Connections, options: JsonRpcOptions): JsonRpc {
  const url = new URL(options.url)
  const maxBytes = options.maxMessageBytes ?? DEFAULT_MAX_BYTES
  const configured = url.origin === options.headersOrigin ? options.headers : undefined

  const open = (call: RpcCall, accept: string): Promise<HttpResponse | NotSent | NoAnswer> =>
    openHttp(call.act ? connections.acts : connections.reads, {
      url,
      method: 'POST',
      headers: {
        ...lowerCase(configured),
        'content-type': 'application/json',
        accept,
        [VERSION_HEADER.toLowerCase()]: A2A_VERSION,
      },
      body: `{"jsonrpc":"2.0","id":${JSON.stringify(call.wireId)},"method":"${call.method}","params":${call.params}}`,
      signal: call.signal,
      headTimeoutMs: call.timeoutMs,
      ...(call.onSending === undefined ? {} : { onSending: call.onSending }),
    })

  return {
    async send(call) {
      const timeout = AbortSignal.timeout(call.timeoutMs)
      const signal = AbortSignal.any([call.signal, timeout])
      const response = await open({ ...call, signal }, 'application/json')
      if (response.kind !== 'response') return blame(response, call.signal, timeout)
      return blame(await readReply(response, call.wireId, maxBytes), call.signal, timeout)
    },

    async stream(call) {
      const response = await open(call, 'text/event-stream, application/json')
      if (response.kind !== 'response') return response
      if (response.status === 200 && mediaTypeOf(response) === 'text/event-stream') {
        const items = readItems(response, call.wireId, maxBytes)
        return { kind: 'stream', items, close: () => response.close() }
      }
      const reply = await readReply(response, call.wireId, maxBytes)
      if (reply.kind !== 'result') return reply
      // A whole answer where a stream was asked for: its one event.
      return { kind: 'stream', items: only(reply.received), close: () => response.close() }
    },
  }
}

/** A connection that we ended ourselves looks broken from below: say why it ended. */
function blame(reply: RpcReply, caller: AbortSignal, timeout: AbortSignal): RpcReply {
  if (reply.kind !== 'no_answer' && reply.kind !== 'not_sent') return reply
  if (caller.aborted) return { ...reply, because: 'canceled' }
  if (!timeout.aborted) return reply
  return { ...reply, because: 'deadline', detail: 'the time for an answer ran out' }
}

async function* only(received: Received): AsyncGenerator<StreamItem> {
  yield { kind: 'event', received }
  yield { kind: 'end', how: 'closed', detail: 'answered whole' }
}

async function readReply(
  response: HttpResponse,
  wireId: string,
  maxBytes: number,
): Promise<RpcReply> {
  const { status } = response
  if (status >= 300 && status < 400) {
    response.close()
    return httpError(status, 'redirects are not followed; configure the address it points to')
  }
  const body = await readText(response, maxBytes)
  if (body.kind === 'broken') return { kind: 'no_answer', because: 'broken', detail: body.detail }
  if (body.kind === 'too_large') return unreadable(status, `longer than ${maxBytes} bytes`)
  if (body.kind === 'not_utf8') return unreadable(status, 'not UTF-8')
  const reply = parseResponse(body.text, wireId, status)
  const isRpc = reply.kind === 'result' || reply.error.kind === 'rpc'
  if (status >= 200 && status < 300) return reply
  // An error status with a JSON-RPC error is that error; a result beside an error status is nothing.
  return isRpc && reply.kind === 'error' ? reply : httpError(status, httpAdvice(status))
}

async function* readItems(
  response: HttpResponse,
  wireId: string,
  maxBytes: number,
): AsyncGenerator<StreamItem> {
  try {
    for await (const data of readEvents(response.body, maxBytes)) {
      const reply = parseResponse(data, wireId, response.status)
      yield reply.kind === 'result' ? { kind: 'event', received: reply.received } : reply
    }
    yield { kind: 'end', how: 'closed', detail: 'the agent closed the stream' }
  } catch (error) {
    const detail = error instanceof Error ? error.message : 'the stream broke'
    yield { kind: 'end', how: 'broken', detail }
  } finally {
    response.close()
  }
}

function mediaTypeOf(response: HttpResponse): string {
  return (response.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

function lowerCase(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
