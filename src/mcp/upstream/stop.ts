/**
 * Why a call should stop, and when: its caller's signal, its deadline, the limits of its peer and the peer's silence as one.
 *
 * The idle limit begins with the send and anew with each sign of life; the absolute one is not moved by them.
 */
import type { Exchange, StopListener, StopReason } from '../../core/ports/upstream.ts'
import type { Place } from '../wire/in-flight.ts'
import { ONCE, type CancelListener, type CancelSignal } from './cancel.ts'
import type { Deadlines, Due } from '../wire/deadlines.ts'

/** How long one peer may take. Left out: no limit but the caller's. */
export interface CallLimits {
  /** Without a sign of life after the call was sent, milliseconds. */
  readonly idleMs?: number
  /** For the whole call, milliseconds. */
  readonly callMs?: number
}

/** One call's, and the signal by which it is told. */
export class CallStop implements CancelSignal, Due, StopListener {
  readonly #exchange: Exchange
  readonly #limits: CallLimits
  readonly #deadlines: Deadlines
  readonly #place: Place<Due>
  #aborted = false
  #listeners: CancelListener[] = []
  /** What the end of the whole is. */
  readonly #whole: 'deadline' | 'call'
  #late: 'deadline' | 'call' | 'idle' | undefined
  /** Of the whole call, when the clock was last started. */
  #leftMs: number
  #since: number
  #wholeAt: number
  #idleAt = Infinity
  #holds = 0
  #sent = false

  /** @param leftMs until the deadline. */
  constructor(exchange: Exchange, leftMs: number, limits: CallLimits, deadlines: Deadlines) {
    const { callMs = Infinity } = limits
    this.#exchange = exchange
    this.#limits = limits
    this.#deadlines = deadlines
    this.#leftMs = Math.min(leftMs, callMs)
    this.#whole = this.#leftMs < leftMs ? 'call' : 'deadline'
    this.#since = performance.now()
    this.#wholeAt = this.#since + this.#leftMs
    this.#place = deadlines.add(this)
    this.#heed(exchange)
  }

  get aborted(): boolean {
    return this.#aborted
  }

  get dueAt(): number {
    return this.#aborted || this.#holds > 0 ? Infinity : Math.min(this.#wholeAt, this.#idleAt)
  }

  addEventListener(_type: 'abort', listener: CancelListener): void {
    this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: CancelListener): void {
    const at = this.#listeners.indexOf(listener)
    if (at !== -1) this.#listeners.splice(at, 1)
  }

  /** The caller's word. */
  stopped(): void {
    this.#abort()
  }

  /** As `stopped`, by a signal. */
  handleEvent(): void {
    this.#abort()
  }

  pass(): void {
    this.#late ??= this.#idleAt < this.#wholeAt ? 'idle' : this.#whole
    this.#abort()
  }

  reason(): StopReason | undefined {
    return this.#exchange.stopReason() ?? (this.#late === undefined ? undefined : 'deadline')
  }

  /** Which limit of the peer was passed, in words; undefined when it was none of those. */
  limit(): string | undefined {
    return this.#exchange.stopReason() === undefined
      ? sayLimit(this.#late, this.#limits)
      : undefined
  }

  /** The call is sent, or its peer gave a sign of life. */
  alive(): void {
    this.#sent = true
    if (this.#limits.idleMs !== undefined && this.#holds === 0) this.#listenForLife()
  }

  /** Stops the clocks: a person is asked. @returns the way to go on. */
  hold(): () => void {
    this.#holds += 1
    if (this.#holds === 1) this.#leftMs -= performance.now() - this.#since
    return () => {
      this.#holds -= 1
      if (this.#holds === 0) this.#start()
    }
  }

  /** Whoever goes on afterwards starts nothing. */
  release(): void {
    this.#holds += 1
    this.#deadlines.remove(this.#place)
    const { stopping } = this.#exchange
    if (stopping !== undefined) stopping.unwatch(this)
    else this.#exchange.signal.removeEventListener('abort', this)
  }

  #heed(exchange: Exchange): void {
    const { stopping } = exchange
    if (stopping === undefined) {
      if (exchange.signal.aborted) this.#abort()
      else exchange.signal.addEventListener('abort', this, ONCE)
    } else if (stopping.isStopped) this.#abort()
    else stopping.watch(this)
  }

  #start(): void {
    this.#since = performance.now()
    this.#wholeAt = this.#since + this.#leftMs
    if (this.#sent) this.#listenForLife()
    this.#deadlines.heed(this)
  }

  #listenForLife(): void {
    this.#idleAt = performance.now() + (this.#limits.idleMs ?? Infinity)
    this.#deadlines.heed(this)
  }

  #abort(): void {
    if (this.#aborted) return
    this.#aborted = true
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners) {
      if (typeof listener === 'function') listener()
      else listener.handleEvent()
    }
  }
}

function sayLimit(
  late: 'deadline' | 'call' | 'idle' | undefined,
  { idleMs = 0, callMs = 0 }: CallLimits,
): string | undefined {
  switch (late) {
    case 'idle':
      return `gave no sign of life for ${idleMs / 1000} s (its \`timeouts: { idle }\`)`
    case 'call':
      return `did not answer within ${callMs / 1000} s (its \`timeouts: { call }\`)`
    case 'deadline':
    case undefined:
      return undefined
  }
}
