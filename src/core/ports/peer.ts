/** A peer as the catalogue and people see it: what it offers, what was left out, how it was reached. Housekeeping. */
import type { Capability, LeftOut } from '../words/capability.ts'
import type { JsonText, Native, Protocol } from '../words/native.ts'
import type { DeprecatedUse, Migrating } from './migration.ts'
import type { Upstream } from './upstream.ts'

export interface PeerListing {
  readonly capabilities: readonly Capability[]
  readonly leftOut: readonly LeftOut[]
  /** The peer's instructions to models: its words, untrusted. */
  readonly instructions?: string
  /** How long this may stand for what the peer offers, milliseconds. Left out: until `onChanged`. */
  readonly freshForMs?: number
  readonly features?: PeerFeatures
}

/** What a peer supports beyond its lists. */
export interface PeerFeatures {
  readonly completions: boolean
  /** Updates of single resources. */
  readonly subscribe: boolean
  readonly logging: boolean
  /** Work of its own that outlives a call. */
  readonly tasks?: boolean
  /** Extensions by identifier, with the settings the peer gave. */
  readonly extensions: Readonly<Record<string, unknown>>
}

/** A request that is no act: nothing runs by it, so it is guarded and counted, not recorded. */
export interface PeerQuery {
  /** The protocol's method name. */
  readonly method: string
  /** The params for the peer, its own names and URIs in them, without this hop's metadata. */
  readonly params: JsonText
  /** Value of the header that mirrors a name, where the method has one. */
  readonly name?: string
}

/** The peer's own result or error object. */
export type QueryAnswer =
  | { readonly kind: 'result'; readonly native: Native }
  | { readonly kind: 'error'; readonly native: Native }

export interface PeerReport {
  readonly state: 'starting' | 'ready' | 'failed' | 'disabled'
  /** `stdio`, `http`, `a2a jsonrpc`. */
  readonly transport: string
  /** `2026-07-28`, `2025-11-25`, `1.0`; undefined until reached. */
  readonly revision?: string
  /** The peer's own name and version: self-reported, drives nothing. */
  readonly callsItself?: string
  /** Why it failed, with the masked tail of what it printed. */
  readonly detail?: string
}

/** What a peer did that its protocol does not know, and what we could not pass on; shown, never fatal. */
export interface PeerCounts {
  /** Lines on its output that are no messages. */
  readonly noise: number
  /** The first of them, bounded. */
  readonly noiseSample: readonly string[]
  /** Answers to nothing that was asked, and second answers. */
  readonly stray: number
  /** Answers that gave our number back as something else. */
  readonly nonConforming: number
  /** Progress and logs that their callers were too slow to take. */
  readonly droppedEvents: number
}

export interface Peer {
  readonly name: string
  readonly protocol: Protocol
  /** Digest of launch line or URL. */
  readonly endpoint: string
  /** The operator believes its hints. */
  readonly trusted: boolean
  readonly upstream: Upstream
  /** Starts or reaches the peer when that has not happened, then what it offers. @throws Error saying why it cannot be listed. */
  listing(): Promise<PeerListing>
  report(): PeerReport
  /** Calls back when what it offers may have changed; returns the way to stop. */
  onChanged(listener: () => void): () => void
  /** Undefined while it is not connected; left out by peers that cannot tell. */
  counts?(): PeerCounts | undefined
  /** The last of what it printed beside the protocol, masked and bounded. Left out by peers that print nothing here. */
  printed?(): string
  /** Ends a pause after failures and starts or reaches it anew. Left out by peers that have nothing to start. @throws Error saying why it failed. */
  restart?(): Promise<void>
  /** @throws Error saying why it cannot be asked. */
  query?(query: PeerQuery, signal: AbortSignal): Promise<QueryAnswer>
  /** Calls back when the peer says that the resource, or one below it, changed: with that one's URI. Returns the way to stop. */
  watch?(uri: string, listener: (uri: string) => void): () => void
  /** Present while it is between two revisions of its protocol. */
  readonly migration?: Migrating
  /** Deprecated features of the protocol that were seen in use since the process began. Left out by peers that have none. */
  deprecated?(): readonly DeprecatedUse[]
  close(): Promise<void>
}
