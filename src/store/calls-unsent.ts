/**
 * Words about calls that nobody waits for, put together while they wait to be sent: what happens to one call between two
 * batches goes as one.
 *
 * A word joins those before it about its call, so it may overtake words about other calls. It may only where none of those
 * hangs on it: a read has no twin and no key, and that an act was answered keeps no other one from being opened. That an act is
 * unknown, or never ran, does decide about others, and stays in its place. What is said of a read under way may lie while other
 * batches go, so that it goes whole.
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
  /** Begun anew with each batch, with those that still lie: entries that come and go one by one would keep its outgrown tables alive. */
  #known = new Map<string, Known>()
  #batch = 0

  constructor(committer: Committer) {
    this.#committer = committer
  }

  /** The opening of a read. */
  open(opening: Opening): void {
    const opened = openedOf(opening, this.#committer.now(), this.#committer.texts)
    this.#begin({ do: 'call', callId: opening.call.callId, opened, notes: [], settled: null })
  }

  note(callId: string, kind: EntryKind, facts: string): void {
    const note: NoteWords = { now: this.#committer.now(), kind, facts }
    const known = this.#find(callId)
    if (known === undefined)
      this.#begin({ do: 'call', callId, opened: null, notes: [note], settled: null })
    else if (this.#committer.extend(known.queued, 0)) known.words.notes.push(note)
  }

  /** An outcome that moves no task. */
  settle(callId: string, outcome: Outcome): void {
    const settled = settledOf(outcome, this.#committer.now())
    const known = this.#find(callId)
    if (known === undefined || !mayJoin(known.words, settled))
      this.#begin({ do: 'call', callId, opened: null, notes: [], settled })
    else if (this.#committer.extend(known.queued, weighPayload(settled.payload)))
      known.words.settled = settled
  }

  /** What is said of this call from here on joins nothing that was said before, and comes behind it. */
  end(callId: string): void {
    const known = this.#known.get(callId)
    if (known === undefined) return
    known.queued.lies = undefined
    this.#known.delete(callId)
  }

  #find(callId: string): Known | undefined {
    const known = this.#known.get(callId)
    return known === undefined || isOver(known) ? undefined : known
  }

  #begin(words: Unsent): void {
    const { callId } = words
    const queued = this.#committer.enqueue(words, words.opened?.sideEffect === false)
    if (this.#batch !== this.#committer.batches) {
      this.#batch = this.#committer.batches
      const before = this.#known
      this.#known = new Map()
      for (const [id, known] of before) if (!isOver(known)) this.#known.set(id, known)
    }
    if (queued === undefined) this.#known.delete(callId)
    else this.#known.set(callId, { queued, words })
  }
}

function isOver({ queued, words }: Known): boolean {
  return queued.isSent === true || words.settled !== null
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
