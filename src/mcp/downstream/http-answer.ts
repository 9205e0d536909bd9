/**
 * One HTTP answer: a single JSON object, or an event stream once there is something to say before the end.
 *
 * @source MCP 2026-07-28, transports, Streamable HTTP: comments keep a stream alive, `X-Accel-Buffering: no`
 */
import type { ServerResponse } from 'node:http'
import type { Reply } from './answer.ts'
import type { EventSink } from './event-stream.ts'
import { openOutgoing, type Unread } from './outgoing.ts'

export interface HttpAnswer {
  /** Sends a message before the answer; begins the stream. */
  notify(message: Uint8Array): void | Promise<void>
  /** Nothing when the stream was ended already. */
  end(reply: Reply): void
  /** For whoever frames events: writing one begins the stream, `end` ends it. */
  readonly sink: EventSink
  /** How and when the stream begins by itself. */
  prepare(begin: StreamBegin): void
  /** Begins the stream now. */
  begin(): void
  hasBegun(): boolean
  /** The connection closed before its answer was ended. */
  readonly closed: AbortSignal
  /** All of it was taken by the operating system, or the connection is gone. */
  readonly over: Promise<void>
}

export interface StreamBegin {
  readonly afterMs: number
  /** What stands before the first message. Default: a comment, when nothing else is there to say. */
  readonly first?: () => Uint8Array
}

export interface StreamTimes {
  readonly streamAfterMs: number
  readonly keepAliveMs: number
  readonly writeIdleMs: number
}

const JSON_TYPE = 'application/json'
const COMMENT = Buffer.from(':\n\n')
const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** @param unread where this answer's bytes count until they are taken. */
export function openHttpAnswer(
  response: ServerResponse,
  times: StreamTimes,
  unread: Unread,
): HttpAnswer {
  const closed = new AbortController()
  const outgoing = openOutgoing(response, unread, times.writeIdleMs)
  let ended = false
  let first: (() => Uint8Array) | undefined
  let keepAlive: NodeJS.Timeout | undefined
  const isOver = (): boolean => ended || closed.signal.aborted
  const beginStream = (): void => {
    clearTimeout(patience)
    if (response.headersSent || isOver()) return
    response.writeHead(200, STREAM_HEADERS)
    keepAlive = setInterval(sayAlive, times.keepAliveMs)
    if (first !== undefined) void outgoing.write(first())
  }
  // Behind bytes that wait to be read, a sign of life would only wait too.
  const sayAlive = (): void => {
    if (!outgoing.isWaiting() && !isOver()) void outgoing.write(COMMENT)
  }
  const beginAlone = (): void => {
    beginStream()
    if (first === undefined) sayAlive()
  }
  let patience = setTimeout(beginAlone, times.streamAfterMs)
  const stopTimers = (): void => {
    clearTimeout(patience)
    clearInterval(keepAlive)
  }
  onLeave(response, () => {
    stopTimers()
    if (!ended) closed.abort('caller_canceled')
  })
  const send = (event: Uint8Array): Promise<void> | undefined => {
    if (isOver()) return undefined
    beginStream()
    // A caller that stops reading holds back only its own call; one that is gone holds back nothing.
    return outgoing.write(event)
  }
  const endStream = (event?: Uint8Array): void => {
    stopTimers()
    if (isOver()) return
    ended = true
    outgoing.end(event)
  }
  return {
    closed: closed.signal,
    over: outgoing.over,
    sink: { send, end: () => endStream(), closed: closed.signal },
    hasBegun: () => response.headersSent,
    begin: beginAlone,
    prepare: (begin) => {
      first = begin.first
      if (response.headersSent || isOver()) return
      clearTimeout(patience)
      patience = setTimeout(beginAlone, begin.afterMs)
    },
    notify: (message) => send(encodeEvent(message)),
    end: (reply) => {
      if (response.headersSent) {
        endStream(reply.body === undefined ? undefined : encodeEvent(reply.body))
        return
      }
      if (!isOver()) {
        response.writeHead(reply.status, {
          ...(reply.body === undefined ? {} : { 'content-type': JSON_TYPE }),
          'content-length': String(reply.body?.length ?? 0),
          ...reply.headers,
        })
      }
      endStream(reply.body)
    },
  }
}

/** The end of what it sends is seen a turn before the close, in time for an equal request that came right behind it. */
function onLeave(response: ServerResponse, leave: () => void): void {
  const { socket } = response
  socket?.once('end', leave)
  response.once('close', () => {
    socket?.off('end', leave)
    leave()
  })
  response.on('error', () => undefined)
}

/** Raw line ends stand between JSON tokens only, where a space means the same: one message is one data line. */
export function oneLine(message: Uint8Array): Uint8Array {
  if (message.indexOf(0x0a) < 0 && message.indexOf(0x0d) < 0) return message
  return message.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte))
}

function encodeEvent(message: Uint8Array): Uint8Array {
  return Buffer.concat([
    Buffer.from('event: message\ndata: '),
    oneLine(message),
    Buffer.from('\n\n'),
  ])
}
