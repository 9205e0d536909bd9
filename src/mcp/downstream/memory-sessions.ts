/** The default place of sessions: this process's memory. */
import type { KeptSession, SessionStore } from '../../core/ports/sessions.ts'

/** Sessions that end with this process. */
export function createMemorySessions(): SessionStore {
  const kept = new Map<string, KeptSession>()
  return {
    list: () =>
      Promise.resolve(
        [...kept.values()].toSorted((one, other) => one.lastUsedAt - other.lastUsedAt),
      ),
    find: (id) => Promise.resolve(kept.get(id)),
    save: (session) => {
      kept.set(session.id, session)
      return Promise.resolve()
    },
    touch: (id, lastUsedAt) => {
      const session = kept.get(id)
      if (session !== undefined) kept.set(id, { ...session, lastUsedAt })
    },
    remove: (ids) => {
      for (const id of ids) kept.delete(id)
      return Promise.resolve()
    },
  }
}
