/** The catalogue: what doors list and resolve names with. Housekeeping: guarded and counted, not recorded. */
import type { CapabilityKind } from '../words/capability.ts'
import type { JsonText } from '../words/native.ts'
import type { Principal } from '../words/principal.ts'
import type { Route } from '../words/route.ts'
import type { PeerFeatures, PeerQuery, QueryAnswer } from './peer.ts'

export type ListKind = Exclude<CapabilityKind, 'agent'>

export interface ListedItem {
  readonly exposed: string
  /** The definition as callers see it: the peer's bytes with the name (or URI) replaced. */
  readonly definition: JsonText
}

export interface Listing {
  readonly items: readonly ListedItem[]
  /** Peers or capabilities that are missing now, and why: goes out under our own `_meta` key. */
  readonly missing: readonly { readonly peer: string; readonly reason: string }[]
  /** How long a caller may keep it, milliseconds. */
  readonly ttlMs: number
  /** True when every peer failed: an error, not an empty list. */
  readonly allFailed: boolean
  /** True when a call may come to last longer than its caller waits: there is work that is told of by a handle. */
  readonly longWork?: boolean
  /** True when a peer is missing, and the operator wants no list without it. */
  readonly incomplete?: boolean
  /** Peers that are still starting, shown as they were listed last: when that was, ISO string. Also under our own `_meta` key. */
  readonly stale?: readonly { readonly peer: string; readonly at: string }[]
}

export interface Catalogue {
  list(kind: ListKind, principal: Principal): Promise<Listing>
  /** Undefined for unknown and hidden alike. Waits, bounded, for a peer that is still starting. */
  resolve(
    kind: ListKind,
    exposed: string,
    principal: Principal,
  ): Route | undefined | Promise<Route | undefined>
  /** A result linked these URIs: this principal may read them at that peer later. */
  linked(principal: Principal, peer: string, uris: readonly string[]): void
  /**
   * Makes these URIs of a peer readable for this principal, listed or not. A URI that another peer's is already gets a scoped one.
   *
   * @returns the addresses in order; undefined in place of one that this principal may not see.
   */
  expose?(
    principal: Principal,
    peer: string,
    uris: readonly string[],
  ): readonly (string | undefined)[]
  /** The instructions peers gave, under headings, as untrusted text; undefined when none did. */
  instructions(principal: Principal): Promise<string | undefined>
  /** Calls back when lists changed, for a principal only when it would see that; returns the way to stop. */
  onChanged(listener: (kind: ListKind) => void, principal?: Principal): () => void
  /** What the peers that this principal may know of support beyond lists and calls; present when peers can. */
  features?(principal: Principal): Promise<PeerFeatures>
  /**
   * Asks the peer behind a route something that is no act: completion, a method of an extension.
   *
   * @throws ComityError `not_allowed` saying why that peer cannot be asked.
   */
  query?(route: Route, query: PeerQuery, signal: AbortSignal): Promise<QueryAnswer>
  /** The peers that this principal may know of which support an extension, in the order of the configuration. */
  peersWith?(extension: string, principal: Principal): Promise<readonly AskedPeer[]>
  /**
   * Calls back when the peer says that this resource, or one below it, changed, with that one's URI as callers know it.
   *
   * @returns the way to stop; undefined when that peer does not tell of updates.
   */
  watch?(route: Route, listener: (exposedUri: string) => void): (() => void) | undefined
}

/** A peer to be asked what belongs to none of its capabilities. */
export interface AskedPeer {
  readonly name: string
  /** @throws ComityError `not_allowed` saying why it cannot be asked. */
  query(query: PeerQuery, signal: AbortSignal): Promise<QueryAnswer>
}
