/** The SessionStore port: reads from the reader, writes through the committer. */
import type { DatabaseSync } from 'node:sqlite'

import type { SessionStore } from '../core/ports/sessions.ts'
import { readSession, SELECT_SESSION, SELECT_SESSIONS } from './apply/sessions.ts'
import type { Committer } from './commit.ts'

/** The sessions of one store. */
export function createSessionStore(deps: {
  readonly committer: Committer
  readonly reader: DatabaseSync
}): SessionStore {
  const { committer, reader } = deps
  return {
    list: async () =>
      reader
        .prepare(SELECT_SESSIONS)
        .all()
        .flatMap((row) => readSession(row) ?? []),
    find: async (id) => {
      const row = reader.prepare(SELECT_SESSION).get({ id })
      return row === undefined ? undefined : readSession(row)
    },
    save: async (session) => {
      await committer.submit({ do: 'session_save', session })
    },
    // Not among the words that are kept when the disk refuses: those are about acts, and this is not.
    touch: (id, lastUsedAt) => {
      committer.submit({ do: 'session_touch', id, lastUsedAt }).catch(() => undefined)
    },
    remove: async (ids) => {
      await committer.submit({ do: 'session_remove', ids })
    },
  }
}
