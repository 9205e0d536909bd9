/**
 * Parses a conformance requirement list and keeps the line of every row.
 *
 * A requirement is a (leg, scenario) row under `server` or `client`. `not_scored` holds rows that
 * are run and never counted. Anything unexpected is an error that names its line: a comparison
 * that guesses at a row would be worth less than none.
 */
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import type { LineRange, Reading } from './citation.ts'

/** The two sides a requirement can bind. */
export const LEGS = ['server', 'client'] as const
export type Leg = (typeof LEGS)[number]

/** A requirement, scored. */
export interface RequirementRow {
  readonly leg: Leg
  readonly scenario: string
  readonly lines: LineRange
}

/** A row that is run and reported but never counts. */
export interface UnscoredRow extends RequirementRow {
  readonly reason: string
  readonly note?: string
}

/** One list, each row with the lines it stands on. */
export interface RequirementList {
  readonly rows: readonly RequirementRow[]
  readonly unscored: readonly UnscoredRow[]
  /** From the section's key to its last row. */
  readonly sections: Readonly<Record<Leg, LineRange>>
  /** Likewise of `not_scored`, where the list has it. */
  readonly unscoredSection?: LineRange
  /** Top-level keys that are no leg and not `not_scored`: not compared, and said so. */
  readonly uncompared: readonly { readonly key: string; readonly lines: LineRange }[]
  /** Paragraphs of the head comment that speak of a section by its name. */
  readonly remarks: readonly LineRange[]
}

/** The list cannot be read as one; the message names the document and the line. */
export class ListError extends Error {
  override readonly name = 'ListError'
}

const MAX_ROWS = 10_000
const MAX_NAME_LENGTH = 200

/** What the rest of this file needs to turn an offset into a line and a fault into an error. */
interface Source {
  readonly text: string
  lineAt(offset: number): number
  fail(line: number, problem: string): never
}

/**
 * Parses one list.
 *
 * @throws ListError when it is not YAML of the expected form.
 */
export function parseRequirementList(reading: Reading): RequirementList {
  const counter = new LineCounter()
  const parsed = parseDocument(reading.text, { lineCounter: counter, uniqueKeys: true })
  const source: Source = {
    text: reading.text,
    lineAt: (offset) => counter.linePos(offset).line,
    fail: (line, problem) => {
      throw new ListError(`${reading.document}, line ${line}: ${problem}`)
    },
  }
  const fault = parsed.errors[0]
  if (fault !== undefined) {
    // The first line of the library's message says what is wrong; the rest draws the place.
    source.fail(source.lineAt(fault.pos[0]), `not YAML: ${fault.message.split('\n')[0] ?? ''}`)
  }
  const root: unknown = parsed.contents
  if (!isMap(root)) return source.fail(1, 'expected a map with the sections server and client')

  const rows: RequirementRow[] = []
  const unscored: UnscoredRow[] = []
  const uncompared: { key: string; lines: LineRange }[] = []
  const sections = new Map<Leg, LineRange>()
  let unscoredSection: LineRange | undefined
  for (const pair of root.items) {
    const key = scalarText(pair.key)
    const start = source.lineAt(rangeOf(pair.key)[0])
    if (key === undefined) return source.fail(start, 'expected a section name')
    const lines = { start, end: lastLine(source, pair.value, start) }
    const leg = LEGS.find((name) => name === key)
    if (leg !== undefined) {
      rows.push(...parseSection(source, leg, pair.value, lines))
      sections.set(leg, lines)
    } else if (key === 'not_scored') {
      unscored.push(...parseUnscored(source, pair.value, lines))
      unscoredSection = lines
    } else {
      uncompared.push({ key, lines })
    }
  }
  const server = sections.get('server') ?? source.fail(1, 'the section server is missing')
  const client = sections.get('client') ?? source.fail(1, 'the section client is missing')
  refuseDuplicates(source, rows)
  refuseDuplicates(source, unscored)
  return {
    rows,
    unscored,
    sections: { server, client },
    ...(unscoredSection === undefined ? {} : { unscoredSection }),
    uncompared,
    remarks: findRemarks(reading.text, Math.min(server.start, client.start)),
  }
}

