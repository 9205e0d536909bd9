/**
 * One logical event stream of a session: events under ids, kept for a while, over whichever connection carries it just now.
 *
 * A connection that breaks ends nothing: what was pushed meanwhile waits, and a caller that comes back with the id of the
 * last event it saw goes on from there. An id means something within its session only.
 *
 * @source MCP 2025-11-25, transports, Streamable HTTP, resumability and redelivery; SEP-1699 (priming events, polling)
 */
import { setImmediate } from 'node:timers/promises'
import { oneLine } from './http-answer.ts'
import type { ReplayBudget } from './replay-budget.ts'

/** One connection that events are written to. */
export interface EventSink {
  /** @returns a wait for the caller to take them; undefined when it need not be waited. */
  send(event: Uint8Array): Promise<void> | undefined
  /** Ends the connection after what was sent. */
  end(): void
  /** Fires when the connection is gone. */
  readonly closed: AbortSignal
}

export interface PushOptions {
  /** An event under this key that still waits to be sent says the same: this one is left out. */
  readonly key?: string
  /** May be let go when room is short. */
  readonly droppable?: boolean
}

export interface EventStreamParts {
  readonly id: string
  /** Ends each event id: what names the request after a restart. */
  readonly suffix: string
  readonly budget: ReplayBudget
  /** The message that stands for a last one which was too large to be kept. */
  readonly lostResult: () => Uint8Array
}

interface Kept {
  readonly seq: number
  frame: Uint8Array
  readonly key?: string
  readonly droppable: boolean
}

interface Carrier {
  readonly sink: EventSink
  /** The caller is slow to take what was sent. */
  wait?: Promise<void>
}

/** Events that one stream keeps. */
const MAX_KEPT = 1000

export class EventStream {
  readonly id: string
  readonly #parts: EventStreamParts
  #kept: Kept[] = []
  #seq = 0
  /** Of the newest event handed to a connection. */
  #sent = 0
  #known = false
  #finished = false
  #carrier: Carrier | undefined

  constructor(parts: EventStreamParts) {
    this.id = parts.id
    this.#parts = parts
  }

