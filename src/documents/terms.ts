/**
 * Terms: what of a text, and of a query, is looked up.
 *
 * Words are runs of letters and digits, without case and accents (the rule of SQLite's
 * unicode61). Chinese, Japanese and Korean have no spaces to cut at: their runs become pairs of
 * characters, and a run's last character stands once more alone, so that each character begins
 * some term and one character alone is found as a prefix.
 */

const CJK = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々〆`
const RUNS = new RegExp(`[${CJK}]+|[[\\p{L}\\p{N}\\p{Co}\\p{M}]--[${CJK}]]+`, 'gv')
const STARTS_CJK = new RegExp(`^[${CJK}]`, 'v')
const MAX_UNITS = 64

/** One thing to find: these terms in this order, the last one perhaps only the beginning of a term. */
export interface Unit {
  readonly terms: readonly string[]
  readonly prefix: boolean
}

/** The terms of a text in order. */
export function termsOf(text: string): string[] {
  const terms: string[] = []
  for (const run of runsOf(text)) {
    if (STARTS_CJK.test(run)) terms.push(...pairsOf(run))
    else terms.push(run)
  }
  return terms
}

/**
 * Reads a query as units: what stands together (`tools/call`, `2026-07-28`, a run of Chinese) is
 * one unit and must be found together.
 *
 * @returns at most 64 distinct units; empty when the query has no letter and no digit.
 */
export function strictUnits(query: string): Unit[] {
  const chunks = query.normalize('NFKC').split(/[\s、。，；：？！,;:?!]+/u)
  return distinct(chunks.map((chunk) => unitOf(termsOf(chunk))))
}

/** The same query read loosely: each word and each pair of characters is a unit of its own. */
export function looseUnits(query: string): Unit[] {
  const units = runsOf(query).flatMap((run) => {
    if (!STARTS_CJK.test(run)) return [unitOf([run])]
    const pairs = pairsOf(run)
    // The lone last character serves the index; as a unit of its own it would match far too much.
    return (pairs.length > 1 ? pairs.slice(0, -1) : pairs).map((pair) => unitOf([pair]))
  })
  return distinct(units)
}

/** How often a unit stands in a text of these terms. */
export function countUnit(terms: readonly string[], unit: Unit): number {
  const last = unit.terms.length - 1
  let count = 0
  for (let at = 0; at + last < terms.length; at++) {
    const found = unit.terms.every((wanted, offset) => {
      const term = terms[at + offset] ?? ''
      return offset === last && unit.prefix ? term.startsWith(wanted) : term === wanted
    })
    if (found) count++
  }
  return count
}

function runsOf(text: string): string[] {
  const runs = text.normalize('NFKC').toLowerCase().match(RUNS) ?? []
  // Accents go from letters only: in Japanese the mark makes another letter.
  return runs
    .map((run) => (STARTS_CJK.test(run) ? run : run.normalize('NFD').replaceAll(/\p{M}/gu, '')))
    .filter((run) => run !== '')
}

function pairsOf(run: string): string[] {
  const characters = Array.from(run)
  return characters.map((character, index) => character + (characters[index + 1] ?? ''))
}

function unitOf(terms: string[]): Unit {
  const last = terms.at(-1)
  if (last === undefined || !STARTS_CJK.test(last)) return { terms, prefix: false }
  const lastIsAlone = Array.from(last).length === 1
  const previous = terms.at(-2)
  // "数据库" is 数据 据库 库 in the index; a query must not insist that the run ends there.
  if (lastIsAlone && previous !== undefined && isPairEndingWith(previous, last)) {
    return { terms: terms.slice(0, -1), prefix: false }
  }
  return { terms, prefix: lastIsAlone }
}

function isPairEndingWith(term: string, character: string): boolean {
  return STARTS_CJK.test(term) && Array.from(term).length === 2 && term.endsWith(character)
}

function distinct(units: Unit[]): Unit[] {
  const byKey = new Map<string, Unit>()
  for (const unit of units) {
    if (unit.terms.length > 0) byKey.set(`${unit.terms.join(' ')}${unit.prefix ? '*' : ''}`, unit)
    if (byKey.size === MAX_UNITS) break
  }
  return [...byKey.values()]
}
