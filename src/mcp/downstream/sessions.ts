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
  /** @returns undefined when all places are taken by sessions with running requests. */
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
  const makeRoom = (): boolean => {
    for (const session of sessions.values()) if (isIdle(session)) sessions.delete(session.id)
    if (sessions.size < bounds.maxSessions) return true
    for (const session of sessions.values()) {
      if (session.running.size > 0) continue
      sessions.delete(session.id)
      return true
    }
    return false
  }
  return {
    open: (principal, revision) => {
      if (!makeRoom()) return undefined
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
