/** The catalogue: what doors list and resolve names with. Housekeeping: guarded and counted, not recorded. */
import type { CapabilityKind } from '../words/capability.ts'
import type { JsonText } from '../words/native.ts'
import type { Principal } from '../words/principal.ts'
import type { Route } from '../words/route.ts'

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
}

export interface Catalogue {
  list(kind: ListKind, principal: Principal): Promise<Listing>
  /** Undefined for unknown and hidden alike. Waits, bounded, for a peer that is still starting. */
  resolve(kind: ListKind, exposed: string, principal: Principal): Promise<Route | undefined>
  /** A result linked these URIs: this principal may read them at that peer later. */
  linked(principal: Principal, peer: string, uris: readonly string[]): void
  /** The instructions peers gave, under headings, as untrusted text; undefined when none did. */
  instructions(principal: Principal): Promise<string | undefined>
  /** Calls back when lists changed; returns the way to stop. */
  onChanged(listener: (kind: ListKind) => void): () => void
}
