/**
 * The words about one call between two batches, applied in their order and as one: a call that was opened and settled between
 * them is written once.
 *
 * Its entries stand together in the chain, each with its own time. Among entries of different calls only such change places
 * of which none hangs on the other: what the twin rule, a key, an approval or a task looks at comes as a command of its own.
 */
import type { Opened } from '../../core/ports/ledger.ts'
import { type CallWords, OPENED, type OpenWords, type SettleWords } from '../commands.ts'
import type { Writer } from '../writer.ts'
import { NO_TERMS, openCall } from './open-call.ts'
import { noteCall, settleCall } from './settle-call.ts'

/** Longer ones are clipped in the facts of an opening. */
const MAX_PRINCIPAL = 200
/** Longest facts of an opening that are certain to be stored as they are. */
const MAX_OPENING = 4096

/** @returns what became of the opening, when there is one. */
export function applyCallWords(writer: Writer, words: CallWords): Opened | undefined {
  // What stands together in the chain stands in one row.
  writer.beginRow(words.callId)
  try {
    const answer = applyInOrder(writer, words)
    writer.endRow()
    return answer
  } catch (error) {
    writer.dropRow()
    throw error
  }
}

function applyInOrder(writer: Writer, words: CallWords): Opened | undefined {
  const { callId, opened, settled } = words
  if (opened !== null && settled !== null && isWhole(opened, settled)) {
    writeWhole(writer, words, opened, settled)
    return OPENED
  }
  let answer: Opened | undefined
  if (opened !== null) {
    writer.now = opened.now
    answer = openCall(writer, callId, opened, NO_TERMS)
    // A twin was not opened, so nothing else can be true of it.
    if (answer.kind !== 'opened') return answer
  }
  for (const note of words.notes) {
    writer.now = note.now
    noteCall(writer, { callId, kind: note.kind, facts: note.facts })
  }
  if (settled !== null) {
    writer.now = settled.now
    settleCall(writer, callId, settled, null)
  }
  return answer
}

/** A read that began and ended here, and of which nothing is to come. What its row would say stands in its facts. */
function isWhole({ sideEffect, principal, facts }: OpenWords, { state }: SettleWords): boolean {
  if (sideEffect || state !== 'settled') return false
  return principal.length <= MAX_PRINCIPAL && facts.head.length + facts.tail.length <= MAX_OPENING
}

/** It has no row among the calls: it can have no twin and no task, and moves no more. */
function writeWhole(
  writer: Writer,
  { callId, notes }: CallWords,
  opened: OpenWords,
  settled: SettleWords,
): void {
  writer.now = opened.now
  const opening = writer.withPayload(writer.next, opened.facts, opened.payload)
  writer.append({ kind: 'opened', callId, facts: opening })
  for (const { now, kind, facts } of notes) {
    writer.now = now
    writer.append({ kind, callId, facts: writer.bounded(facts) })
  }
  writer.now = settled.now
  const outcome = writer.withPayload(writer.next, settled.outcome, settled.payload)
  writer.append({ kind: 'settled', callId, facts: outcome })
}