function parseSection(source: Source, leg: Leg, node: unknown, lines: LineRange): RequirementRow[] {
  return itemsOf(source, node, lines, leg).map((item) => {
    const line = source.lineAt(rangeOf(item)[0])
    const scenario = scalarText(item)
    if (scenario === undefined) return source.fail(line, `expected a scenario name under ${leg}`)
    checkName(source, line, scenario)
    return { leg, scenario, lines: { start: line, end: lastLine(source, item, line) } }
  })
}

function parseUnscored(source: Source, node: unknown, lines: LineRange): UnscoredRow[] {
  return itemsOf(source, node, lines, 'not_scored').map((item) => {
    const line = source.lineAt(rangeOf(item)[0])
    if (!isMap(item)) return source.fail(line, 'expected scenario, leg and reason')
    const scenario = scalarText(item.get('scenario', true))
    const leg = LEGS.find((name) => name === scalarText(item.get('leg', true)))
    const reason = scalarText(item.get('reason', true))
    const note = scalarText(item.get('note', true))
    if (scenario === undefined) return source.fail(line, 'a not_scored row has no scenario')
    checkName(source, line, scenario)
    if (leg === undefined)
      return source.fail(line, `the leg of ${scenario} is no ${LEGS.join('/')}`)
    if (reason === undefined || reason.trim() === '') {
      return source.fail(line, `${scenario} is not scored and gives no reason`)
    }
    const row = { leg, scenario, reason, lines: { start: line, end: lastLine(source, item, line) } }
    return note === undefined ? row : { ...row, note: note.trim() }
  })
}

function itemsOf(source: Source, node: unknown, lines: LineRange, section: string): unknown[] {
  // A key with nothing under it is an empty section, not a fault.
  if (node === null || (isScalar(node) && node.value === null)) return []
  if (!isSeq(node)) return source.fail(lines.start, `${section} is not a list`)
  if (node.items.length > MAX_ROWS) {
    return source.fail(lines.start, `${section} has more than ${MAX_ROWS} rows`)
  }
  return node.items
}

function scalarText(node: unknown): string | undefined {
  return isScalar(node) && typeof node.value === 'string' ? node.value : undefined
}

/** Names are printed between backticks in the report, so what could break out is refused here. */
function checkName(source: Source, line: number, scenario: string): void {
  if (scenario.length === 0 || scenario.length > MAX_NAME_LENGTH || /[`\p{Cc}]/u.test(scenario)) {
    source.fail(line, `a scenario name must be 1 to ${MAX_NAME_LENGTH} printable characters`)
  }
}

function refuseDuplicates(source: Source, rows: readonly RequirementRow[]): void {
  const seen = new Map<string, number>()
  for (const row of rows) {
    const key = keyOf(row)
    const first = seen.get(key)
    if (first !== undefined) {
      source.fail(row.lines.start, `${row.leg} ${row.scenario} stands on line ${first} already`)
    }
    seen.set(key, row.lines.start)
  }
}

/** What makes two rows the same requirement. */
export function keyOf(row: { readonly leg: Leg; readonly scenario: string }): string {
  return `${row.leg}\n${row.scenario}`
}

function rangeOf(node: unknown): readonly [number, number] {
  if ((isScalar(node) || isMap(node) || isSeq(node)) && node.range) {
    return [node.range[0], node.range[1]]
  }
  return [0, 0]
}

/** The last line that a node's value touches; block scalars count their line feed in, we do not. */
function lastLine(source: Source, node: unknown, atLeast: number): number {
  let [, end] = rangeOf(node)
  while (end > 0 && /\s/.test(source.text.charAt(end - 1))) end -= 1
  return end === 0 ? atLeast : Math.max(atLeast, source.lineAt(end - 1))
}

function findRemarks(text: string, before: number): LineRange[] {
  const head = text.split('\n').slice(0, before - 1)
  const remarks: LineRange[] = []
  let start: number | undefined
  head.concat('').forEach((line, index) => {
    const inParagraph = /^#\s*\S/.test(line)
    if (inParagraph && start === undefined) start = index + 1
    if (!inParagraph && start !== undefined) {
      const body = head.slice(start - 1, index).join('\n')
      if (/`(?:server|client|not_scored)`/.test(body)) remarks.push({ start, end: index })
      start = undefined
    }
  })
  return remarks
}
