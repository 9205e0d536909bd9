/**
 * A peer's listing as it is kept in the store, and back: what is shown while the peer starts.
 *
 * Only what was accepted comes back, and only while it is what its fingerprint says: the store lies on a disk. Hints are read from the
 * definition anew.
 */
import type { KeptListing, KeptListings, ListingToKeep } from '../../core/ports/kept-listings.ts'
import type { Peer, PeerListing } from '../../core/ports/peer.ts'
import type { Digest } from '../../core/ports/world.ts'
import type { Capability } from '../../core/words/capability.ts'
import type { JsonText } from '../../core/words/native.ts'
import { hintsOf } from '../../mcp/upstream/list.ts'
import { jsonText } from '../../mcp/wire/native.ts'
import { checkStrict } from '../../mcp/wire/strict.ts'

/** Keeps listings, and finds what was kept before this process began. */
export interface ListingKeeper {
  /** @returns undefined where nothing is kept of this peer at its present endpoint. */
  find(peer: Peer): { readonly listing: PeerListing; readonly at: string } | undefined
  keep(peer: Peer, listing: PeerListing): void
}

/** An agent's card as it is compared. */
export type CanonicalCard = (definition: unknown) => Uint8Array

/**
 * @param store where they lie.
 * @param canonicalCard left out where there are no agents.
 */
export function createListingKeeper(
  store: KeptListings,
  digest: Digest,
  canonicalCard?: CanonicalCard,
): ListingKeeper {
  /** As the peers' own folders make them when they list. */
  const fingerprintOf = (kind: Capability['kind'], definition: JsonText): string | undefined => {
    if (kind !== 'agent') return digest.json(definition)
    if (canonicalCard === undefined) return undefined
    return digest.text(new TextDecoder().decode(canonicalCard(definition.value())))
  }
  return {
    find(peer) {
      const kept = readKept(store, peer)
      if (kept === undefined) return undefined
      const { at, leftOut, instructions, features } = kept
      const capabilities = kept.capabilities.flatMap((one): Capability[] => {
        const definition = soundText(one.definition)
        if (definition === undefined || fingerprintOf(one.kind, definition) !== one.fingerprint)
          return []
        const { kind, name, fingerprint } = one
        const hints = kind === 'tool' ? hintsOf(definition.bytes) : {}
        const { name: of, protocol } = peer
        return [{ peer: of, protocol, kind, name, fingerprint, definition, hints }]
      })
      const listing = { capabilities, leftOut, ...present({ instructions, features }) }
      return { listing, at }
    },
    keep: (peer, listing) => store.write(peer, toKeep(listing)),
  }
}

/** What cannot be read is as if it was not there: it only spares a wait, and must not keep a gateway from starting. */
function readKept(store: KeptListings, peer: Peer): KeptListing | undefined {
  try {
    return store.read(peer)
  } catch {
    return undefined
  }
}

function toKeep({ capabilities, leftOut, instructions, features }: PeerListing): ListingToKeep {
  return {
    capabilities: capabilities.map(({ kind, name, fingerprint }) => ({ kind, name, fingerprint })),
    leftOut,
    ...present({ instructions, features }),
  }
}

type Said = Pick<PeerListing, 'instructions' | 'features'>

function present({
  instructions,
  features,
}: { readonly [K in keyof Said]: Said[K] | undefined }): Said {
  return {
    ...(instructions === undefined ? {} : { instructions }),
    ...(features === undefined ? {} : { features }),
  }
}

/** A definition longer than what is pinned was cut, and is none. */
function soundText(text: string): JsonText | undefined {
  const bytes = new TextEncoder().encode(text)
  try {
    checkStrict(bytes)
    return jsonText(bytes)
  } catch {
    return undefined
  }
}