  /** Sends a message, or keeps it for the next connection. @returns a wait while the present one is slow. */
  push(message: Uint8Array, options: PushOptions = {}): Promise<void> | undefined {
    if (this.#finished) return undefined
    const { key } = options
    const says = (one: Kept): boolean => one.key === key && one.seq > this.#sent
    if (key !== undefined && this.#kept.findLast(says) !== undefined) return undefined
    return this.#add(message, options)
  }

  /** The last message: the connection that carries the stream, now or later, ends with it. */
  finish(message: Uint8Array): void {
    if (this.#finished) return
    this.#finished = true
    void this.#add(message, {})
  }

  /**
   * Carries the stream over this connection from now on; the one before is ended.
   *
   * @param after number of the last event that the caller has; left out: all that were never sent.
   */
  attach(sink: EventSink, after?: number): void {
    this.release()
    if (sink.closed.aborted) return
    if (after !== undefined) this.#sent = Math.min(after, this.#seq)
    const carrier = { sink }
    this.#carrier = carrier
    const detach = (): void => {
      if (this.#carrier === carrier) this.#carrier = undefined
    }
    sink.closed.addEventListener('abort', detach, { once: true })
    void this.#pump()
  }

  /** Ends the connection, not the stream: the caller comes back for the rest. @param only this one, when it is still the present. */
  release(only?: EventSink): void {
    const carrier = this.#carrier
    if (only !== undefined && carrier?.sink !== only) return
    this.#carrier = undefined
    carrier?.sink.end()
  }

  /** An event without content under the id of the last one sent: with it a caller can come back. */
  primer(retryMs: number): Uint8Array {
    this.#known = true
    return Buffer.from(`id: ${this.#eventId(this.#sent)}\nretry: ${retryMs}\ndata: \n\n`)
  }

  isAttached(): boolean {
    return this.#carrier !== undefined
  }

  /** Events have gone out, so that the caller knows how to come back. */
  isKnown(): boolean {
    return this.#known
  }

  /** Nothing more goes out on it. */
  isOver(): boolean {
    return this.#finished
  }

  /** Drops what is kept, and lets the connection be. */
  forget(): void {
    this.#carrier = undefined
    for (const event of this.#kept) this.#parts.budget.add(-event.frame.length)
    this.#kept = []
    this.#finished = true
  }

  #add(message: Uint8Array, { key, droppable = false }: PushOptions): Promise<void> | undefined {
    this.#seq += 1
    const frame = this.#encode(this.#seq, message)
    this.#kept.push({ seq: this.#seq, frame, droppable, ...(key === undefined ? {} : { key }) })
    this.#parts.budget.add(frame.length)
    const wait = this.#pump()
    this.#makeRoom()
    // A peer that goes on at once while nobody listens would keep a caller that comes back from ever being heard.
    return this.#carrier === undefined && !this.#finished ? setImmediate() : wait
  }

  #pump(): Promise<void> | undefined {
    const carrier = this.#carrier
    while (carrier !== undefined && carrier === this.#carrier) {
      if (carrier.wait !== undefined) return carrier.wait
      const event = this.#firstWaiting()
      if (event === undefined) {
        if (this.#finished) this.release()
        return undefined
      }
      // Counted as sent behind the send: what goes out before it, on the same connection, names the event before.
      const wait = carrier.sink.send(event.frame)
      this.#sent = event.seq
      this.#known = true
      if (wait === undefined) continue
      carrier.wait = wait.then(() => {
        delete carrier.wait
        void this.#pump()
      })
    }
    return undefined
  }

  /** Those that wait stand at the end. */
  #firstWaiting(): Kept | undefined {
    let first: Kept | undefined
    for (let index = this.#kept.length - 1; index >= 0; index -= 1) {
      const event = this.#kept[index]
      if (event === undefined || event.seq <= this.#sent) break
      first = event
    }
    return first
  }

  #makeRoom(): void {
    const { budget } = this.#parts
    if (this.#kept.length > MAX_KEPT) this.#dropOne()
    const newest = this.#kept.at(-1)
    const isHeldBack =
      this.#carrier !== undefined && newest !== undefined && newest.seq > this.#sent
    // What is too large to be kept leaves no room to others either; a connection that still takes it holds it itself.
    if (newest !== undefined && !isHeldBack && newest.frame.length > budget.maxEventBytes) {
      this.#letGo(newest)
    }
    budget.makeRoom(() => this.#dropOne())
  }

  /** The last message is not left out: its caller waits for it. */
  #letGo(event: Kept): void {
    this.#parts.budget.add(-event.frame.length)
    if (!this.#finished) {
      this.#kept.splice(this.#kept.indexOf(event), 1)
      return
    }
    event.frame = this.#encode(event.seq, this.#parts.lostResult())
    this.#parts.budget.add(event.frame.length)
  }

  /** The oldest that was sent goes first; what waits for a caller only when it may. */
  #dropOne(): boolean {
    const isAway = this.#carrier === undefined
    const victim =
      this.#kept.find((one) => one.droppable && (isAway || one.seq <= this.#sent)) ??
      this.#kept.find((one) => one.seq <= this.#sent && one.seq < this.#seq)
    if (victim === undefined) return false
    this.#kept.splice(this.#kept.indexOf(victim), 1)
    this.#parts.budget.add(-victim.frame.length)
    return true
  }

  #eventId(seq: number): string {
    return `${this.id}.${seq}${this.#parts.suffix}`
  }

  #encode(seq: number, message: Uint8Array): Uint8Array {
    return Buffer.concat([
      Buffer.from(`id: ${this.#eventId(seq)}\nevent: message\ndata: `),
      oneLine(message),
      Buffer.from('\n\n'),
    ])
  }
}
