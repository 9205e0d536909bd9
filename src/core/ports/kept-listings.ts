/**
 * What peers offered when they were last listed, kept so that lists can be answered while they start. A listing is a hint: nothing is
 * sent by it, one that is missing costs a wait.
 */
import type { CapabilityKind, LeftOut } from '../words/capability.ts'
import type { PeerFeatures } from './peer.ts'

/** One peer at one endpoint. */
export interface KeptPeer {
  readonly name: string
  readonly endpoint: string
}

export interface KeptCapability {
  readonly kind: CapabilityKind
  readonly name: string
  readonly fingerprint: string
}

export interface ListingToKeep<C extends KeptCapability = KeptCapability> {
  /** In the peer's order. */
  readonly capabilities: readonly C[]
  readonly leftOut: readonly LeftOut[]
  readonly instructions?: string
  readonly features?: PeerFeatures
}

/** With the definitions that were accepted; what was not is left out. */
export interface KeptListing extends ListingToKeep<
  KeptCapability & { readonly definition: string }
> {
  /** When the peer was listed, ISO string. */
  readonly at: string
}

/** Listings by peer and endpoint. Nobody waits for a write. */
export interface KeptListings {
  read(peer: KeptPeer): KeptListing | undefined
  write(peer: KeptPeer, listing: ListingToKeep): void
}
