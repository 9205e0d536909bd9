/**
 * Rows of the table of entries, and the entries in them. What happened to one call between two batches is one row for all its
 * entries, since a row with its place in an index costs more than what it says.
 *
 * Such a row has the number, time and hash of its last entry; the others have the numbers before, and their hashes are
 * computed again.
 */
import type { DatabaseSync } from 'node:sqlite'

import { ComityError } from '../core/words/errors.ts'
import type { Link } from './chain.ts'
import { expandText, textsOf } from './shared-texts.ts'

/** The kind of a row that holds more than one. */
export const SEVERAL = 'several'

/** As it is stored: facts may have marks in them. */
export interface EntryRow extends Link {
  readonly hash: string
}

export const ENTRY_COLUMNS = `seq, at, kind, call_id AS callId, task_id AS taskId, facts, hash`

/** Facts of an entry. @throws ComityError `store_corrupt` when they are none, or a shared text of theirs is gone. */
export function parseFacts(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch (error) {
    throw new ComityError(
      'store_corrupt',
      'the facts of an entry cannot be read: it was damaged or changed from outside; comity ledger --verify says where, restore the store from a copy',
      { cause: error },
    )
  }
}

/** One entry that is to stand in a row with others. */
export interface Folded {
  readonly kind: string
  /** Epoch milliseconds. */
  readonly now: number
  readonly facts: string
}

/** The text of a row for several entries: two lines each. Facts are JSON, so they hold no line feed. */
export function foldEntries(entries: readonly Folded[]): string {
  let text = ''
  for (const { kind, now, facts } of entries)
    text += text === '' ? `${kind} ${now}\n${facts}` : `\n${kind} ${now}\n${facts}`
  return text
}

/** The entries of a row, in order, their facts in full. */
export function unfoldRow(db: DatabaseSync, row: EntryRow): readonly Link[] {
  const find = textsOf(db)
  const { seq, at, kind, callId, taskId } = row
  const lines = kind === SEVERAL ? row.facts.split('\n') : []
  const count = lines.length / 2
  // Also what was changed from outside: it is left as it is, and fits no hash.
  if (count < 1 || !Number.isInteger(count))
    return [{ seq, at, kind, callId, taskId, facts: expandText(row.facts, find) }]
  const links: Link[] = []
  for (let index = 0; index < count; index += 1) {
    const [said = '', now] = (lines[index * 2] ?? '').split(' ')
    links.push({
      seq: seq - count + 1 + index,
      at: index === count - 1 ? at : timeText(Number(now)),
      kind: said,
      callId,
      taskId,
      facts: expandText(lines[index * 2 + 1] ?? '', find),
    })
  }
  return links
}

function timeText(now: number): string {
  const time = new Date(now)
  return Number.isNaN(time.getTime()) ? '' : time.toISOString()
}
