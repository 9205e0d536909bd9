/**
 * The exchange of one call: when it should stop and why, and how progress and logs reach its caller.
 *
 * A modern caller that closes its stream cancels; a legacy one that disconnects does not, and is only noted as gone. The
 * call's time stands still while a person is asked.
 */
import type {
  CallEvent,
  Exchange,
  StopListener,
  Stopping,
  StopReason,
} from '../../core/ports/upstream.ts'
import type { Answer, CallerCan, Question } from '../../core/words/question.ts'
import { Deadlines, type Due } from '../wire/deadlines.ts'
import type { Place } from '../wire/in-flight.ts'
import { encodeNotification } from '../wire/json-rpc.ts'
import { MODERN_NOTIFICATIONS, PROGRESS_TOKEN } from '../wire/rev-2026-07-28.ts'
import { encodeJson, findMember, readString, scanObject, setMembers } from '../wire/spans.ts'
import { LOG_LEVELS } from './request-meta.ts'
import { presenceOf, type Presence, type PresenceWatcher, type Visit } from './visit.ts'

export interface OpenExchange {
  readonly exchange: Exchange
  /** The caller leaving stops nothing from now on: it was shown where the work goes on. */
  detach(): void
  /** The request was answered and the work goes on without one: nobody is told anything, only the end of the door stops it. */
  park(): void
  /** Another request of the same caller takes over: its stream, its tokens, its leaving. */
  attach(visit: Visit): void
  /** The deadline stands still until the returned function was called. */
  hold(): () => void
  /** The door is closing and its time is up, whoever waits or does not. */
  shutDown(): void
  /** Nothing is sent any more, timers end. Call it once the outcome is there. */
  close(): void
}

/**
 * @param leftMs until its deadline.
 * @param deadlines those of the door.
 * @param stoppable others than its caller may stop it, by the task that it becomes.
 */
export function openExchange(
  visit: Visit,
  leftMs: number,
  deadlines: Deadlines,
  stoppable = false,
): OpenExchange {
  return new VisitExchange(visit, Math.max(0, leftMs), deadlines, stoppable)
}

/** Both halves in one object, since there is one for every call. */
class VisitExchange implements OpenExchange, Exchange, Stopping, PresenceWatcher, Expiring {
  readonly ask?: NonNullable<Exchange['ask']>
  readonly stop?: NonNullable<Exchange['stop']>
  readonly #first: Visit
  /** Made for whoever needs a true signal. */
  #controller: AbortController | undefined
  readonly #watchers: StopListener[] = []
  readonly #deadline: Deadline
  #reason: StopReason | undefined
  #isClosed = false
  #isParked = false
  /** Whose request it is now. */
  #present: Visit
  #presence: Presence
  /** Who wants to know that the caller is gone. */
  #listeners: (() => void)[] | undefined

  constructor(visit: Visit, leftMs: number, deadlines: Deadlines, stoppable: boolean) {
    this.#first = visit
    this.#present = visit
    this.#presence = presenceOf(visit.caller)
    this.#deadline = new Deadline(leftMs, this, deadlines)
    if (stoppable) this.stop = (why) => this.#stop(why)
    if (visit.caller.ask !== undefined) this.ask = (...asked) => this.#askLive(...asked)
    this.#watch()
  }

