/** An approval of one exact call: principal, endpoint, fingerprint, exact arguments, expiry. Used once. */

export type ApprovalState = 'pending' | 'approved' | 'denied' | 'spent' | 'expired'

/** What a person is shown. Our words and the peer's stay apart. */
export interface ApprovalCase {
  /** Digest over principal, endpoint, fingerprint, operation and canonical arguments. */
  readonly digest: string
  readonly principal: string
  readonly peer: string
  readonly capability: string
  readonly endpoint: string
  readonly risk: string
  readonly rule: string
  /** The exact arguments, as the caller sent them. */
  readonly argumentsText: string
  /** The peer's description of the capability: its words. */
  readonly theirWords: string
}

export interface Approval extends ApprovalCase {
  readonly id: string
  readonly state: ApprovalState
  /** ISO strings. */
  readonly askedAt: string
  readonly expiresAt: string
  readonly answeredAt?: string
}
