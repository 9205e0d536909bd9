/** A peer made of plain data, for tests of what stands on the Peer port. */
import type { Peer, PeerListing } from '../../core/ports/peer.ts'
import type { Capability, CapabilityKind } from '../../core/words/capability.ts'
import { jsonTextOf } from '../../bridge/native-text.ts'
import { digest } from './world.ts'

export interface ScriptedPeer extends Peer {
  /** Replaces what it offers, and tells so; a promise is asked for and not answered yet. */
  offer(listing: PeerListing | Error | Promise<PeerListing>): void
}

export function capabilityOf(
  peer: string,
  kind: CapabilityKind,
  name: string,
  more: Record<string, unknown> = {},
): Capability {
  const member =
    kind === 'resource'
      ? { uri: name, name }
      : kind === 'template'
        ? { uriTemplate: name, name }
        : { name }
  const definition = jsonTextOf({ ...member, ...more })
  return {
    peer,
    protocol: 'mcp',
    kind,
    name,
    fingerprint: digest.json(definition),
    definition,
    hints: {},
  }
}

/** @param first what it offers at first; an Error cannot be listed; a promise is still starting. */
export function scriptedPeer(
  name: string,
  first: PeerListing | Error | Promise<PeerListing>,
): ScriptedPeer {
  const listeners = new Set<() => void>()
  let now: PeerListing | Error | Promise<PeerListing> = first
  return {
    name,
    protocol: 'mcp',
    endpoint: `endpoint of ${name}`,
    trusted: true,
    upstream: { call: () => Promise.reject(new Error('not called here')) },
    async listing() {
      const listing = await now
      if (listing instanceof Error) throw listing
      return listing
    },
    report: () => ({ state: 'ready', transport: 'stdio' }),
    onChanged(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => Promise.resolve(),
    offer(listing) {
      now = listing
      for (const listener of listeners) listener()
    },
  }
}
