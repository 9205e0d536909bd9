/** The caller of one modern request over HTTP: closing its stream, or the connection of a plain answer, takes the request back. */
import type { StopReason } from '../../core/ports/upstream.ts'
import type { HttpAnswer } from './http-answer.ts'
import type { Caller, Presence, PresenceWatcher } from './visit.ts'

/** Signals are made when somebody asks for them: there would be several for each request, and nearly none ever fires. */
export class HttpCaller implements Caller, Presence {
  readonly #answer: HttpAnswer
  #controller: AbortController | undefined
  #withdrawn: StopReason | undefined
  #watcher: PresenceWatcher | undefined

  constructor(answer: HttpAnswer) {
    this.#answer = answer
  }

  get presence(): Presence {
    return this
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#withdrawn !== undefined) this.#controller.abort(this.#withdrawn)
    }
    return this.#controller.signal
  }

  get gone(): AbortSignal {
    return this.#answer.closed
  }

  get withdrawn(): StopReason | undefined {
    return this.#withdrawn
  }

  get isGone(): boolean {
    return this.#answer.isLost
  }

  notify(message: Uint8Array): void | Promise<void> {
    return this.#answer.notify(message)
  }

  watch(watcher: PresenceWatcher): void {
    this.#watcher = watcher
  }

  unwatch(watcher: PresenceWatcher): void {
    if (this.#watcher === watcher) this.#watcher = undefined
  }

  /** The first reason counts. */
  withdraw(why: StopReason): void {
    if (this.#withdrawn !== undefined) return
    this.#withdrawn = why
    this.#controller?.abort(why)
    this.#watcher?.callerWithdrew()
  }
}
