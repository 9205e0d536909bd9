/** What the rules say of one call. Evaluated in the gateway; the words are core's. */
import type { Risk } from './risk.ts'

export type Effect = 'allow' | 'ask' | 'deny'

export interface Decision {
  readonly effect: Effect
  /** The rule that decided, as people refer to it: `rules[2] tickets/delete_*`, or `preset personal`. */
  readonly rule: string
  /** Digest of the whole policy: a change between decision and send is noticed. */
  readonly version: string
  readonly risk: Risk
  /** How long an approval under this rule may be waited for, milliseconds. */
  readonly approvalTtlMs: number
}
