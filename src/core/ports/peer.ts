/** A peer as the catalogue and people see it: what it offers, what was left out, how it was reached. Housekeeping. */
import type { Capability, LeftOut } from '../words/capability.ts'
import type { Protocol } from '../words/native.ts'
import type { Upstream } from './upstream.ts'

export interface PeerListing {
  readonly capabilities: readonly Capability[]
  readonly leftOut: readonly LeftOut[]
  /** The peer's instructions to models: its words, untrusted. */
  readonly instructions?: string
  /** How long this may stand for what the peer offers, milliseconds. Left out: until `onChanged`. */
  readonly freshForMs?: number
}

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
  close(): Promise<void>
}
