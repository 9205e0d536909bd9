/**
 * One HTTP answer: a single JSON object, or an event stream once there is something to say before the end.
 *
 * @source MCP 2026-07-28, transports, Streamable HTTP: comments keep a stream alive, `X-Accel-Buffering: no`
 */
import type { ServerResponse } from 'node:http'
import type { Reply } from './answer.ts'
import { openOutgoing, type Unread } from './outgoing.ts'

export interface HttpAnswer {
  /** Sends a message before the answer; begins the stream. */
  notify(message: Uint8Array): void | Promise<void>
  end(reply: Reply): void
  /** The connection closed before `end` was called. */
  readonly closed: AbortSignal
  /** All of it was taken by the operating system, or the connection is gone. */
  readonly over: Promise<void>
}

export interface StreamTimes {
  readonly streamAfterMs: number
  readonly keepAliveMs: number
  readonly writeIdleMs: number
}

const JSON_TYPE = 'application/json'
const COMMENT = Buffer.from(':\n\n')

/** @param unread where this answer's bytes count until they are taken. */
export function openHttpAnswer(
  response: ServerResponse,
  times: StreamTimes,
  unread: Unread,
): HttpAnswer {
  const closed = new AbortController()
  const outgoing = openOutgoing(response, unread, times.writeIdleMs)
  let ended = false
  let keepAlive: NodeJS.Timeout | undefined
  const beginStream = (): void => {
    clearTimeout(patience)
    if (response.headersSent || ended || closed.signal.aborted) return
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    keepAlive = setInterval(sayAlive, times.keepAliveMs)
  }
  // Behind bytes that wait to be read, a sign of life would only wait too.
  const sayAlive = (): void => {
    if (!outgoing.isWaiting()) void outgoing.write(COMMENT)
  }
  const patience = setTimeout(() => {
    beginStream()
    sayAlive()
  }, times.streamAfterMs)
  const stopTimers = (): void => {
    clearTimeout(patience)
    clearInterval(keepAlive)
  }
  const leave = (): void => {
    stopTimers()
    if (!ended) closed.abort('caller_canceled')
  }
  // The end of what it sends is seen a turn before the close, in time for an equal request that came right behind it.
  const { socket } = response
  socket?.once('end', leave)
  response.once('close', () => {
    socket?.off('end', leave)
    leave()
  })
  response.on('error', () => undefined)
  return {
    closed: closed.signal,
    over: outgoing.over,
    notify: (message) => {
      if (ended || closed.signal.aborted) return undefined
      beginStream()
      // A caller that stops reading holds back only its own call; one that is gone holds back nothing.
      return outgoing.write(encodeEvent(message))
    },
    end: (reply) => {
      stopTimers()
      if (ended || closed.signal.aborted) return
      ended = true
      if (response.headersSent) {
        outgoing.end(reply.body === undefined ? undefined : encodeEvent(reply.body))
        return
      }
      response.writeHead(reply.status, {
        ...(reply.body === undefined ? {} : { 'content-type': JSON_TYPE }),
        'content-length': String(reply.body?.length ?? 0),
        ...reply.headers,
      })
      outgoing.end(reply.body)
    },
  }
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
