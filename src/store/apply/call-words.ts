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
import { writeCallRow } from './call-row.ts'
import { appendOpening, NO_TERMS, openCall } from './open-call.ts'
import { noteCall, settleCall } from './settle-call.ts'

/** @returns what became of the opening, when there is one. */
export function applyCallWords(writer: Writer, words: CallWords): Opened | undefined {
  const { callId, opened, settled } = words
  if (opened !== null && settled !== null && !opened.sideEffect) {
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

/** A read that began and ended here: its row is written as it ends. */
function writeWhole(
  writer: Writer,
  { callId, notes }: CallWords,
  opened: OpenWords,
  settled: SettleWords,
): void {
  writer.now = opened.now
  const row = appendOpening(writer, callId, opened, NO_TERMS)
  for (const { now, kind, facts } of notes) {
    writer.now = now
    writer.append({ kind, callId, facts })
  }
  writer.now = settled.now
  const outcome = writer.withPayload(callId, settled.outcome, settled.payload)
  writer.append({ kind: 'settled', callId, facts: outcome })
  writeCallRow(writer, {
    ...row,
    state: settled.state,
    outcome,
    settledAt: settled.state === 'settled' ? writer.now : null,
  })
}
