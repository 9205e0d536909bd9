/**
 * The Streamable HTTP door: one endpoint, both eras, over node:http request and response. What all its requests share, how
 * many there may be, and how it closes.
 *
 * @source MCP 2026-07-28 and 2025-11-25, transports, Streamable HTTP
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from '../../core/words/principal.ts'
import { InFlight } from '../wire/in-flight.ts'
import { drain } from './drain.ts'
import { Lines, type AnswerTerms } from './http-answer.ts'
import { Arrivals } from './http-body.ts'
import { LOOPBACK_HOSTS, refuseOrigin, refuseRepeats, type HttpRefusal } from './http-guard.ts'
import { HttpVisit, type HttpHall } from './http-visit.ts'
import { createMemorySessions } from './memory-sessions.ts'
import { createDoor, type Door, type DoorOptions, type DoorPorts } from './options.ts'
import { createUnread } from './outgoing.ts'
import { createSessionless } from './sessionless.ts'
import { createSessions, type Sessions } from './sessions.ts'
import { stopReasonOf } from './visit.ts'

/** Who a request is from, or why it is not served. */
export type Authenticated = { readonly principal: Principal } | { readonly refused: HttpRefusal }

/** Tells it from the headers alone; at once, where nothing has to be asked for. */
export type Authenticate = (headers: IncomingHttpHeaders) => Authenticated | Promise<Authenticated>

export interface HttpDoorOptions extends DoorOptions {
  /** Called for every request, once Host and Origin were found good. */
  readonly authenticate: Authenticate
  /** Host names served, without ports. Default: those of loopback. */
  readonly allowedHosts?: readonly string[]
}

export interface HttpDoor {
  /** Answers one request whose body nobody has read. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void
  /** Takes nothing new, lets running requests answer for a while, then stops them. */
  close(): Promise<void>
}

export function createHttpDoor(ports: DoorPorts, options: HttpDoorOptions): HttpDoor {
  return new ServedDoor(createDoor(ports, options), options)
}

/** What all requests of one door share. */
class ServedDoor implements HttpDoor, HttpHall {
  readonly door: Door
  readonly authenticate: Authenticate
  readonly sessions: Sessions
  readonly sessionless = createSessionless()
  readonly arrivals: Arrivals
  readonly answers: AnswerTerms
  readonly #allowed: readonly string[]
  readonly #closing = new AbortController()
  readonly #running = new InFlight<HttpVisit>()
  /** Connections that wait for news: a session has one, so that they are bounded with the sessions. */
  readonly #listening = new InFlight<HttpVisit>()
  #isClosed = false

  constructor(door: Door, options: HttpDoorOptions) {
    const { clock, deadlines, limits } = door
    const store = options.sessions ?? createMemorySessions()
    this.door = door
    this.authenticate = options.authenticate
    this.sessions = createSessions(store, clock, limits, door.report)
    this.arrivals = new Arrivals(limits, deadlines)
    this.#allowed = (options.allowedHosts ?? LOOPBACK_HOSTS).map((host) => host.toLowerCase())
    this.answers = {
      unread: createUnread(limits.maxUnreadBytes),
      lines: new Lines(),
      deadlines,
      writeIdleMs: limits.writeIdleMs,
      streamAfterMs: limits.streamAfterMs,
      keepAliveMs: limits.keepAliveMs,
    }
    this.#closing.signal.addEventListener('abort', () => this.#withdrawAll())
  }

  get closing(): AbortSignal {
    return this.#closing.signal
  }

  handle = (request: IncomingMessage, response: ServerResponse): void => {
    const visit = new HttpVisit(this, request, response)
    visit.serve()
    visit.keepIn(request.method === 'GET' ? this.#listening : this.#running)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.door.leave()
    this.sessions.close()
    const all = (): Promise<unknown> =>
      Promise.allSettled([
        ...this.#running.all().map(({ over }) => over),
        ...this.#listening.all().map(({ over }) => over),
        this.door.parked.settled(),
      ])
    await drain(all, this.door.limits.drainMs, this.#closing)
  }

  /** Why a request is not even read. */
  refuse({ headers, rawHeaders, url }: IncomingMessage): HttpRefusal | undefined {
    return (
      this.#refuseLoad() ?? refuseRepeats(rawHeaders) ?? refuseOrigin(headers, this.#allowed, url)
    )
  }

  #refuseLoad(): HttpRefusal | undefined {
    const isFull = this.#running.size >= this.door.limits.maxInFlight
    // Nobody keeps others out by a message that never ends.
    if (this.#isClosed || (isFull && !this.arrivals.makeRoom())) {
      return refuseBusy('too busy to take another request now')
    }
    if (!this.answers.unread.isFull()) return undefined
    return refuseBusy('too many bytes of answers are waiting to be read')
  }

  #withdrawAll(): void {
    this.door.parked.shutDown()
    for (const visit of this.#running.all()) visit.withdraw(stopReasonOf(this.closing))
    for (const visit of this.#listening.all()) visit.withdraw(stopReasonOf(this.closing))
  }
}

function refuseBusy(message: string): HttpRefusal {
  return { status: 503, message, headers: { 'retry-after': '1' } }
}
