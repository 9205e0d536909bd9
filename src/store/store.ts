/** What the store offers beyond core's ports: reading the record, answering approvals, pins, a person's word. */
import type { Approvals } from '../core/ports/checks.ts'
import type { Ledger } from '../core/ports/ledger.ts'
import type { EraVerdicts } from '../core/ports/era-verdicts.ts'
import type { RevisionDecisions } from '../core/ports/migration.ts'
import type { KeptListings } from '../core/ports/kept-listings.ts'
import type { SessionStore } from '../core/ports/sessions.ts'
import type { Tasks } from '../core/ports/tasks.ts'
import type { Approval } from '../core/words/approval.ts'
import type { CapabilityKind } from '../core/words/capability.ts'
import type { Entry, EntryKind } from '../core/words/entry.ts'
import type { PinChange, PinState } from '../core/words/pin.ts'
import type { CallState } from './apply/call-row.ts'

export interface EntryQuery {
  readonly callId?: string
  readonly taskId?: string
  readonly kind?: EntryKind
  /** Only entries after this seq. Then the oldest come first up to the limit, otherwise the newest are chosen. */
  readonly after?: number
  /** Default 100, at most 10,000. */
  readonly limit?: number
}

export interface StoredPayload {
  /** SHA-256 over salt and bytes. */
  readonly digest: string
  readonly callId: string
  readonly kind: string
  readonly size: number
  readonly salt: Uint8Array
  /** Absent when the payload was above 4 KiB: only its digest is kept. */
  readonly bytes?: Uint8Array
}

export interface StoredCall {
  readonly callId: string
  readonly state: CallState
  /** ISO strings. */
  readonly openedAt: string
  readonly settledAt?: string
  readonly principal: string
  readonly sideEffect: boolean
  readonly taskId?: string
  /** Route, decision, door, ids, salted digests; as the `opened` or `refused` entry has them. */
  readonly facts: Readonly<Record<string, unknown>>
  /** The outcome's facts; `byHand` when a person settled it. */
  readonly outcome?: Readonly<Record<string, unknown>>
  readonly arguments?: StoredPayload
  readonly result?: StoredPayload
  /** In order, at most 1000. */
  readonly entries: readonly Entry[]
}

/** What signed checkpoints say about the chain. */
export interface CheckpointReport {
  /** `unproven`: there were checkpoints, but the key or the file outside is missing. */
  readonly state: 'none' | 'proven' | 'unproven'
  readonly count: number
  /** Outside the database. */
  readonly newest?: { readonly seq: number; readonly at: string }
  /** The public key that signs now, base64url: to be noted elsewhere. */
  readonly key?: string
  /** What is missing or not covered, in words. */
  readonly notes: readonly string[]
}

export type Verification =
  | {
      readonly sound: true
      readonly entries: number
      readonly head: string
      readonly checkpoints: CheckpointReport
    }
  /** The first entry that is wrong, and why. */
  | { readonly sound: false; readonly seq: number; readonly reason: string }

/** The record, read back. */
export interface Records {
  /** In order of seq. */
  entries(query?: EntryQuery): readonly Entry[]
  call(callId: string): StoredCall | undefined
  payload(digest: string): StoredPayload | undefined
  /** Recomputes the whole chain and compares its end with what was acknowledged. */
  verify(): Promise<Verification>
}

/** The storage half of core's Approvals, and what people do with them. */
export interface StoredApprovals extends Omit<Approvals, 'describe'> {
  /** Newest first, at most 1000. */
  list(): readonly Approval[]
  /** @throws ComityError `not_found`, or `conflict` when it does not wait any more. */
  answer(id: string, state: 'approved' | 'denied', by: string): Promise<Approval>
}

/** One sight of one capability's definition. */
export interface PinSight {
  readonly peer: string
  readonly endpoint: string
  readonly kind: CapabilityKind
  readonly name: string
  readonly fingerprint: string
  /** JSON text, for the diff. */
  readonly definition: string
}

export interface Pins {
  /**
   * What a sight means: `first` is recorded as accepted, durable when it resolves.
   *
   * @throws ComityError `store_unwritable`: then the capability stays unseen.
   */
  sight(sight: PinSight): Promise<'first' | 'accepted' | 'changed'>
  /** From memory. Without a fingerprint: by the newest sight. */
  state(pin: Omit<PinSight, 'fingerprint' | 'definition'>, fingerprint?: string): PinState
  /** Another number whenever `state` may say something else than before. */
  readonly revision: number
  /** Changes that wait for a person. `before` is empty when the accepted definition was lost with its row. */
  changes(): readonly PinChange[]
  /** Accepts what is seen now, of one capability or of the whole peer. @returns what was accepted. */
  accept(peer: string, name: string | undefined, by: string): Promise<readonly PinChange[]>
  /** Capabilities whose pins do not fit the ledger: not trusted on first use, refused until accepted. */
  readonly mistrusted: readonly {
    readonly peer: string
    readonly kind: string
    readonly name: string
  }[]
}

export interface StoreReader extends Records {
  readonly tasks: Pick<Tasks, 'load' | 'list' | 'artifacts'>
  readonly approvals: Pick<StoredApprovals, 'list'>
  changes(): readonly PinChange[]
  close(): void
}

export interface Store extends Records {
  readonly ledger: Ledger
  readonly tasks: Tasks
  readonly approvals: StoredApprovals
  readonly pins: Pins
  readonly sessions: SessionStore
  /** What peers were found to speak. */
  readonly verdicts: EraVerdicts
  /** What a person decided about revisions of peers. */
  readonly revisions: RevisionDecisions
  /** What peers offered when they were last listed. */
  readonly listings: KeptListings
  /** Calls back with the ids of tasks that changed, after the commit. @returns the way to stop. */
  onTasksChanged(listener: (taskIds: readonly string[]) => void): () => void
  /** A person says what became of a call. @throws ComityError `not_found`, or `conflict` when the call is not unsettled. */
  settleByHand(
    callId: string,
    word: { readonly as: 'ran' | 'did_not_run'; readonly by: string; readonly note: string },
  ): Promise<void>
  /** Says, beside the store, how this process can be reached. */
  announce(ways: { readonly socket?: string; readonly url?: string }): void
  /** How many calls an earlier owner had left open; they are unknown now. */
  readonly recovered: number
  /** Resolves when everything queued so far is on disk, or was refused by it. */
  flush(): Promise<void>
  /** Flushes, then gives the store free. */
  close(): Promise<void>
}
