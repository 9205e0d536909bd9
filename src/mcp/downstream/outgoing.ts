/**
 * Bytes on their way to one caller. They go to the socket piece by piece, so that what a caller has not read is known: it
 * counts for the whole door until it is taken, and a caller who takes nothing for too long is given up.
 */
import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { Deadlines, Due } from '../wire/deadlines.ts'
import type { Place } from '../wire/in-flight.ts'

/** What is handed to a socket at once, bytes: most answers are one write, and most sockets take it whole. */
const PIECE = 512 * 1024
/** One who takes less than this in `writeIdleMs` is given up, bytes. */
const LEAST_TAKEN = 16 * 1024

/** An answer of so many bytes goes out with its headers as one text, which costs less than three pieces; in Latin-1 each byte is itself. */
const FEW_BYTES = 4096
const latin1Slice = Buffer.prototype.latin1Slice

/** What an answer ends with. */
export interface Behind {
  readonly middle?: Uint8Array
  readonly tail?: Uint8Array
}

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

/** What all bodies of a door go by. */
export interface OutgoingTerms {
  readonly unread: Unread
  readonly deadlines: Deadlines
  readonly writeIdleMs: number
}

const NO_BYTES = new Uint8Array(0)
const NOTHING: Behind = {}

/** One response body. Headers must be written before the first byte is. */
export class Outgoing {
  readonly #response: ServerResponse
  readonly #terms: OutgoingTerms
  readonly #over: { outgoingOver(): void }
  #queue: Uint8Array[] = []
  #taken: PromiseWithResolvers<void> | undefined
  #idle: IdleTimer | undefined
  #waiting = 0
  #sending = false
  #ended = false
  #finished = false

  /** @param over told once, when the operating system has all of it or the connection is gone. */
  constructor(response: ServerResponse, terms: OutgoingTerms, over: { outgoingOver(): void }) {
    this.#response = response
    this.#terms = terms
    this.#over = over
  }

  /** Something was not taken yet: no sign of life is needed. */
  get isWaiting(): boolean {
    return this.#waiting > 0
  }

  /** Sends bytes after all before them. @returns a wait for the caller to take them; undefined when it need not be waited. */
  write(bytes: Uint8Array): Promise<void> | undefined {
    // A peer that goes on at once would keep `close` from ever being heard.
    if (this.#finished) return setImmediate()
    if (this.#ended) return undefined
    this.#queue.push(bytes)
    this.#count(bytes.length)
    this.#sendNext()
    if (!this.#response.writableNeedDrain && this.#queue.length === 0) return undefined
    return (this.#taken ??= Promise.withResolvers()).promise
  }

  /** Sends the last bytes, and behind them what ends the message: in one write, where nothing waits before them. */
  end(
    bytes: Uint8Array = NO_BYTES,
    { middle = NO_BYTES, tail = NO_BYTES }: Behind = NOTHING,
  ): void {
    if (this.#ended || this.#finished) return
    this.#ended = true
    const length = bytes.length + middle.length + tail.length
    this.#count(length)
    if (!this.#sending && this.#queue.length === 0 && length <= PIECE) {
      this.#sending = true
      endAtOnce(this.#response, bytes, middle, tail)
      return this.#watchEnd()
    }
    for (const part of [bytes, middle, tail]) if (part.length > 0) this.#queue.push(part)
    this.#sendNext()
  }

  /** The connection is gone, or has taken the end. */
  finish(): void {
    if (this.#finished) return
    this.#finished = true
    this.#idle?.stop()
    this.#queue = []
    this.#count(-this.#waiting)
    this.#wasTaken()
    this.#over.outgoingOver()
  }

  #sendNext(): void {
    if (this.#sending || this.#finished) return
    const piece = takePiece(this.#queue)
    if (piece === undefined && !this.#ended) {
      this.#idle?.stop()
      return this.#wasTaken()
    }
    this.#sending = true
    const response = this.#response
    // The last piece goes with the end of the message: a small answer is one write.
    if (this.#ended && this.#queue.length === 0) {
      response.end(piece)
      return this.#watchEnd()
    }
    this.#restart()
    response.write(piece, (error) => {
      this.#sending = false
      if (this.#finished) return
      // The connection is gone, and says so before it says `close`: what is said now goes nowhere.
      if (error !== undefined && error !== null) return this.finish()
      this.#count(-(piece?.length ?? 0))
      this.#sendNext()
    })
  }

  /** Mostly taken at once: then there is nobody to be given up. */
  #watchEnd(): void {
    if (this.#response.writableLength > 0) this.#restart()
    else this.#idle?.stop()
  }

  #wasTaken(): void {
    this.#taken?.resolve()
    this.#taken = undefined
  }

  #restart(): void {
    this.#idle ??= new IdleTimer(this.#response, this.#terms)
    this.#idle.restart()
  }

  #count(bytes: number): void {
    this.#waiting += bytes
    this.#terms.unread.add(bytes)
  }
}

/** All that is left of a message, without a copy of what is large. */
function endAtOnce(
  response: ServerResponse,
  bytes: Uint8Array,
  middle: Uint8Array,
  tail: Uint8Array,
): void {
  const length = bytes.length + middle.length + tail.length
  if (length === 0) response.end()
  else if (length <= FEW_BYTES)
    response.end(textOf(bytes) + textOf(middle) + textOf(tail), 'latin1')
  else {
    const parts = [bytes, middle, tail].filter((part) => part.length > 0)
    const last = parts.pop()
    // They wait for the end, and are one write with it.
    for (const part of parts) response.write(part)
    response.end(last)
  }
}

function textOf(bytes: Uint8Array): string {
  return bytes.length === 0 ? '' : latin1Slice.call(bytes, 0, bytes.length)
}

/** Ends the connection unless it is restarted in time or stopped, or the caller took enough meanwhile. */
class IdleTimer implements Due {
  readonly #response: ServerResponse
  readonly #terms: OutgoingTerms
  #place: Place<Due> | undefined
  #left = 0
  #dueAt = Infinity

  constructor(response: ServerResponse, terms: OutgoingTerms) {
    this.#response = response
    this.#terms = terms
    response.once('socket', () => this.restart())
  }

  get dueAt(): number {
    return this.#dueAt
  }

  restart(): void {
    this.#left = bytesLeft(this.#response)
    this.#wait()
  }

  stop(): void {
    this.#dueAt = Infinity
    if (this.#place !== undefined) this.#terms.deadlines.remove(this.#place)
    this.#place = undefined
  }

  pass(): void {
    const before = this.#left
    this.#left = bytesLeft(this.#response)
    // A pipelined answer has no socket until those before it are through: they are the ones that wait.
    if (this.#response.socket === null || before - this.#left >= LEAST_TAKEN) return this.#wait()
    this.stop()
    this.#response.destroy()
  }

  #wait(): void {
    const { deadlines, writeIdleMs } = this.#terms
    this.#dueAt = performance.now() + writeIdleMs
    if (this.#place === undefined) this.#place = deadlines.add(this)
    else deadlines.heed(this)
  }
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
  if (first.length <= PIECE) {
    queue.shift()
    return first
  }
  queue[0] = first.subarray(PIECE)
  return first.subarray(0, PIECE)
}
