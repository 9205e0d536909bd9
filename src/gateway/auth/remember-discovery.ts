/** What was discovered, remembered for a while: bounded in number and age, forgotten on demand. */
import { discoverPeer, type AuthPeer, type Discovered, type RefusalWords } from './discover.ts'
import type { GuardedFetch } from './guarded-fetch.ts'
import { findServer, type ServerMetadata } from './server-metadata.ts'

/** Discovery with a memory. */
export interface Discovery {
  /** @param refusal with one the peer's own metadata is read again: it may have moved. */
  discover(
    peer: AuthPeer,
    refusal: RefusalWords | undefined,
    signal: AbortSignal,
  ): Promise<Discovered>
  forget(peer: AuthPeer): void
}

/** What it depends on, and its bounds. */
export interface DiscoveryOptions {
  readonly fetchFor: (peer: AuthPeer) => GuardedFetch
  readonly now: () => number
  /** Default ten minutes. */
  readonly maxAgeMs?: number
  /** Of peers and of authorization servers. Default 256. */
  readonly maxEntries?: number
}

interface Entry<T> {
  readonly at: number
  readonly value: T
}

/** @returns a discovery that remembers nothing yet. */
export function createDiscovery(options: DiscoveryOptions): Discovery {
  const peers = new Map<string, Entry<Discovered>>()
  const servers = new Map<string, Entry<ServerMetadata>>()
  const maxAgeMs = options.maxAgeMs ?? 600_000
  const maxEntries = options.maxEntries ?? 256

  function recall<T>(entries: Map<string, Entry<T>>, key: string): T | undefined {
    const entry = entries.get(key)
    if (entry !== undefined && options.now() - entry.at < maxAgeMs) return entry.value
    entries.delete(key)
    return undefined
  }

  function keep<T>(entries: Map<string, Entry<T>>, key: string, value: T): T {
    entries.delete(key)
    const oldest = entries.keys().next().value
    if (entries.size >= maxEntries && oldest !== undefined) entries.delete(oldest)
    entries.set(key, { at: options.now(), value })
    return value
  }

  return {
    async discover(peer, refusal, signal) {
      const key = keyOf(peer)
      const known = refusal === undefined ? recall(peers, key) : undefined
      if (known !== undefined) return known
      const fetchGuarded = options.fetchFor(peer)
      const found = await discoverPeer(
        fetchGuarded,
        peer,
        refusal,
        signal,
        async (issuer, tried, spellings) => {
          // One peer's trust opens addresses that another's does not: what was read for one is not another's.
          const place = `${key}\n${issuer}`
          const remembered = recall(servers, place)
          if (remembered !== undefined) return remembered
          const server = await findServer(fetchGuarded, issuer, tried, signal, spellings)
          return server === undefined ? undefined : keep(servers, place, server)
        },
      )
      return keep(peers, key, found)
    },
    forget(peer) {
      const key = keyOf(peer)
      peers.delete(key)
      for (const place of servers.keys()) if (place.startsWith(`${key}\n`)) servers.delete(place)
    },
  }
}

function keyOf({ name, url, auth }: AuthPeer): string {
  return JSON.stringify([name, url, auth.issuer])
}
