/** A route: a row of the trusted table from a model-visible name to one capability at one peer's endpoint. */
import type { CapabilityHints, CapabilityKind } from './capability.ts'
import type { Protocol } from './native.ts'

export interface Route {
  /** The name or URI callers use. */
  readonly exposed: string
  readonly peer: string
  readonly protocol: Protocol
  readonly kind: CapabilityKind
  /** The peer's own name or URI, byte for byte. For a template's route: the concrete URI. For an agent: the agent's name. */
  readonly capability: string
  /** Digest of launch line or URL: pins and approvals do not carry over to another endpoint. */
  readonly endpoint: string
  readonly fingerprint: string
  readonly hints: CapabilityHints
  /** The operator believes this peer's hints. */
  readonly trusted: boolean
  /** Capability whose pin this route stands under when it is not itself pinned: a template's URI, a linked resource. */
  readonly pinned?: { readonly kind: CapabilityKind; readonly name: string }
}

/** In place of a fingerprint: a resource that was linked, not listed, has no definition but its address. */
export function linkedFingerprint(uri: string): string {
  return `linked:${uri}`
}
