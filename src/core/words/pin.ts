/** A pin: the definitions of one capability that were accepted, bound to the endpoint they were seen at. */
import type { CapabilityKind } from './capability.ts'

export type PinState = 'accepted' | 'changed' | 'unseen'

export interface PinChange {
  readonly peer: string
  readonly endpoint: string
  readonly kind: CapabilityKind
  readonly name: string
  readonly accepted: string
  readonly seen: string
  /** Definitions as JSON text, for the diff. */
  readonly before: string
  readonly after: string
  readonly seenAt: string
}

export type PinClass = 'text' | 'widened' | 'narrowed' | 'annotations' | 'other'
