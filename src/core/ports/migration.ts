/**
 * A peer on its way from one protocol revision to another: how its callers are divided, what came of it, and what a person decided.
 *
 * Decisions are on record; everything else here is housekeeping of one process.
 */

/** Two revisions of one peer, as they were asked for. A decision holds for exactly this. */
export interface RevisionMove {
  readonly peer: string
  /** As of the peer: another address is another move. */
  readonly endpoint: string
  readonly from: string
  readonly to: string
  /** Of the callers that go to `to`, in ten-thousandths. */
  readonly share: number
}

export interface RevisionDecision extends RevisionMove {
  readonly decided: 'promoted' | 'rolled_back'
  /** ISO string. */
  readonly at: string
  readonly by: string
}

/** What was decided, kept with the record. */
export interface RevisionDecisions {
  /** The newest decision about exactly this move. */
  find(move: RevisionMove): RevisionDecision | undefined
  /** On record when it resolves. @throws ComityError `store_unwritable` */
  decide(decision: Omit<RevisionDecision, 'at'>): Promise<RevisionDecision>
}

/** One difference between what two revisions of a peer offer. */
export interface OfferDifference {
  /** A capability's kind, `instructions` or `list`. */
  readonly kind: string
  readonly name: string
  /** `missing`: only the older one has it; `added`: only the newer one. */
  readonly change: 'missing' | 'added' | 'changed'
  /** The change in lines for people: the peer's words, bounded. */
  readonly lines: readonly string[]
}

/** What one revision of a peer did since this process began. */
export interface RevisionCounts {
  readonly revision: string
  /** Of all callers, from 0 to 1, as it stands now. */
  readonly share: number
  readonly calls: number
  /** Calls that failed at the peer or on the way, and unknown ones. */
  readonly errors: number
  /** Calls whose tool reported an error. */
  readonly toolErrors: number
  /** Of calls that were answered, milliseconds; left out before the first. */
  readonly medianMs?: number
}

export interface MigrationReport {
  readonly from: RevisionCounts
  readonly to: RevisionCounts
  readonly decision?: Pick<RevisionDecision, 'decided' | 'at' | 'by'>
  /** Why no call goes to the newer revision now, though some should. */
  readonly suspended?: string
  /** Why the newer revision could not be listed, the last time it was tried. */
  readonly unlisted?: string
  /** Failures of the newer revision against its protocol or on the way to it. */
  readonly faults: number
  /** Calls that went to the older one since nothing of them had left for the newer. */
  readonly fellBack: number
  /** Calls that went to the older one since what they call differs. */
  readonly kept: number
  /** Callers of the share that stay with the older one, since something could not be sent to the newer. */
  readonly heldBack: number
  readonly differences: readonly OfferDifference[]
}

/** The part of a peer that can be moved. */
export interface Migrating {
  readonly move: RevisionMove
  report(): MigrationReport
  /** Takes effect for the next call. It is on record before. */
  apply(decision: RevisionDecision): void
}

/** A feature of the protocol that is deprecated or gone, as it was seen in use at a peer. */
export interface DeprecatedUse {
  readonly feature: string
  /** `gone`: the newest revision does not have it. */
  readonly state: 'deprecated' | 'gone'
  /** The revision that deprecated or removed it. */
  readonly since: string
  /** When it may be removed, in words; left out where it is gone. */
  readonly removal?: string
  /** What to use instead. */
  readonly instead: string
  readonly count: number
  /** Where it was seen last, such as a tool's name. */
  readonly where: string
  /** ISO string. */
  readonly lastAt: string
}
