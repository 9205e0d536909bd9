/**
 * The `policy` section as it stands after the config was checked. The rules' meaning is policy.ts's; their
 * form is config/'s.
 */
import type { CapabilityKind } from '../../core/words/capability.ts'
import type { Effect } from '../../core/words/policy.ts'
import type { Risk } from '../../core/words/risk.ts'

/** One rule. A list left out restricts nothing; an empty list matches nothing. */
export interface PolicyRule {
  /** Globs `peer/capability`. The peer part ends at the first `/`; `*` in the capability part matches anything, `/` too. */
  readonly match: readonly string[]
  /** Globs taken out of `match` again. */
  readonly except?: readonly string[]
  readonly kind?: readonly (CapabilityKind | 'question')[]
  /** Principal ids, exact. */
  readonly principal?: readonly string[]
  /** Any one of these groups. */
  readonly groups?: readonly string[]
  /** Replaces what the peer's hints say. The last matching rule that has one wins. */
  readonly risk?: Risk
  readonly effect?: Effect
  /** A CEL condition. */
  readonly when?: string
  /** How long an approval asked for under this rule may be waited for, milliseconds. */
  readonly ttlMs?: number
  /** Who approves. Only the operator does in this version. */
  readonly approver?: 'operator'
}

export interface PolicySection {
  readonly preset: 'personal' | 'team'
  /** Decisions are named in the record and not enforced. */
  readonly shadow: boolean
  readonly rules: readonly PolicyRule[]
}

/** What holds without a `policy:` section. */
export const DEFAULT_POLICY: PolicySection = { preset: 'personal', shadow: false, rules: [] }
