/**
 * The times by which many calls must have ended, kept by one timer: one for each call would be set and cleared with every
 * call, and nearly none of them ever fires.
 */
import { InFlight, type Place } from './in-flight.ts'

/** Something with a time. */
export interface Due {
  /** Milliseconds of `performance.now`; Infinity for never. */
  readonly dueAt: number
  /** The time has come; told again until `dueAt` is another one. */
  pass(now: number): void
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

export class Deadlines {
  readonly #keepsAlive: boolean
  readonly #kept = new InFlight<Due>()
  #timer: NodeJS.Timeout | undefined
  #armedFor = Infinity

  /** @param process whether it runs as long as something is kept. Default: it does. */
  constructor(process: 'kept_alive' | 'apart' = 'kept_alive') {
    this.#keepsAlive = process === 'kept_alive'
  }

  /** Keeps one until it is removed. */
  add(due: Due): Place<Due> {
    const place = this.#kept.add(due)
    if (this.#keepsAlive && this.#kept.size === 1) this.#timer?.ref()
    this.heed(due)
    return place
  }

  /** Its time is another one. A later one costs nothing: the timer finds nothing to do and is set anew. */
  heed({ dueAt }: Due): void {
    if (dueAt < this.#armedFor) this.#arm(dueAt)
  }

  remove(place: Place<Due>): void {
    this.#kept.remove(place)
    // What is left of the timer keeps no process alive.
    if (this.#kept.size === 0) this.#timer?.unref()
  }

  #arm(at: number): void {
    clearTimeout(this.#timer)
    this.#armedFor = at
    const ms = Math.ceil(Math.max(0, at - performance.now()))
    this.#timer = setTimeout(() => this.#sweep(), Math.min(ms, LONGEST_TIMER_MS))
    if (!this.#keepsAlive) this.#timer.unref()
  }

  #sweep(): void {
    this.#timer = undefined
    this.#armedFor = Infinity
    const now = performance.now()
    try {
      for (const due of this.#kept.all()) if (due.dueAt <= now) due.pass(now)
    } finally {
      // Whatever one of them does: the others' times come all the same.
      let next = Infinity
      for (const { dueAt } of this.#kept.all()) next = Math.min(next, dueAt)
      if (next < this.#armedFor) this.#arm(next)
    }
  }
}
