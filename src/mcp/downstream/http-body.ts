/** Reads a request body within its bounds: bytes, and silence between them. */
import type { IncomingMessage } from 'node:http'
import { Pieces } from '../../core/pieces.ts'
import type { Deadlines, Due } from '../wire/deadlines.ts'
import { InFlight, type Place } from '../wire/in-flight.ts'
import type { HttpRefusal } from './http-guard.ts'

export interface BodyLimits {
  readonly maxMessageBytes: number
  readonly bodyIdleMs: number
}

/** The whole body; a refusal when it is too large or stops coming; undefined when the caller went away. */
export type ReadBody = Uint8Array | HttpRefusal | undefined

/** Who waits for a body. */
export interface BodyReader {
  /** Told once; nothing more of it is read. */
  bodyRead(body: ReadBody): void
}

/** Bodies that are still coming, the oldest first: who sends slowly makes room when there is none. */
export class Arrivals {
  readonly limits: BodyLimits
  readonly deadlines: Deadlines
  readonly coming = new InFlight<Arriving>()

  constructor(limits: BodyLimits, deadlines: Deadlines) {
    this.limits = limits
    this.deadlines = deadlines
  }

  /** Gives up the oldest one. @returns whether there was one. */
  makeRoom(): boolean {
    const oldest = this.coming.oldest()
    oldest?.giveUp()
    return oldest !== undefined
  }

  read(request: IncomingMessage, reader: BodyReader): void {
    const declared = Number(request.headers['content-length'] ?? 0)
    if (declared > this.limits.maxMessageBytes) return reader.bodyRead(tooLarge(this.limits))
    void new Arriving(this, request, reader, declared)
  }
}

/** No more is set aside for what was only announced, bytes. */
const MAX_ROOM_BYTES = 256 * 1024

function tooLarge({ maxMessageBytes }: BodyLimits): HttpRefusal {
  return {
    status: 413,
    message: `a message of more than ${maxMessageBytes} bytes is not taken`,
    headers: { connection: 'close' },
  }
}

class Arriving implements Due {
  readonly #arrivals: Arrivals
  readonly #request: IncomingMessage
  readonly #reader: BodyReader
  /** As its headers say; 0 when they do not. */
  readonly #declared: number
  readonly #place: Place<Arriving>
  readonly #time: Place<Due>
  /** Most bodies are one piece. */
  #first: Buffer | undefined
  /** What comes in several is put where all of it has its place, or kept until it is whole. */
  #room: Buffer | undefined
  #more: Pieces | undefined
  #size = 0
  #dueAt: number
  #isOver = false

  constructor(arrivals: Arrivals, request: IncomingMessage, reader: BodyReader, declared: number) {
    this.#arrivals = arrivals
    this.#request = request
    this.#reader = reader
    this.#declared = declared
    this.#place = arrivals.coming.add(this)
    this.#dueAt = performance.now() + arrivals.limits.bodyIdleMs
    this.#time = arrivals.deadlines.add(this)
    request.on('data', (piece: Buffer) => this.#take(piece))
    request.on('end', () => this.#finish(this.#whole()))
    // Also behind an error, which nobody else has to hear of.
    request.on('close', () => this.#stop(undefined))
  }

  get dueAt(): number {
    return this.#dueAt
  }

  pass(): void {
    this.#stop({
      status: 408,
      message: `nothing arrived for ${this.#arrivals.limits.bodyIdleMs} ms`,
      headers: { connection: 'close' },
    })
  }

  giveUp(): void {
    this.#stop({
      status: 408,
      message: 'the message came in too slowly while others waited for its place',
      headers: { connection: 'close' },
    })
  }

  #take(piece: Buffer): void {
    if (this.#isOver) return
    const { limits } = this.#arrivals
    this.#size += piece.length
    if (this.#size > limits.maxMessageBytes) return this.#stop(tooLarge(limits))
    this.#keep(piece)
    // The time of silence begins anew; a later one costs nothing.
    if (this.#size !== this.#declared) this.#dueAt = performance.now() + limits.bodyIdleMs
  }

  #keep(piece: Buffer): void {
    if (this.#first === undefined) {
      this.#first = piece
      return
    }
    if (this.#room === undefined && this.#more === undefined) this.#begin(this.#first)
    // More than was declared never comes: Node ends the message there.
    if (this.#room === undefined) this.#more?.add(piece)
    else this.#room.set(piece, this.#size - piece.length)
  }

  /** Behind the first piece there is another one. */
  #begin(first: Buffer): void {
    if (this.#declared >= this.#size && this.#declared <= MAX_ROOM_BYTES) {
      this.#room = Buffer.allocUnsafeSlow(this.#declared)
      this.#room.set(first)
    } else {
      this.#more = new Pieces()
      this.#more.add(first)
    }
  }

  #whole(): Uint8Array {
    if (this.#room !== undefined) return this.#room.subarray(0, this.#size)
    if (this.#more !== undefined) return Buffer.concat(this.#more.take(), this.#size)
    return this.#first ?? Buffer.alloc(0)
  }

  /** What else comes is not read. */
  #stop(read: ReadBody): void {
    if (this.#isOver) return
    this.#finish(read)
    this.#request.pause()
  }

  #finish(read: ReadBody): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#dueAt = Infinity
    this.#arrivals.coming.remove(this.#place)
    this.#arrivals.deadlines.remove(this.#time)
    this.#first = undefined
    this.#room = undefined
    this.#more = undefined
    this.#reader.bodyRead(read)
  }
}
