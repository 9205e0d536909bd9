/**
 * Sessions of legacy callers: bound to their principal, bounded in number and idle time, kept where a restart finds them.
 *
 * A session is a label for what `initialize` agreed on, not a credential: another principal that names it does not find it.
 * Its row is durable before its id is shown. What lives with a process only is made anew around a row that is found.
 */
import { randomBytes } from 'node:crypto'
import type { KeptSession, SessionStore } from '../../core/ports/sessions.ts'
import type { Clock } from '../../core/ports/world.ts'
import { createLiveQuestions, type LiveQuestions, type QuestionBounds } from './live-questions.ts'
import type { DoorLimits } from './options.ts'
import { createReplayBudget, type ReplayBudget } from './replay-budget.ts'
import { NO_NEWS, type SessionNews } from './session-news.ts'
import { createSessionStreams, type SessionStreams } from './session-streams.ts'
import { encodeTerms, parseTerms, type SessionTerms } from './session-terms.ts'

/** What one `initialize` agreed on, and what runs under it. */
export interface Session {
  readonly id: string
  /** Id of the principal that it is bound to. */
  readonly principal: string
  readonly terms: SessionTerms
  lastUsedAt: number
  /** Running requests by id key. */
  readonly running: Map<string, AbortController>
  readonly questions: LiveQuestions
  /** Set once the session may be told what it did not ask for. */
  news?: SessionNews
  /** Puts what the terms are now on disk. @throws ComityError `store_unwritable`. */
  save(): Promise<void>
}

/** A session over HTTP, which has streams. */
export interface HttpSession extends Session {
  readonly streams: SessionStreams
}

export interface Sessions {
  /**
   * Durable when it resolves.
   *
   * @returns undefined when all places are taken and none can be freed: sessions at work stay, and so do those of principals
   * that hold no more of them than this one.
   */
  open(principal: string, terms: SessionTerms): Promise<HttpSession | undefined>
  /** Undefined for unknown, ended, idle too long, and another principal's alike. */
  find(id: string, principal: string): Promise<HttpSession | undefined>
  /** This principal was issued a session that it has not ended. */
  holds(principal: string): Promise<boolean>
  /** Cancels what it was asked, ends its streams, takes it out of the store. */
  end(session: HttpSession): Promise<void>
  /** The door closes: ends every connection that waits for news; the sessions stay. */
  close(): void
}

/** Uses closer together than this are not written one by one. */
const TOUCH_MS = 60_000

/** A session that is kept nowhere: of a pipe, or of one request. */
export function createSession(
  principal: string,
  terms: SessionTerms,
  bounds: QuestionBounds,
  now: number,
): Session {
  return {
    id: freshSessionId(),
    principal,
    terms,
    lastUsedAt: now,
    running: new Map(),
    questions: createLiveQuestions(terms, bounds),
    save: () => Promise.resolve(),
  }
}

/** Cancels everything that belongs to a session. */
export function endSession(session: Session): void {
  session.questions.end()
  session.news?.end()
  // A request of it that still runs must not begin to watch.
  session.news = NO_NEWS
  for (const controller of session.running.values()) controller.abort('caller_canceled')
}

export type SessionBounds = QuestionBounds &
  Pick<DoorLimits, 'maxSessions' | 'sessionIdleMs' | 'maxReplayBytes' | 'replayMs'>

export function createSessions(
  store: SessionStore,
  clock: Clock,
  bounds: SessionBounds,
  report: (fault: unknown) => void,
): Sessions {
  const table = new SessionTable(store, clock, bounds)
  return {
    open: (principal, terms) => table.open(principal, terms),
    find: async (id, principal) => {
      const session = await table.load(id)
      if (session === undefined || session.principal !== principal) return undefined
      if (!table.isOver(session)) {
        table.use(session)
        return session
      }
      await table.remove([session]).catch(report)
      return undefined
    },
    holds: async (principal) => {
      const all = await table.all()
      return all.some((session) => session.principal === principal && !table.isOver(session))
    },
    end: (session) => table.remove([session]),
    close: () => table.close(),
  }
}

/** The sessions of one door: rows of the store with what lives beside them. */
class SessionTable {
  readonly #store: SessionStore
  readonly #clock: Clock
  readonly #bounds: SessionBounds
  readonly #budget: ReplayBudget
  /** Kept in order of use: the first one is the one unused for longest. */
  readonly #sessions = new Map<string, HttpSession>()
  /** When each one's use was last written. */
  readonly #touched = new Map<string, number>()
  readonly #ending = new Set<string>()
  #opening = 0
  #loaded: Promise<void> | undefined
  readonly #watch: NodeJS.Timeout

  constructor(store: SessionStore, clock: Clock, bounds: SessionBounds) {
    this.#store = store
    this.#clock = clock
    this.#bounds = bounds
    this.#budget = createReplayBudget(bounds.maxReplayBytes, bounds.replayMs)
    this.#watch = setInterval(() => this.#noteThoseAtWork(), TOUCH_MS).unref()
  }

