/**
 * Who wants to know of updates to which resource of one server, and the subscriptions of session
 * revisions that follow from it: one for each URI, however many watch it.
 *
 * A server may say of a resource below a watched one that it changed; whoever watches the upper one is
 * told with the URI that the server named.
 *
 * @source MCP 2025-11-25, server, resources, subscriptions; 2026-07-28, server, subscriptions.
 */
import { encodeJson } from '../wire/spans.ts'
import type { Connected } from './connect.ts'
import { LinkFailure } from './link.ts'

export type UpdateListener = (uri: string) => void

export interface ResourceWatches {
  /** @returns the way to stop. */
  add(uri: string, listener: UpdateListener): () => void
  /** Each once. */
  uris(): readonly string[]
  updated(uri: string): void
  /** Updates may have been missed: each is told of what it watches. */
  missed(): void
}

/** Makes the watches of one server. @param onUnion told when `uris` changed. */
export function createResourceWatches(onUnion: () => void): ResourceWatches {
  const watched = new Map<string, Set<{ readonly listener: UpdateListener }>>()
  const tell = (uri: string, about: string): void => {
    for (const { listener } of watched.get(uri) ?? []) listener(about)
  }
  return {
    add(uri, listener) {
      const entry = { listener }
      const known = watched.get(uri)
      if (known === undefined) watched.set(uri, new Set([entry]))
      else known.add(entry)
      if (known === undefined) onUnion()
      return () => {
        const entries = watched.get(uri)
        if (entries?.delete(entry) !== true || entries.size > 0) return
        watched.delete(uri)
        onUnion()
      }
    },
    uris: () => [...watched.keys()],
    updated(uri) {
      for (const one of watched.keys()) if (isAtOrBelow(uri, one)) tell(one, uri)
    },
    missed() {
      for (const one of watched.keys()) tell(one, one)
    },
  }
}

/** By whole segments: `a/b1` is not below `a/b`. */
function isAtOrBelow(uri: string, watched: string): boolean {
  if (!uri.startsWith(watched)) return false
  const rest = uri.slice(watched.length)
  return rest === '' || watched.endsWith('/') || /^[/?#]/.test(rest)
}

/** The subscriptions on one connection of a session revision. */
export interface LegacySubscriptions {
  /** The resources to be subscribed to; replaces what was wanted before. */
  want(uris: readonly string[]): void
}

const PATIENCE_MS = 30_000

interface Subscribed {
  wanted: boolean
  /** As the server was last told; one that refused is not asked again. */
  told: boolean
  busy: boolean
}

/** Makes the subscriptions of one connection; those of the one before ended with it. */
export function createLegacySubscriptions({ link }: Connected): LegacySubscriptions {
  const known = new Map<string, Subscribed>()
  const send = async (uri: string, one: Subscribed): Promise<void> => {
    one.busy = true
    while (one.told !== one.wanted) {
      one.told = one.wanted
      try {
        await link.request({
          id: link.nextId(),
          method: one.told ? 'resources/subscribe' : 'resources/unsubscribe',
          params: encodeJson({ uri }),
          followRedirect: true,
          signal: AbortSignal.timeout(PATIENCE_MS),
        })
      } catch (error) {
        // Nothing is owed to a server that cannot be told: the next connection begins anew.
        if (!(error instanceof LinkFailure)) throw error
      }
    }
    one.busy = false
    if (!one.wanted) known.delete(uri)
  }
  return {
    want(uris) {
      const wanted = new Set(uris)
      for (const uri of wanted) {
        if (!known.has(uri)) known.set(uri, { wanted: true, told: false, busy: false })
      }
      for (const [uri, one] of known) {
        one.wanted = wanted.has(uri)
        if (!one.busy && one.told !== one.wanted) void send(uri, one)
      }
    },
  }
}
