/**
 * Commands: everything the store writes, as plain data that can cross to the worker thread.
 *
 * A command is applied whole or not at all; commands are applied in the order they were queued. `now` is the clock's word
 * when the command was made: the worker has no clock of its own.
 */
import type { EraVerdict } from '../core/ports/era-verdicts.ts'
import type { KeptPeer, ListingToKeep } from '../core/ports/kept-listings.ts'
import type { RevisionDecision } from '../core/ports/migration.ts'
import type { KeptSession } from '../core/ports/sessions.ts'
import type { EntryKind } from '../core/words/entry.ts'
import type { ComityErrorCode } from '../core/words/errors.ts'
import type { TaskState } from '../core/words/task.ts'

export type Facts = Readonly<Record<string, unknown>>

/**
 * What goes on record beside an entry: digested with a salt, and kept when small. Texts hold one byte in each character:
 * they cross threads for a fraction of what arrays of bytes cost.
 */
export type PayloadBytes = { readonly kind: 'arguments' | 'result' } & Payload

/** Bytes, or what is left of them; in the worker also bytes behind room for their salt. */
export type Payload =
  | { readonly latin1: string }
  | { readonly bytes: Uint8Array }
  | { readonly room: Buffer }
  | SaltedDigest

/** SHA-256 over salt and bytes. */
export interface SaltedDigest {
  readonly digest: string
  /** One byte in each character. */
  readonly salt: string
  readonly size: number
}

/** Canonical text of facts, cut where what is said of their payload goes: never at the end. */
export interface FactsText {
  readonly head: string
  readonly tail: string
}

/** A task row as it is written. `version` is the one loaded; the store counts it up. */
export interface TaskWrite {
  readonly id: string
  readonly version: number
  readonly principal: string
  readonly state: TaskState
  readonly callId: string
  /** The record without its version, as JSON text. */
  readonly document: string
}

export interface PartWrite {
  readonly kind: 'text' | 'raw' | 'url' | 'data'
  readonly content: Uint8Array
  readonly mediaType: string | null
  readonly filename: string | null
}

export interface CommitTask {
  readonly task: TaskWrite
  readonly artifactIds: readonly string[]
  readonly writes: readonly {
    readonly do: 'replace' | 'append'
    readonly artifactId: string
    readonly parts: readonly PartWrite[]
  }[]
  readonly effects?: readonly string[]
  readonly entry?: { readonly kind: EntryKind; readonly facts: string }
}

export interface PinKey {
  readonly peer: string
  readonly endpoint: string
  readonly kind: string
  readonly name: string
}

/** An opening that nothing but the call itself decides about. */
export interface OpenWords {
  readonly now: number
  readonly openedAt: number
  readonly sideEffect: boolean
  readonly actKey: string
  readonly principal: string
  readonly facts: FactsText
  readonly payload: PayloadBytes
}

export interface NoteWords {
  readonly now: number
  readonly kind: EntryKind
  readonly facts: string
}

export interface SettleWords {
  readonly now: number
  readonly state: 'settled' | 'unknown'
  /** It is known that it failed and did not run. */
  readonly neverRan: boolean
  readonly outcome: FactsText
  readonly payload: PayloadBytes | null
}

/** What happened to one call between two batches, in this order. */
export interface CallWords {
  readonly do: 'call'
  readonly callId: string
  readonly opened: OpenWords | null
  readonly notes: readonly NoteWords[]
  readonly settled: SettleWords | null
}

/** What else an opening may hang on. */
export interface OpenTerms {
  readonly endpoint: string
  readonly insist: string | null
  readonly approvalId: string | null
  /** The round before, in a multi round trip: it hands its approval on. */
  readonly continues: string | null
  readonly idempotency: { readonly key: string; readonly digest: string } | null
  readonly task: TaskWrite | null
}

interface OpenCall extends OpenTerms, Omit<OpenWords, 'now'> {
  readonly do: 'open'
  readonly callId: string
}

interface RefuseCall {
  readonly do: 'refuse'
  readonly callId: string
  readonly openedAt: number
  readonly principal: string
  readonly facts: FactsText
  readonly outcome: string
  readonly payload: PayloadBytes
}

interface SettleCall extends Omit<SettleWords, 'now'> {
  readonly do: 'settle'
  readonly callId: string
  readonly task: CommitTask | null
}