  async open(principal: string, terms: SessionTerms): Promise<HttpSession | undefined> {
    await this.#loadAll()
    // Its place is taken from here on, whoever else opens one meanwhile.
    this.#opening += 1
    try {
      if (!(await this.#makeRoom(principal))) return undefined
      const id = freshSessionId()
      const row = { id, principal, terms: encodeTerms(terms), lastUsedAt: this.#clock.now() }
      await this.#store.save(row)
      return this.#make(row)
    } finally {
      this.#opening -= 1
    }
  }

  async load(id: string): Promise<HttpSession | undefined> {
    await this.#loadAll()
    const known = this.#sessions.get(id)
    if (known !== undefined) return known
    // Another door of this process may have opened it since.
    const row = await this.#store.find(id)
    const isThere = row !== undefined && !this.#ending.has(id)
    return this.#sessions.get(id) ?? (isThere ? this.#make(row) : undefined)
  }

  async all(): Promise<readonly HttpSession[]> {
    await this.#loadAll()
    return [...this.#sessions.values()]
  }

  isOver(session: HttpSession): boolean {
    const idleMs = this.#clock.now() - session.lastUsedAt
    return !isAtWork(session) && idleMs > this.#bounds.sessionIdleMs
  }

  use(session: HttpSession): void {
    const now = this.#clock.now()
    session.lastUsedAt = now
    this.#sessions.delete(session.id)
    this.#sessions.set(session.id, session)
    if (now - (this.#touched.get(session.id) ?? 0) < TOUCH_MS) return
    this.#touched.set(session.id, now)
    this.#store.touch(session.id, now)
  }

  async remove(gone: readonly HttpSession[]): Promise<void> {
    if (gone.length === 0) return
    const ids = gone.map(({ id }) => id)
    for (const session of gone) this.#forget(session)
    // Its row is read until it is gone: meanwhile nobody finds it.
    for (const id of ids) this.#ending.add(id)
    try {
      await this.#store.remove(ids)
    } finally {
      for (const id of ids) this.#ending.delete(id)
    }
  }

  close(): void {
    clearInterval(this.#watch)
    this.#noteThoseAtWork()
    for (const session of this.#sessions.values()) session.streams.own.release()
  }

  /** A caller that only listens uses its session too: a restart has to find it in use. */
  #noteThoseAtWork(): void {
    const atWork = [...this.#sessions.values()].filter(isAtWork)
    for (const session of atWork) this.use(session)
  }

  /** Read once, when the first caller comes: how many there are has to be known before another is opened. */
  #loadAll(): Promise<void> {
    this.#loaded ??= this.#store.list().then(
      (rows) => {
        // What this version cannot read, nobody can use.
        const unread = rows.filter((row) => this.#make(row) === undefined)
        if (unread.length > 0) this.#store.remove(unread.map(({ id }) => id)).catch(() => undefined)
      },
      (fault: unknown) => {
        this.#loaded = undefined
        throw fault
      },
    )
    return this.#loaded
  }

  #make(row: KeptSession): HttpSession | undefined {
    const terms = parseTerms(row.terms)
    if (terms === undefined) return undefined
    const session: HttpSession = {
      ...createSession(row.principal, terms, this.#bounds, row.lastUsedAt),
      id: row.id,
      streams: createSessionStreams(this.#budget, row.id),
      save: async () => {
        // An ended session must not come back by a late word of one of its requests.
        if (this.#sessions.get(session.id) === session) await this.#store.save(rowOf(session))
      },
    }
    this.#sessions.set(row.id, session)
    this.#touched.set(row.id, row.lastUsedAt)
    return session
  }

  #forget(session: HttpSession): void {
    this.#sessions.delete(session.id)
    this.#touched.delete(session.id)
    endSession(session)
    session.streams.forget()
  }

  async #makeRoom(opener: string): Promise<boolean> {
    await this.remove([...this.#sessions.values()].filter((session) => this.isOver(session)))
    while (this.#sessions.size + this.#opening > this.#bounds.maxSessions) {
      const victim = chooseVictim(this.#sessions.values(), opener)
      if (victim === undefined) return false
      await this.remove([victim])
    }
    return true
  }
}

function freshSessionId(): string {
  return randomBytes(24).toString('base64url')
}

function rowOf(session: HttpSession): KeptSession {
  const { id, principal, lastUsedAt } = session
  return { id, principal, terms: encodeTerms(session.terms), lastUsedAt }
}

function isAtWork(session: HttpSession): boolean {
  return session.running.size > 0 || session.streams.isListening()
}

/**
 * Who makes room when all places are taken: the opener itself, or whoever holds more than the opener, so that nobody
 * pushes out one that has less. Of that holder the session unused for longest, never one at work.
 */
function chooseVictim(byUse: Iterable<HttpSession>, opener: string): HttpSession | undefined {
  const held = new Map<string, { count: number; free?: HttpSession }>([[opener, { count: 0 }]])
  for (const session of byUse) {
    const holder = held.get(session.principal) ?? { count: 0 }
    holder.count += 1
    if (!isAtWork(session)) holder.free ??= session
    held.set(session.principal, holder)
  }
  // The opener stands first: among equals it makes room itself.
  const own = held.get(opener)
  let most = own?.free === undefined ? undefined : own
  for (const holder of held.values()) {
    if (holder.free === undefined || holder.count <= (most?.count ?? own?.count ?? 0)) continue
    most = holder
  }
  return most?.free
}
