/**
 * Commands: everything the store writes, as plain data that can cross to the worker thread.
 *
 * A command is applied whole or not at all; commands are applied in the order they were queued. `now` is the clock's word
 * when the command was made: the worker has no clock of its own.
 */
import type { EraVerdict } from '../core/ports/era-verdicts.ts'
import type { KeptPeer, ListingToKeep } from '../core/ports/kept-listings.ts'
import type { KeptSession } from '../core/ports/sessions.ts'
import type { EntryKind } from '../core/words/entry.ts'
import type { ComityErrorCode } from '../core/words/errors.ts'
import type { TaskState } from '../core/words/task.ts'

export type Facts = Readonly<Record<string, unknown>>

/** What goes on record beside an entry: digested with a salt, and kept when small. */
export type PayloadBytes = { readonly kind: 'arguments' | 'result' } & Payload

/** Bytes, or what is left of them. */
export type Payload = { readonly bytes: Uint8Array } | SaltedDigest

/** SHA-256 over salt and bytes. */
export interface SaltedDigest {
  readonly digest: string
  readonly salt: Uint8Array
  readonly size: number
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

interface OpenCall {
  readonly do: 'open'
  readonly callId: string
  readonly openedAt: number
  readonly actKey: string
  readonly sideEffect: boolean
  readonly principal: string
  readonly endpoint: string
  readonly insist: string | null
  readonly approvalId: string | null
  /** The round before, in a multi round trip: it hands its approval on. */
  readonly continues: string | null
  readonly idempotency: { readonly key: string; readonly digest: string } | null
  readonly facts: Facts
  readonly payload: PayloadBytes
  readonly task: TaskWrite | null
}

interface RefuseCall {
  readonly do: 'refuse'
  readonly callId: string
  readonly openedAt: number
  readonly principal: string
  readonly facts: Facts
  readonly outcome: Facts
  readonly payload: PayloadBytes
}

interface SettleCall {
  readonly do: 'settle'
  readonly callId: string
  readonly state: 'settled' | 'unknown'
  readonly outcome: Facts
  readonly payload: PayloadBytes | null
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
  | { readonly do: 'session_save'; readonly session: KeptSession }
  | { readonly do: 'session_touch'; readonly id: string; readonly lastUsedAt: number }
  | { readonly do: 'session_remove'; readonly ids: readonly string[] }
  | { readonly do: 'listing_write'; readonly peer: KeptPeer; readonly listing: ListingToKeep }
  | { readonly do: 'verdict_write'; readonly endpoint: string; readonly verdict: EraVerdict }
  | { readonly do: 'verdict_forget'; readonly endpoint: string }
  | { readonly do: 'recover' }
  | { readonly do: 'unrecorded'; readonly count: number }

export type Command = Intent & { readonly now: number }

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
  readonly applied: readonly Applied[]
  readonly head: ChainHead
  /** Tasks whose rows changed. */
  readonly touched: readonly string[]
}
