/** What the verbs of a migration take and answer: plain JSON. */
import type {
  DeprecatedUse,
  OfferDifference,
  RevisionDecision,
} from '../../core/ports/migration.ts'

export type { DeprecatedUse, MigrationReport, OfferDifference } from '../../core/ports/migration.ts'

/** What a decision changed. */
export interface MigrationChange {
  readonly peer: string
  readonly decided: RevisionDecision['decided']
  /** It was so before: nothing was put on record. */
  readonly already: boolean
  readonly at: string
  readonly by: string
  readonly from: string
  readonly to: string
  /** Of all callers that are served by `to`, ten-thousandths: before and from now on. */
  readonly share: { readonly before: number; readonly after: number }
  /** The revision to write in the configuration in place of `canary:`, and the file. */
  readonly permanent: { readonly file: string; readonly revision: string }
}

export interface CompatInput {
  readonly peer: string
  readonly from?: string
  readonly to?: string
  /** How many recorded calls at most. Default 20. */
  readonly calls?: number
}

/** One of the two revisions that are compared. */
export interface ComparedSide {
  readonly revision: string
  /** Why it could not be looked at. */
  readonly problem?: string
  readonly callsItself?: string
  /** Of the calls that were made on both, milliseconds. */
  readonly medianMs?: number
}

/** A capability that only one declares, or both otherwise. */
export interface ClaimDifference {
  readonly name: string
  readonly from?: string
  readonly to?: string
  /** The revisions themselves make it: it is no difference of the server's. */
  readonly ofRevision?: string
}

export interface CallDifference {
  readonly kind: string
  readonly capability: string
  /** The calls on record: what `comity explain` takes. */
  readonly callIds: { readonly from: string; readonly to: string }
  /** How each ended. */
  readonly from: string
  readonly to: string
  /** Where the results differ, as JSON pointers. */
  readonly places: readonly string[]
}

export interface ReplayedCalls {
  /** Recorded calls that only read, equal ones once, of which the arguments are kept. */
  readonly found: number
  readonly replayed: number
  readonly same: number
  readonly different: readonly CallDifference[]
  /** Why others could not be replayed, and how many. */
  readonly left: readonly { readonly reason: string; readonly count: number }[]
  /** Places that differ from call to call on one revision too, and were not compared. */
  readonly unsteady: number
}

export interface CompatReport {
  readonly peer: string
  readonly verdict: 'same' | 'different' | 'could_not'
  readonly from: ComparedSide
  readonly to: ComparedSide
  readonly claims: readonly ClaimDifference[]
  readonly offers: { readonly same: number; readonly different: readonly OfferDifference[] }
  readonly calls: ReplayedCalls
  readonly deprecated: readonly DeprecatedUse[]
}
