/**
 * One connection to one server, kept: made on first use, made anew on the next use after it broke.
 *
 * A first failure may be tried again at once, so that the call after a crash is served without
 * delay; a server that keeps failing is left alone for longer and longer, and calls fail at once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Connected } from './connect.ts'
import { LinkFailure } from './link.ts'

export interface ConnectionOptions<C extends Connected> {
  /** Opens and agrees. */
  readonly connect: (signal: AbortSignal) => Promise<C>
  /** Milliseconds that only grow. */
  readonly monotonic: () => number
  /** Told of every connection but the first: what is offered may have changed. */
  readonly onReconnected: () => void
}

export interface Connection<C extends Connected> {
  /** The connection, made if there is none. @throws LinkFailure when it cannot be made. */
  get(): Promise<C>
  current(): C | undefined
  /** Why the last attempt failed or the last connection ended; undefined while connected. */
  problem(): string | undefined
  /**
   * Takes this connection out of use, for calls to come: what it agreed on is not so any more. Whoever retires it closes it.
   *
   * @param problem what is wrong with the server, where anything is.
   */
  retire(connected: C, problem?: string): void
  /** Ends the present connection and any pause after failures, and connects. @throws LinkFailure */
  restart(): Promise<void>
  close(): Promise<void>
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 30_000
/** Pauses up to this are waited out; longer ones fail the call at once. */
const PATIENCE_MS = 1_000
/** A connection that lived this long has paid for its failures. */
const HEALTHY_MS = 10_000

/** Makes the keeper; connects nothing yet. */
export function createConnection<C extends Connected>(
  options: ConnectionOptions<C>,
): Connection<C> {
  return new KeptConnection(options)
}

class KeptConnection<C extends Connected> implements Connection<C> {
  readonly #options: ConnectionOptions<C>
  readonly #closing = new AbortController()
  #current: C | undefined
  #connecting: Promise<C> | undefined
  #attempt = new AbortController()
  #before = false
  #problem: string | undefined
  #failures = 0
  #retryAt = 0

  constructor(options: ConnectionOptions<C>) {
    this.#options = options
  }

  current(): C | undefined {
    return this.#current
  }

  problem(): string | undefined {
    if (this.#problem === undefined || this.#failures < 2) return this.#problem
    const left = Math.ceil((this.#retryAt - this.#options.monotonic()) / 1000)
    const next = left > 0 ? `not tried again for ${left} s` : 'tried again when it is next used'
    return `${this.#problem} (failed ${this.#failures} times in a row; ${next})`
  }

  retire(connected: C, problem?: string): void {
    if (this.#current !== connected) return
    this.#current = undefined
    this.#problem = problem
  }

  async restart(): Promise<void> {
    // An attempt that is under way may be the very one that hangs.
    this.#attempt.abort()
    await this.#connecting?.catch(() => undefined)
    const connected = this.#current
    this.#current = undefined
    this.#failures = 0
    this.#retryAt = 0
    this.#problem = undefined
    await connected?.link.close()
    await this.get()
  }

  get(): Promise<C> {
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

  async #connect(): Promise<C> {
    this.#attempt = new AbortController()
    await this.#pause()
    if (this.#signal().aborted) throw new LinkFailure('unreachable', false, 'it was closed')
    let connected: C
    try {
      connected = await this.#options.connect(this.#signal())
    } catch (error) {
      const failure = asFailure(error)
      this.#fail(failure)
      throw failure
    }
    const again = this.#before
    this.#before = true
    this.#current = connected
    this.#problem = undefined
    const since = this.#options.monotonic()
    void connected.link.ended.then((ended) => this.#lose(connected, ended, since))
    if (again) this.#options.onReconnected()
    return connected
  }

  #signal(): AbortSignal {
    return AbortSignal.any([this.#closing.signal, this.#attempt.signal])
  }

  #lose(connected: C, ended: LinkFailure, since: number): void {
    if (this.#current !== connected) return
    this.#current = undefined
    if (this.#options.monotonic() - since >= HEALTHY_MS) this.#failures = 0
    const printed = connected.link.complaints().slice(-1000)
    const what = printed === '' ? ended.message : `${ended.message}; it printed: ${printed}`
    this.#fail(new LinkFailure(ended.reason, ended.sent, what))
    void connected.link.close().catch(() => {})
  }

  #fail({ message, reason }: LinkFailure): void {
    this.#problem = message
    // Somebody may log in at any moment, here or in another process.
    if (reason === 'unauthorized') this.#failures = 0
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
    await delay(left, undefined, { signal: this.#signal() }).catch(() => {})
  }
}

/** Whatever broke while connecting, no call was sent: the caller may be sure of that. */
function asFailure(error: unknown): LinkFailure {
  const message = error instanceof Error ? error.message : String(error)
  const refused =
    error instanceof LinkFailure && error.reason === 'unauthorized' ? error : undefined
  const { reason = 'unreachable', status, login } = refused ?? {}
  const said = status === undefined ? {} : { status }
  return new LinkFailure(reason, false, message, { cause: error, login, ...said })
}
