/**
 * Requests of session revisions that belong to no session: each stands alone, nothing is remembered, nobody is asked.
 *
 * Clients number their requests alike, so an id is no name here: a cancellation is heeded when exactly one running request of
 * its principal has that id, and otherwise means nothing.
 */
import type { RpcNotification } from '../wire/json-rpc.ts'
import { canceledKey, takeNotification } from './legacy.ts'
import type { Session } from './sessions.ts'

export interface Sessionless {
  /** Runs one request. @param session made for it alone. */
  run<T>(session: Session, work: () => Promise<T>): Promise<T>
  take(principal: string, notification: RpcNotification): void
}

export function createSessionless(): Sessionless {
  const running = new Map<string, Set<Session>>()
  return {
    run: async (session, work) => {
      const own = running.get(session.principal) ?? new Set()
      running.set(session.principal, own.add(session))
      try {
        return await work()
      } finally {
        own.delete(session)
        if (own.size === 0) running.delete(session.principal)
      }
    },
    take: (principal, notification) => {
      const key = canceledKey(notification)
      const named = [...(running.get(principal) ?? [])].filter(
        (session) => key !== undefined && session.running.has(key),
      )
      const [only] = named
      if (only !== undefined && named.length === 1) takeNotification(only.running, notification)
    },
  }
}
