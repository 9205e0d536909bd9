/**
 * Sessions of legacy callers over HTTP: in memory, bound to their principal, bounded in number and idle time.
 *
 * A session is a label for what `initialize` agreed on, not a credential: another principal that names it does not find it.
 */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/ports/world.ts'
import type { Principal } from '../../core/words/principal.ts'
import type { LegacyRevision } from '../wire/rev-2025-11-25.ts'
import type { LogLevel } from './request-meta.ts'

/** What one `initialize` agreed on, and what runs under it. */
export interface Session {
  readonly id: string
  readonly principal: Principal
  readonly revision: LegacyRevision
  logLevel?: LogLevel
  lastUsedAt: number
  /** Running requests by id key. */
  readonly running: Map<string, AbortController>
}

export interface Sessions {
  /**
   * @returns undefined when all places are taken and none can be freed: sessions with running requests stay, and so do
   * those of principals that hold no more of them than this one.
   */
  open(principal: Principal, revision: LegacyRevision): Session | undefined
  /** Undefined for unknown, ended, idle too long, and another principal's alike. */
  find(id: string, principal: Principal): Session | undefined
  end(session: Session): void
}

/** A session that is not kept anywhere: of a pipe, or until it is opened. */
export function createSession(
  principal: Principal,
  revision: LegacyRevision,
  now: number,
): Session {
  const id = randomBytes(24).toString('base64url')
  return { id, principal, revision, lastUsedAt: now, running: new Map() }
}

export function createSessions(
  clock: Clock,
  bounds: { readonly maxSessions: number; readonly sessionIdleMs: number },
): Sessions {
  // Kept in order of use: the first one is the one unused for longest.
  const sessions = new Map<string, Session>()
  const isIdle = (session: Session): boolean =>
    session.running.size === 0 && clock.now() - session.lastUsedAt > bounds.sessionIdleMs
  const makeRoom = (opener: string): boolean => {
    for (const session of sessions.values()) if (isIdle(session)) sessions.delete(session.id)
    if (sessions.size < bounds.maxSessions) return true
    const victim = chooseVictim(sessions.values(), opener)
    return victim !== undefined && sessions.delete(victim.id)
  }
  return {
    open: (principal, revision) => {
      if (!makeRoom(principal.id)) return undefined
      const session = createSession(principal, revision, clock.now())
      sessions.set(session.id, session)
      return session
    },
    find: (id, principal) => {
      const session = sessions.get(id)
      if (session === undefined || session.principal.id !== principal.id) return undefined
      sessions.delete(id)
      if (isIdle(session)) return undefined
      session.lastUsedAt = clock.now()
      sessions.set(id, session)
      return session
    },
    end: (session) => {
      sessions.delete(session.id)
    },
  }
}

/**
 * Who makes room when all places are taken: the opener itself, or whoever holds more than the opener, so that nobody
 * pushes out one that has less. Of that holder the session unused for longest, never one at work.
 */
function chooseVictim(byUse: Iterable<Session>, opener: string): Session | undefined {
  const held = new Map<string, { count: number; free?: Session }>([[opener, { count: 0 }]])
  for (const session of byUse) {
    const holder = held.get(session.principal.id) ?? { count: 0 }
    holder.count += 1
    if (session.running.size === 0) holder.free ??= session
    held.set(session.principal.id, holder)
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