  get exchange(): Exchange {
    return this
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  get stopping(): Stopping {
    return this
  }

  get isStopped(): boolean {
    return this.#reason !== undefined
  }

  watch(listener: StopListener): void {
    if (this.#reason === undefined) this.#watchers.push(listener)
  }

  unwatch(listener: StopListener): void {
    const at = this.#watchers.indexOf(listener)
    if (at !== -1) this.#watchers.splice(at, 1)
  }

  get can(): CallerCan {
    return this.#first.can
  }

  onGone(listener: () => void): void {
    const { caller, era } = this.#first
    if (era === 'modern') return
    if (!this.#isClosed) {
      caller.gone.addEventListener('abort', listener, { once: true })
      this.#listeners ??= []
      this.#listeners.push(listener)
    }
    if (caller.gone.aborted) listener()
  }

  stopReason(): StopReason | undefined {
    if (this.#reason !== undefined) return this.#reason
    return !this.#isParked && this.#presence.isGone ? 'caller_gone' : undefined
  }

  emit(event: CallEvent): void | Promise<void> {
    if (this.#isClosed || this.#isParked || this.#presence.withdrawn !== undefined) return undefined
    const message = encodeEvent(this.#present, event)
    return message === undefined ? undefined : this.#present.caller.notify(message)
  }

  callerWithdrew(): void {
    const why = this.#presence.withdrawn
    if (why !== undefined && (!this.#isParked || why === 'shutdown')) this.#stop(why)
  }

  expire(): void {
    this.#stop('deadline')
  }

  detach(): void {
    this.#presence.unwatch(this)
  }

  park(): void {
    this.#isParked = true
  }

  attach(visit: Visit): void {
    this.detach()
    this.#present = visit
    this.#presence = presenceOf(visit.caller)
    this.#isParked = false
    this.#watch()
  }

  hold(): () => void {
    return this.#deadline.hold()
  }

  shutDown(): void {
    this.#stop('shutdown')
  }

  close(): void {
    this.#isClosed = true
    for (const listener of this.#listeners ?? [])
      this.#first.caller.gone.removeEventListener('abort', listener)
    this.#listeners = undefined
    this.#deadline.stop()
    this.detach()
  }

  #watch(): void {
    if (this.#presence.withdrawn !== undefined) this.callerWithdrew()
    else this.#presence.watch(this)
  }

  #stop(why: StopReason): void {
    if (this.#isClosed || this.#reason !== undefined) return
    this.#reason = why
    for (const watcher of this.#watchers.splice(0)) watcher.stopped()
    this.#controller?.abort(why)
  }

  /** A caller with a session is asked on it, and not hurried meanwhile. */
  async #askLive(question: Question, withdrawn: AbortSignal): Promise<Answer> {
    const release = this.hold()
    try {
      const { caller } = this.#first
      return (await caller.ask?.(question, withdrawn)) ?? { key: question.key, action: 'cancel' }
    } finally {
      release()
    }
  }
}

/** The same exchange, but for how its caller is asked. @param opened told what `Exchange.opened` is. */
export function withAsk(
  exchange: Exchange,
  ask: NonNullable<Exchange['ask']>,
  opened: Exchange['opened'] = exchange.opened?.bind(exchange),
): Exchange {
  const stop = exchange.stop?.bind(exchange)
  return {
    get signal() {
      return exchange.signal
    },
    stopping: exchange.stopping,
    can: exchange.can,
    stopReason: () => exchange.stopReason(),
    onGone: (listener) => exchange.onGone?.(listener),
    emit: (event) => exchange.emit(event),
    ask,
    ...(stop === undefined ? {} : { stop }),
    ...(opened === undefined ? {} : { opened }),
  }
}

/** What ends when its time has come. */
export interface Expiring {
  expire(): void
}

/** A time that stands still while at least one holds it. */
export class Deadline implements Due {
  readonly #of: Expiring
  readonly #deadlines: Deadlines
  #place: Place<Due> | undefined
  #dueAt = Infinity
  #leftMs: number
  #holds = 0
  #isStopped = false

  constructor(ms: number, of: Expiring, deadlines: Deadlines) {
    this.#leftMs = ms
    this.#of = of
    this.#deadlines = deadlines
    this.#start()
  }

  get dueAt(): number {
    return this.#dueAt
  }

  pass(): void {
    this.#dueAt = Infinity
    this.#of.expire()
  }

  /** @returns the way to let go of it. */
  hold(): () => void {
    this.#holds += 1
    if (this.#holds === 1) this.#halt()
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#holds -= 1
      if (this.#holds === 0) this.#start()
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#halt()
  }

  #start(): void {
    if (this.#isStopped) return
    this.#dueAt = performance.now() + this.#leftMs
    this.#place = this.#deadlines.add(this)
  }

  #halt(): void {
    if (this.#place === undefined) return
    this.#deadlines.remove(this.#place)
    this.#place = undefined
    this.#leftMs = Math.max(0, this.#dueAt - performance.now())
    this.#dueAt = Infinity
  }
}

/** A deadline on its own. @param ms at most 24 days. */
export function createDeadline(ms: number, expire: () => void): Pick<Deadline, 'hold' | 'stop'> {
  const deadline = new Deadline(ms, { expire }, new Deadlines('apart'))
  return { hold: () => deadline.hold(), stop: () => deadline.stop() }
}

/** The notification for this caller: its own token, only what it asked for. */
function encodeEvent(visit: Visit, event: CallEvent): Uint8Array | undefined {
  const { bytes, protocol } = event.native
  // News of an agent's work are told as its task's; as MCP notifications its bytes would mean nothing.
  if (protocol !== 'mcp') return undefined
  switch (event.kind) {
    case 'progress': {
      const token = visit.meta.progressToken
      if (token === undefined) return undefined
      const params = setMembers(bytes, undefined, { [PROGRESS_TOKEN]: token })
      return encodeNotification(MODERN_NOTIFICATIONS.progress, params)
    }
    case 'log': {
      // Modern: only for a request that asks for logs. Legacy: all, unless the session set a level.
      const asked = visit.meta.logLevel
      if (asked === undefined && visit.era === 'modern') return undefined
      const level = findMember(scanObject(bytes), 'level')
      const name = level?.type === 'string' ? readString(bytes, level.value) : ''
      if (asked !== undefined && rank(name) < rank(asked)) return undefined
      return encodeNotification(MODERN_NOTIFICATIONS.message, bytes)
    }
  }
}

function rank(level: string): number {
  return LOG_LEVELS.findIndex((known) => known === level)
}

/** A progress notification of our own. */
export function encodeProgress(token: Uint8Array, progress: number, message: string): Uint8Array {
  const params = setMembers(encodeJson({ progress, message }), undefined, {
    [PROGRESS_TOKEN]: token,
  })
  return encodeNotification(MODERN_NOTIFICATIONS.progress, params)
}
