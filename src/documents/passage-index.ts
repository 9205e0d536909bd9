/**
 * The index: full-text search over passages, in memory.
 *
 * There is one FTS5 table for each audience, so that what a caller may not see has no part in
 * the statistics that rank what they may. FTS5 finds candidates; the score is BM25 over the
 * callers' own tables together. The texts stay with the documents, the tables hold terms only.
 */
import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import type { Document } from './document.ts'
import type { LineRange } from './lines.ts'
import { textOfLines } from './lines.ts'
import { findPassages } from './passages.ts'
import type { Audience } from './readers.ts'
import { mayRead } from './readers.ts'
import type { Unit } from './terms.ts'
import { countUnit, termsOf } from './terms.ts'

/** Candidates taken from one table by its own ranking before the final score. */
const MAX_CANDIDATES = 500
/** Documents written in one transaction: FTS5 does much of its work when one ends. */
const BATCH = 64
/** Of a very long passage (a minified file is one line) only the beginning is scored. */
const MAX_SCORED_CHARACTERS = 65_536
/** The usual constants of BM25 (Robertson and Zaragoza, 2009). */
const K1 = 1.2
const B = 0.75

/** A passage that matches, best first. */
export interface Match {
  readonly document: Document
  readonly lines: LineRange
  readonly score: number
}

/** Search over the documents that were put in. */
export interface PassageIndex {
  /** Adds a document, or replaces it. */
  put(document: Document): void
  remove(id: string): void
  /**
   * Passages in which at least a share of the units stands, for this principal.
   *
   * @param share between 0 (one unit is enough) and 1 (all).
   * @returns best first; at most 500 a table, which is more than any caller may ask for.
   */
  search(units: readonly Unit[], share: number, principal: string): Match[]
  close(): void
}

interface Passage {
  readonly document: Document
  readonly lines: LineRange
  readonly length: number
}

interface Table {
  readonly name: string
  readonly audience: Audience
  readonly insert: StatementSync
  readonly remove: StatementSync
  readonly find: StatementSync
  readonly count: StatementSync
  readonly passages: Map<number, Passage>
  /** Terms in all passages together. */
  length: number
}

/** Opens an empty index. */
export function openPassageIndex(): PassageIndex {
  const database = new DatabaseSync(':memory:')
  const tables = new Map<string, Table>()
  const rowsOf = new Map<string, { readonly table: Table; readonly rows: readonly number[] }>()
  let lastRow = 0

  const tableFor = (audience: Audience): Table => {
    const key = JSON.stringify(audience ?? null)
    const table = tables.get(key) ?? createTable(database, `audience_${tables.size}`, audience)
    tables.set(key, table)
    return table
  }
  const remove = (id: string): void => {
    const known = rowsOf.get(id)
    if (known === undefined) return
    for (const row of known.rows) {
      known.table.remove.run(row)
      known.table.length -= known.table.passages.get(row)?.length ?? 0
      known.table.passages.delete(row)
    }
    rowsOf.delete(id)
  }
  const put = (document: Document): void => {
    remove(document.id)
    const table = tableFor(document.audience)
    const { text, lineStarts } = document
    const rows: number[] = []
    const begins = document.format === 'markdown' ? 'markdown' : (document.outline?.starts ?? [])
    for (const lines of findPassages(text, lineStarts, begins)) {
      const terms = termsOf(textOfLines(text, lineStarts, lines))
      lastRow++
      table.insert.run(lastRow, terms.join(' '))
      table.passages.set(lastRow, { document, lines, length: terms.length })
      table.length += terms.length
      rows.push(lastRow)
    }
    rowsOf.set(document.id, { table, rows })
  }
  const pending = new Map<string, Document | undefined>()
  const flush = (): void => {
    if (pending.size === 0) return
    inTransaction(database, () => {
      for (const [id, document] of pending) {
        if (document === undefined) remove(id)
        else put(document)
      }
    })
    pending.clear()
  }
  const write = (id: string, document: Document | undefined): void => {
    pending.set(id, document)
    if (pending.size >= BATCH) flush()
  }
  return {
    put: (document) => write(document.id, document),
    remove: (id) => write(id, undefined),
    search(units, share, principal) {
      flush()
      if (units.length === 0) return []
      const visible = [...tables.values()].filter(
        (table) => table.passages.size > 0 && mayRead(table.audience, principal),
      )
      return scoreCandidates(visible, units, share)
    },
    close: () => database.close(),
  }
}

