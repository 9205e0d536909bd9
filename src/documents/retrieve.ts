/**
 * Retrieval: a query and a number, and the passages for it. Knows no protocol.
 *
 * What the caller may not see is gone before anything is counted, so neither hits nor `truncated`
 * speak of it.
 */
import type { Document } from './document.ts'
import type { LineRange } from './lines.ts'
import { textOfLines } from './lines.ts'
import type { Match } from './passage-index.ts'
import type { Unit } from './terms.ts'
import { looseUnits, strictUnits } from './terms.ts'

/** A hit's text beyond this many UTF-16 units is cut; only a very long single line gets there. */
const MAX_HIT_CHARACTERS = 8_192
/** Read loosely a passage must hold a third of the query, or pairs of characters would match by chance. */
const LOOSE_SHARE = 1 / 3

/** A passage for the caller: exact lines of one document. */
export interface Hit {
  readonly document: Document
  readonly lines: LineRange
  /** The lines joined by "\n", as they are in the file. */
  readonly text: string
  /** Higher is better; comparable within one answer only. */
  readonly score: number
}

/** What a query found. */
export interface Retrieved {
  readonly hits: readonly Hit[]
  /** There is more than was asked for, or a hit's text was cut. */
  readonly truncated: boolean
}

/** Finds at most `k` passages for a query, best first. Nothing found is an empty list. */
export type Retrieve = (query: string, k: number, principal: string) => Promise<Retrieved>

/** What retrieval asks the documents for. */
export interface Searchable {
  match(units: readonly Unit[], share: number, principal: string): Promise<readonly Match[]>
}

/** Retrieval over these documents. */
export function createRetrieve(documents: Searchable): Retrieve {
  return async (query, k, principal) => {
    let matches = await documents.match(strictUnits(query), 0, principal)
    if (matches.length === 0) {
      matches = await documents.match(looseUnits(query), LOOSE_SHARE, principal)
    }
    const found = matches.slice(0, k).map(toHit)
    return {
      hits: found.map(({ hit }) => hit),
      truncated: matches.length > k || found.some(({ isCut }) => isCut),
    }
  }
}

function toHit({ document, lines, score }: Match): { readonly hit: Hit; readonly isCut: boolean } {
  const whole = textOfLines(document.text, document.lineStarts, lines)
  const text = cutText(whole, MAX_HIT_CHARACTERS)
  return { hit: { document, lines, text, score }, isCut: text.length < whole.length }
}

/** The beginning of a text, never ending within a surrogate pair. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const lastUnit = text.charCodeAt(maxLength - 1)
  const splitsPair = lastUnit >= 0xd8_00 && lastUnit <= 0xdb_ff
  return text.slice(0, splitsPair ? maxLength - 1 : maxLength)
}
