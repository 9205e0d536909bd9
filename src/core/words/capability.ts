/** A capability: a tool, resource, template, prompt at an MCP peer, or an A2A agent as something to delegate to. */
import type { JsonText, Protocol } from './native.ts'

export type CapabilityKind = 'tool' | 'resource' | 'template' | 'prompt' | 'agent'

/** What a peer says of its own capability. Claims, believed only as far as the operator trusts the peer. */
export interface CapabilityHints {
  readonly readOnly?: boolean
  readonly destructive?: boolean
  readonly idempotent?: boolean
}

export interface Capability {
  readonly peer: string
  readonly protocol: Protocol
  readonly kind: CapabilityKind
  /** The peer's own name, or URI for a resource, URI template for a template; byte for byte. */
  readonly name: string
  /** Digest of the definition, bound into pins and approvals. */
  readonly fingerprint: string
  /** The definition as the peer sent it. */
  readonly definition: JsonText
  readonly hints: CapabilityHints
}

/** Something a peer offered that is not passed on, and why; shown by `up`, `ls` and in `_meta`. */
export interface LeftOut {
  readonly peer: string
  readonly kind: CapabilityKind
  readonly name: string
  readonly reason: string
}
