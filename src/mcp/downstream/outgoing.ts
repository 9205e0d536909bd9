/**
 * Bytes on their way to one caller. They go to the socket piece by piece, so that what a caller has not read is known: it
 * counts for the whole door until it is taken, and a caller who takes nothing for too long is given up.
 */
import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'

/** What is handed to a socket at once, bytes: most answers are one write, and most sockets take it whole. */
const PIECE = 256 * 1024
/** One who takes less than this in `writeIdleMs` is given up, bytes. */
const LEAST_TAKEN = 16 * 1024

/** All that waits to be read at one door. */
export interface Unread {
  /** Nothing more should be begun until some of it was taken. */
  isFull(): boolean
  add(bytes: number): void
}

/** @param maxBytes from which on it is full. */
export function createUnread(maxBytes: number): Unread {
  let waiting = 0
  return {
    isFull: () => waiting >= maxBytes,
    add: (bytes) => {
      waiting += bytes
    },
  }
}

/** One response body. */
export interface Outgoing {
  /** Sends bytes after all before them. @returns a wait for the caller to take them; undefined when it need not be waited. */
  write(bytes: Uint8Array): Promise<void> | undefined
  /** Sends the last bytes. */
  end(bytes?: Uint8Array): void
  /** Something was not taken yet: no sign of life is needed. */
  isWaiting(): boolean
  /** The operating system has all of it, or the connection is gone. */
  readonly over: Promise<void>
}

/** Headers must be written before the first byte is. */
export function openOutgoing(
  response: ServerResponse,
  unread: Unread,
  writeIdleMs: number,
): Outgoing {
  const over = Promise.withResolvers<void>()
  let queue: Uint8Array[] = []
  let taken = Promise.withResolvers<void>()
  let waiting = 0
  let sending = false
  let ended = false
  let finished = false
  const count = (bytes: number): void => {
    waiting += bytes
    unread.add(bytes)
  }
  const idle = createIdleTimer(response, writeIdleMs)
  const finish = (): void => {
    if (finished) return
    finished = true
    idle.stop()
    queue = []
    count(-waiting)
    taken.resolve()
    over.resolve()
  }
  const sendNext = (): void => {
    if (sending || finished) return
    const piece = takePiece(queue)
    if (piece === undefined && !ended) {
      idle.stop()
      taken.resolve()
      taken = Promise.withResolvers()
      return
    }
    sending = true
    // The last piece goes with the end of the message: a small answer is one write.
    if (ended && queue.length === 0) {
      response.end(piece)
      // Mostly taken at once: then there is nobody to be given up.
      if (response.writableLength > 0) idle.restart()
      else idle.stop()
      return
    }
    idle.restart()
    response.write(piece, (error) => {
      sending = false
      if (finished) return
      // The connection is gone, and says so before it says `close`: what is said now goes nowhere.
      if (error !== undefined && error !== null) return finish()
      count(-(piece?.length ?? 0))
      sendNext()
    })
  }
  response.once('finish', finish)
  response.once('close', finish)
  if (response.destroyed) finish()
  return {
    over: over.promise,
    isWaiting: () => waiting > 0,
    write: (bytes) => {
      // A peer that goes on at once would keep `close` from ever being heard.
      if (finished) return setImmediate()
      if (ended) return undefined
      queue.push(bytes)
      count(bytes.length)
      sendNext()
      return response.writableNeedDrain || queue.length > 0 ? taken.promise : undefined
    },
    end: (bytes) => {
      if (ended || finished) return
      ended = true
      if (bytes !== undefined && bytes.length > 0) {
        queue.push(bytes)
        count(bytes.length)
      }
      sendNext()
    },
  }
}

/** Ends the connection unless it is restarted in time or stopped, or the caller took enough meanwhile. */
function createIdleTimer(response: ServerResponse, ms: number) {
  let timer: NodeJS.Timeout | undefined
  let left = 0
  const expire = (): void => {
    const before = left
    left = bytesLeft(response)
    // A pipelined answer has no socket until those before it are through: they are the ones that wait.
    if (response.socket === null || before - left >= LEAST_TAKEN) wait()
    else response.destroy()
  }
  const wait = (): void => {
    clearTimeout(timer)
    timer = setTimeout(expire, ms)
  }
  const restart = (): void => {
    left = bytesLeft(response)
    wait()
  }
  response.once('socket', () => {
    if (timer !== undefined) restart()
  })
  return { restart, stop: (): void => clearTimeout(timer) }
}

/**
 * What was handed to the socket and not taken yet. Within one write only its handle knows, by a field that Node's own
 * time-out of sockets goes by; without it nothing counts as taken before the whole write is.
 */
function bytesLeft({ socket, writableLength }: ServerResponse): number {
  const handle: unknown = socket === null ? undefined : Reflect.get(socket, '_handle')
  const size: unknown =
    typeof handle === 'object' && handle !== null
      ? Reflect.get(handle, 'writeQueueSize')
      : undefined
  return typeof size === 'number' ? size : writableLength
}

/** Takes up to one piece from the front. */
function takePiece(queue: Uint8Array[]): Uint8Array | undefined {
  const [first] = queue
  if (first === undefined) return undefined
  if (first.length <= PIECE) queue.shift()
  else queue[0] = first.subarray(PIECE)
  return first.subarray(0, PIECE)
}
