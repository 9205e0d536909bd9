/**
 * One connection to one server, kept: made on first use, made anew on the next use after it broke.
 *
 * A first failure may be tried again at once, so that the call after a crash is served without
 * delay; a server that keeps failing is left alone for longer and longer, and calls fail at once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Connected } from './connect.ts'
import type { Agreement } from './link.ts'
import { LinkFailure } from './link.ts'

export interface ConnectionOptions {
  /** Opens and agrees. @param remembered what the last connection agreed on. */
  readonly connect: (signal: AbortSignal, remembered: Agreement | undefined) => Promise<Connected>
  /** Milliseconds that only grow. */
  readonly monotonic: () => number
  /** Told of every connection but the first: what is offered may have changed. */
  readonly onReconnected: () => void
}

export interface Connection {
  /** The connection, made if there is none. @throws LinkFailure when it cannot be made. */
  get(): Promise<Connected>
  current(): Connected | undefined
  /** Why the last attempt failed or the last connection ended; undefined while connected. */
  problem(): string | undefined
  close(): Promise<void>
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 30_000
/** Pauses up to this are waited out; longer ones fail the call at once. */
const PATIENCE_MS = 1_000
/** A connection that lived this long has paid for its failures. */
const HEALTHY_MS = 10_000

/** Makes the keeper; connects nothing yet. */
export function createConnection(options: ConnectionOptions): Connection {
  return new KeptConnection(options)
}

class KeptConnection implements Connection {
  readonly #options: ConnectionOptions
  readonly #closing = new AbortController()
  #current: Connected | undefined
  #connecting: Promise<Connected> | undefined
  #remembered: Agreement | undefined
  #problem: string | undefined
  #failures = 0
  #retryAt = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  current(): Connected | undefined {
    return this.#current
  }

  problem(): string | undefined {
    return this.#problem
  }

  get(): Promise<Connected> {
    if (this.#current !== undefined) return Promise.resolve(this.#current)
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async close(): Promise<void> {
    this.#closing.abort()
    const connected = this.#current ?? (await this.#connecting?.catch(() => undefined))
    this.#current = undefined
    await connected?.link.close()
  }

  async #connect(): Promise<Connected> {
    await this.#pause()
    if (this.#closing.signal.aborted) throw new LinkFailure('unreachable', false, 'it was closed')
    const again = this.#remembered !== undefined
    let connected: Connected
    try {
      connected = await this.#options.connect(this.#closing.signal, this.#remembered)
    } catch (error) {
      // A remembered era may be out of date: the next attempt asks afresh.
      this.#remembered = undefined
      const failure = asFailure(error)
      this.#fail(failure.message)
      throw failure
    }
    this.#remembered = connected.facts
    this.#current = connected
    this.#problem = undefined
    const since = this.#options.monotonic()
    void connected.link.ended.then((ended) => this.#lose(connected, ended, since))
    if (again) this.#options.onReconnected()
    return connected
  }

  #lose(connected: Connected, ended: LinkFailure, since: number): void {
    if (this.#current !== connected) return
    this.#current = undefined
    if (this.#options.monotonic() - since >= HEALTHY_MS) this.#failures = 0
    const printed = connected.link.complaints().slice(-1000)
    this.#fail(printed === '' ? ended.message : `${ended.message}; it printed: ${printed}`)
    void connected.link.close().catch(() => {})
  }

  #fail(problem: string): void {
    this.#problem = problem
    this.#failures += 1
    const pause =
      this.#failures < 2
        ? 0
        : Math.min(FIRST_PAUSE_MS * 2 ** (this.#failures - 2), LONGEST_PAUSE_MS)
    this.#retryAt = this.#options.monotonic() + pause
  }

  async #pause(): Promise<void> {
    const left = this.#retryAt - this.#options.monotonic()
    if (left <= 0) return
    if (left > PATIENCE_MS) {
      const seconds = Math.ceil(left / 1000)
      const what = `${this.#problem} (tried ${this.#failures} times; not tried again for ${seconds} s)`
      throw new LinkFailure('unreachable', false, what)
    }
    await delay(left, undefined, { signal: this.#closing.signal }).catch(() => {})
  }
}

/** Whatever broke while connecting, no call was sent: the caller may be sure of that. */
function asFailure(error: unknown): LinkFailure {
  const message = error instanceof Error ? error.message : String(error)
  const refusedUs = error instanceof LinkFailure && error.reason === 'unauthorized'
  const reason = refusedUs ? 'unauthorized' : 'unreachable'
  return new LinkFailure(reason, false, message, { cause: error })
}