interface AskApproval {
  readonly do: 'approval_request'
  readonly id: string
  readonly digest: string
  /** The case as JSON text. */
  readonly asked: string
  readonly facts: Facts
  readonly ttlMs: number
}

interface AnswerApproval {
  readonly do: 'approval_answer'
  readonly id: string
  readonly state: 'approved' | 'denied'
  readonly by: string
}

export interface OpenCommand extends OpenCall {
  readonly now: number
}
export interface RefuseCommand extends RefuseCall {
  readonly now: number
}
export interface SettleCommand extends SettleCall {
  readonly now: number
}
export interface ApprovalRequestCommand extends AskApproval {
  readonly now: number
}
export interface ApprovalAnswerCommand extends AnswerApproval {
  readonly now: number
}

export type Intent =
  | CallWords
  | OpenCall
  | RefuseCall
  | SettleCall
  | AskApproval
  | AnswerApproval
  | {
      readonly do: 'note'
      readonly callId: string
      readonly kind: EntryKind
      readonly facts: string
    }
  | { readonly do: 'caller_gone'; readonly callId: string }
  | {
      readonly do: 'settle_by_hand'
      readonly callId: string
      readonly as: 'ran' | 'did_not_run'
      readonly by: string
      readonly note: string
    }
  | {
      readonly do: 'task_keep'
      readonly callId: string
      readonly task: TaskWrite
      readonly effects: readonly string[]
    }
  | {
      readonly do: 'task_commit'
      readonly commit: CommitTask
      readonly fence: { readonly owner: string; readonly number: number } | null
    }
  | {
      readonly do: 'claim'
      readonly owner: string
      readonly limit: number
      readonly leaseMs: number
      /** Kinds of effects, as a JSON list. */
      readonly effects: string
    }
  | {
      readonly do: 'release'
      readonly taskId: string
      readonly effect: string
      readonly claimedVersion: number
      readonly owner: string
      readonly fence: number
      /** Null: the effect is done. */
      readonly delayMs: number | null
    }
  | {
      readonly do: 'pin_accept'
      readonly pin: PinKey
      readonly fingerprint: string
      readonly definition: string
      readonly first: boolean
      /** This acceptance replaces every earlier one: the earlier ones cannot be believed. */
      readonly resets: boolean
      readonly by: string
    }
  | {
      readonly do: 'pin_change'
      readonly pin: PinKey
      readonly fingerprint: string
      readonly definition: string
    }
  | { readonly do: 'pin_restored'; readonly pin: PinKey }
  | { readonly do: 'revision_decide'; readonly decision: Omit<RevisionDecision, 'at'> }
  | { readonly do: 'session_save'; readonly session: KeptSession }
  | { readonly do: 'session_touch'; readonly id: string; readonly lastUsedAt: number }
  | { readonly do: 'session_remove'; readonly ids: readonly string[] }
  | { readonly do: 'listing_write'; readonly peer: KeptPeer; readonly listing: ListingToKeep }
  | { readonly do: 'verdict_write'; readonly endpoint: string; readonly verdict: EraVerdict }
  | { readonly do: 'verdict_forget'; readonly endpoint: string }
  | { readonly do: 'recover' }
  | { readonly do: 'unrecorded'; readonly count: number }

export type Command = (Exclude<Intent, CallWords> & { readonly now: number }) | CallWords

/** The answer to a command that nothing stood in the way of, where somebody may wait for one. */
export function plainAnswer(command: Command): unknown {
  if (command.do === 'open' || (command.do === 'call' && command.opened !== null)) return OPENED
  return command.do === 'settle' ? 'settled' : undefined
}

/** Nothing stood in the way of the opening. */
export const OPENED = { kind: 'opened' } as const

/** What became of one command. `unwritable`: the disk refused it; the same command may be tried again. */
export type Applied =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false
      readonly unwritable: boolean
      readonly code: ComityErrorCode
      readonly message: string
    }

export interface ChainHead {
  readonly seq: number
  readonly hash: string
}

export interface BatchDone {
  /** By place in the batch, those whose answer is not the plain one. */
  readonly applied: readonly (readonly [place: number, applied: Applied])[]
  readonly head: ChainHead
  /** Tasks whose rows changed. */
  readonly touched: readonly string[]
}
