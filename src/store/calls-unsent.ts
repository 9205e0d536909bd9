/**
 * Words about calls that nobody waits for, put together while they wait to be sent: what happens to one call between two
 * batches goes as one.
 *
 * A word joins those before it about its call, so it may overtake words about other calls. It may only where none of those
 * hangs on it: a read has no twin and no key, and that an act was answered keeps no other one from being opened. That an act is
 * unknown, or never ran, does decide about others, and stays in its place.
 */
import type { Opening } from '../core/ports/ledger.ts'
import type { EntryKind } from '../core/words/entry.ts'
import { type Outcome, ranOf } from '../core/words/outcome.ts'
import { argumentsPayload, openingText, outcomeText, resultPayload } from './call-facts.ts'
import type { NoteWords, OpenWords, SettleWords } from './commands.ts'
import { type Committer, type Queued, weighPayload } from './commit.ts'
import type { SharedTexts } from './shared-texts.ts'

/** The same object that is queued: it is read when its batch is sent. */
interface Unsent {
  readonly do: 'call'
  readonly callId: string
  readonly opened: OpenWords | null
  readonly notes: NoteWords[]
  settled: SettleWords | null
}

interface Known {
  readonly queued: Queued
  readonly words: Unsent
}

export class CallsUnsent {
  readonly #committer: Committer
  /** Begun anew with each batch: entries that come and go one by one would keep its outgrown tables alive. */
  #known = new Map<string, Known>()
  #batch = 0

  constructor(committer: Committer) {
    this.#committer = committer
  }

  /** The opening of a read. */
  open(opening: Opening): void {
    const opened = openedOf(opening, this.#committer.now(), this.#committer.texts)
    this.#begin(opening.call.callId, opened, [], null)
  }

  note(callId: string, kind: EntryKind, facts: string): void {
    const note: NoteWords = { now: this.#committer.now(), kind, facts }
    const known = this.#find(callId)
    if (known === undefined) this.#begin(callId, null, [note], null)
    else if (this.#committer.extend(known.queued, 0)) known.words.notes.push(note)
  }

  /** An outcome that moves no task. */
  settle(callId: string, outcome: Outcome): void {
    const settled = settledOf(outcome, this.#committer.now())
    const known = this.#find(callId)
    if (known === undefined || !mayJoin(known.words, settled))
      this.#begin(callId, null, [], settled)
    else if (this.#committer.extend(known.queued, weighPayload(settled.payload)))
      known.words.settled = settled
  }

  /** What is said of this call from here on joins nothing that was said before. */
  end(callId: string): void {
    this.#known.delete(callId)
  }

  #find(callId: string): Known | undefined {
    if (this.#batch !== this.#committer.batches) return undefined
    const known = this.#known.get(callId)
    return known?.words.settled === null ? known : undefined
  }

  #begin(
    callId: string,
    opened: OpenWords | null,
    notes: NoteWords[],
    settled: SettleWords | null,
  ): void {
    const words: Unsent = { do: 'call', callId, opened, notes, settled }
    const queued = this.#committer.enqueue(words)
    if (this.#batch !== this.#committer.batches) {
      this.#batch = this.#committer.batches
      this.#known = new Map()
    }
    if (queued === undefined) this.#known.delete(callId)
    else this.#known.set(callId, { queued, words })
  }
}

function mayJoin({ opened }: Unsent, { state, neverRan }: SettleWords): boolean {
  return opened !== null || (state === 'settled' && !neverRan)
}

/** The words of an opening. */
export function openedOf(opening: Opening, now: number, texts?: SharedTexts): OpenWords {
  const { call, sideEffect, actKey } = opening
  return {
    now,
    openedAt: call.openedAt,
    sideEffect,
    actKey,
    principal: call.principal.id,
    facts: openingText(opening, texts?.share),
    payload: argumentsPayload(call),
  }
}

/** The words of an outcome. */
export function settledOf(outcome: Outcome, now: number): SettleWords {
  return {
    now,
    state: outcome.state === 'unknown' ? 'unknown' : 'settled',
    neverRan: outcome.state === 'failed' && ranOf(outcome) === 'no',
    outcome: outcomeText(outcome),
    payload: resultPayload(outcome),
  }
}
