/**
 * Who is told that lists changed: whoever listens for everything, and a principal only of lists that it would see changed.
 *
 * A notice to someone else's eyes would say that something hidden is there.
 */
import type { ListKind } from '../../core/ports/catalogue.ts'
import type { Principal } from '../../core/words/principal.ts'

/** What a principal sees of one list, as text that is equal for equal lists. */
export type SeenBy = (kind: ListKind, principal: Principal) => string

export interface ListChanges {
  listen(listener: (kind: ListKind) => void, principal?: Principal): () => void
  /** The lists may have changed. */
  tell(): void
}

interface Watched {
  readonly principal: Principal
  readonly listeners: Set<(kind: ListKind) => void>
  seen: ReadonlyMap<ListKind, string>
}

const KINDS: readonly ListKind[] = ['tool', 'resource', 'template', 'prompt']

/** @param seenBy asked once for each principal that listens, however many listeners it has. */
export function createListChanges(seenBy: SeenBy): ListChanges {
  const everything = new Set<(kind: ListKind) => void>()
  const watched = new Map<string, Watched>()
  const look = (principal: Principal): ReadonlyMap<ListKind, string> =>
    new Map(KINDS.map((kind) => [kind, seenBy(kind, principal)]))

  const listenAs = (principal: Principal, listener: (kind: ListKind) => void): (() => void) => {
    const key = JSON.stringify(principal)
    const one = watched.get(key) ?? { principal, listeners: new Set(), seen: look(principal) }
    watched.set(key, one)
    // Listeners are told one by one even when the same function listens twice.
    const own = (kind: ListKind): void => listener(kind)
    one.listeners.add(own)
    return () => {
      one.listeners.delete(own)
      if (one.listeners.size === 0 && watched.get(key) === one) watched.delete(key)
    }
  }
  return {
    listen(listener, principal) {
      if (principal !== undefined) return listenAs(principal, listener)
      everything.add(listener)
      return () => everything.delete(listener)
    },
    tell() {
      for (const listener of everything) for (const kind of KINDS) listener(kind)
      for (const one of watched.values()) {
        const before = one.seen
        one.seen = look(one.principal)
        const kinds = KINDS.filter((kind) => before.get(kind) !== one.seen.get(kind))
        for (const listener of one.listeners) for (const kind of kinds) listener(kind)
      }
    },
  }
}
