/**
 * Answers on their way to callers. They go to the socket piece by piece, so that what a caller has not read is known: it
 * counts for the whole door until it is taken, and a caller who takes nothing for too long is given up.
 */
import type { ServerResponse } from 'node:http'

/** What is handed to a socket at once, bytes: one who takes less than this in `writeIdleMs` is given up. */
const PIECE = 16 * 1024

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

/**
 * Sends a whole body behind headers that are written.
 *
 * @returns when the operating system has all of it, or the connection is gone.
 */
export function sendBody(
  response: ServerResponse,
  body: Uint8Array,
  unread: Unread,
  writeIdleMs: number,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let rest = body
  let waiting = body.length
  unread.add(waiting)
  const giveUp = (): void => {
    // A pipelined answer has no socket until those before it are through: they are the ones that wait.
    if (response.socket === null) idle.refresh()
    else response.destroy()
  }
  const idle = setTimeout(giveUp, writeIdleMs)
  const finish = (): void => {
    clearTimeout(idle)
    unread.add(-waiting)
    waiting = 0
    resolve()
  }
  const sendNext = (): void => {
    idle.refresh()
    const piece = rest.subarray(0, PIECE)
    rest = rest.subarray(PIECE)
    // The last piece goes with the end of the message: a small answer is one write.
    if (rest.length === 0) {
      response.end(piece)
      return
    }
    response.write(piece, () => {
      if (waiting === 0) return
      waiting -= piece.length
      unread.add(-piece.length)
      sendNext()
    })
  }
  response.once('finish', finish)
  response.once('close', finish)
  response.once('socket', () => idle.refresh())
  sendNext()
  return promise
}