function createTable(database: DatabaseSync, name: string, audience: Audience): Table {
  // Terms are made by us and come separated by spaces; `ascii` leaves every other character alone.
  database.exec(
    `create virtual table ${name} using fts5(terms, content='', contentless_delete=1, tokenize='ascii')`,
  )
  const insert = database.prepare(`insert into ${name} (rowid, terms) values (?, ?)`)
  const remove = database.prepare(`delete from ${name} where rowid = ?`)
  // FTS5 may report a row id of its own tables that no number of ours can hold.
  insert.setReadBigInts(true)
  remove.setReadBigInts(true)
  return {
    name,
    audience,
    insert,
    remove,
    find: database.prepare(
      `select rowid from ${name} where ${name} match ? order by rank, rowid limit ${MAX_CANDIDATES}`,
    ),
    count: database.prepare(`select count(*) as n from ${name} where ${name} match ?`),
    passages: new Map(),
    length: 0,
  }
}

function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec('begin')
  try {
    work()
    database.exec('commit')
  } catch (error) {
    database.exec('rollback')
    throw error
  }
}

function scoreCandidates(tables: readonly Table[], units: readonly Unit[], share: number): Match[] {
  const passages = tables.reduce((sum, table) => sum + table.passages.size, 0)
  const average = tables.reduce((sum, table) => sum + table.length, 0) / Math.max(passages, 1)
  const weights = units.map((unit) => {
    const holding = tables.reduce((sum, table) => sum + countRows(table, unit), 0)
    return Math.log(1 + (passages - holding + 0.5) / (holding + 0.5))
  })
  const anyUnit = units.map(matchExpression).join(' OR ')
  const matches: Match[] = []
  for (const table of tables) {
    for (const { rowid } of table.find.all(anyUnit)) {
      const passage = table.passages.get(Number(rowid))
      if (passage === undefined) continue
      const { score, found } = scorePassage(passage, units, weights, average)
      if (found < units.length * share) continue
      matches.push({ document: passage.document, lines: passage.lines, score })
    }
  }
  return matches.toSorted(
    (a, b) =>
      b.score - a.score ||
      (a.document.id < b.document.id ? -1 : a.document.id > b.document.id ? 1 : 0) ||
      a.lines.start - b.lines.start,
  )
}

function scorePassage(
  passage: Passage,
  units: readonly Unit[],
  weights: readonly number[],
  average: number,
): { readonly score: number; readonly found: number } {
  const { text, lineStarts } = passage.document
  const content = textOfLines(text, lineStarts, passage.lines)
  const terms = termsOf(content.slice(0, MAX_SCORED_CHARACTERS))
  const norm = K1 * (1 - B + (B * passage.length) / Math.max(average, 1))
  let score = 0
  let found = 0
  for (const [index, unit] of units.entries()) {
    const times = countUnit(terms, unit)
    if (times === 0) continue
    found++
    score += ((weights[index] ?? 0) * times * (K1 + 1)) / (times + norm)
  }
  return { score: Math.round(score * 1e4) / 1e4, found }
}

function countRows(table: Table, unit: Unit): number {
  return Number(table.count.get(matchExpression(unit))?.n ?? 0)
}

/** Terms hold letters, digits and marks only, so quotes are enough; a prefix stands after them. */
function matchExpression(unit: Unit): string {
  return `"${unit.terms.join(' ')}"${unit.prefix ? '*' : ''}`
}
