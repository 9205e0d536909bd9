/** An entry of the ledger: what people and programs read back. */

export type EntryKind =
  | 'opened'
  | 'dispatched'
  | 'settled'
  | 'refused'
  | 'asked'
  | 'answered'
  | 'dropped'
  | 'cancel_asked'
  | 'cancel_reported'
  | 'task_changed'
  | 'late_news'
  | 'judged'
  | 'approval_asked'
  | 'approval_answered'
  | 'pin_accepted'
  | 'revision_decided'
  | 'settled_by_hand'
  | 'recovered'

export interface Entry {
  /** Position in the chain, from 1. */
  readonly seq: number
  /** ISO string. Order is by `seq`, never by time. */
  readonly at: string
  readonly kind: EntryKind
  readonly callId?: string
  readonly taskId?: string
  /** Facts of the entry, plain JSON; payloads only as salted digests. */
  readonly facts: Readonly<Record<string, unknown>>
  readonly hash: string
}
