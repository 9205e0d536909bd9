/**
 * The host's own judgment of a delivery: is every changed row covered, and are the sums right?
 *
 * Counts with the host's own parser and from what the host itself read. That each citation holds,
 * byte for byte, is the acceptance rule's part, and comity judges that.
 */
import type { Artifact } from 'comity'
import type { Citation, Reading } from './documents.ts'
import { judgeReport } from './report-coverage.ts'
import { keyOf, type Leg, type Row, type RowList, rowsOnlyIn } from './requirement-rows.ts'

/** What the host knows by its own reading. */
export interface Sources {
  readonly from: { readonly reading: Reading; readonly list: RowList }
  readonly to: { readonly reading: Reading; readonly list: RowList }
  /** The answer that the host gave. */
  readonly target: { readonly sdkRange: string; readonly citation: Citation }
}

/** A changed row with the evidence that its statement owes. */
export interface ExpectedRow extends Row {
  readonly change: 'added' | 'removed'
  readonly evidence: readonly Evidence[]
}

/** Lines of a document that must be cited: exactly these, or at least these. */
export interface Evidence {
  readonly document: string
  readonly first: number
  readonly last: number
  readonly exact: boolean
}

export interface Judgment {
  readonly reasons: readonly string[]
  readonly checks: readonly string[]
}

/** The legs that bind the target: it depends on a server SDK. */
const BINDING: Leg = 'server'

/** Every row that only one list has, with the lines that prove it. */
export function expectRows({ from, to }: Sources): readonly ExpectedRow[] {
  const line = (side: Sources['from'], row: Row): Evidence => ({
    document: side.reading.document,
    first: row.line,
    last: row.line,
    exact: true,
  })
  return [
    ...rowsOnlyIn(to.list, from.list).map((row): ExpectedRow => ({
      ...row,
      change: 'added',
      evidence: [line(to, row)],
    })),
    ...rowsOnlyIn(from.list, to.list).map((row): ExpectedRow => {
      const absent = { document: to.reading.document, ...to.list.sections[row.leg], exact: false }
      return { ...row, change: 'removed', evidence: [line(from, row), absent] }
    }),
  ]
}

/** Judges a delivery by what the host knows itself. Never throws for what the agent wrote. */
export function judgeCoverage(sources: Sources, artifacts: readonly Artifact[]): Judgment {
  const expected = expectRows(sources)
  const differences = judgeDifferences(sources, expected, textOf(artifacts, 'differences.json'))
  const report = judgeReport(expected, textOf(artifacts, 'report.md'))
  const count = (change: ExpectedRow['change']) =>
    expected.filter((row) => row.change === change).length
  return {
    reasons: [...differences, ...report],
    checks: [
      `all ${count('added')} added and ${count('removed')} removed rows covered with their lines in differences.json and report.md, counted by the host's own parser`,
      'totals, and which rows touch the target, recomputed by the host',
      `the target's range ${sources.target.sdkRange} is the one the host read in its manifest`,
    ],
  }
}

/** Whether some citation is this evidence. */
export function isEvidence(citation: Partial<Citation>, needed: Evidence): boolean {
  const { document, lines } = citation
  if (document !== needed.document || lines === undefined) return false
  return needed.exact
    ? lines.start === needed.first && lines.end === needed.last
    : lines.start <= needed.first && lines.end >= needed.last
}

/** Evidence in words. */
export function sayEvidence({ document, first, last }: Evidence): string {
  return first === last ? `${document} line ${first}` : `${document} lines ${first} to ${last}`
}

interface StatedRow {
  readonly change?: string
  readonly leg?: Leg
  readonly scenario?: string
  readonly affectsTarget?: boolean
  readonly citations?: readonly Partial<Citation>[]
}

interface Differences {
  readonly rows?: readonly StatedRow[]
  readonly counts?: unknown
  readonly target?: { readonly sdkRange?: string; readonly citation?: Partial<Citation> }
}

function judgeDifferences(
  sources: Sources,
  expected: readonly ExpectedRow[],
  text: string,
): readonly string[] {
  try {
    const { rows = [], counts, target } = JSON.parse(text) as Differences
    return [
      ...judgeRows(expected, rows),
      ...judgeCounts(sources, expected, counts),
      ...judgeTarget(sources, target),
    ].map((reason) => `differences.json: ${reason}`)
  } catch (error) {
    return [`differences.json: not as agreed (${(error as Error).message})`]
  }
}

function judgeRows(expected: readonly ExpectedRow[], stated: readonly StatedRow[]): string[] {
  const nameOf = (row: StatedRow) => `${row.change ?? '?'} ${row.leg ?? '?'} ${row.scenario ?? '?'}`
  const byName = new Map(stated.map((row) => [nameOf(row), row]))
  const wanted = new Set(expected.map((row) => nameOf(row)))
  return [
    ...(byName.size < stated.length ? ['a row stands there more than once'] : []),
    ...[...byName.keys()]
      .filter((name) => !wanted.has(name))
      .map((name) => `${name}: no such change between the two lists`),
    ...expected.flatMap((row) => {
      const found = byName.get(nameOf(row))
      if (found === undefined) return [`${nameOf(row)}: not covered`]
      const uncited = row.evidence.filter(
        (needed) => !(found.citations ?? []).some((citation) => isEvidence(citation, needed)),
      )
      return [
        ...uncited.map((needed) => `${nameOf(row)}: does not cite ${sayEvidence(needed)}`),
        ...(found.affectsTarget === (row.leg === BINDING)
          ? []
          : [`${nameOf(row)}: wrong about whether it touches the target`]),
      ]
    }),
  ]
}

function judgeCounts(
  { from, to }: Sources,
  expected: readonly ExpectedRow[],
  stated: unknown,
): string[] {
  const added = expected.filter((row) => row.change === 'added')
  const removed = expected.filter((row) => row.change === 'removed')
  const known = new Set(from.list.rows.map(keyOf))
  const touching = (rows: readonly Row[]) => rows.filter((row) => row.leg === BINDING).length
  const counted = {
    from: countLegs(from.list.rows),
    to: countLegs(to.list.rows),
    added: countLegs(added),
    removed: countLegs(removed),
    unchanged: countLegs(to.list.rows.filter((row) => known.has(keyOf(row)))),
    affectsTarget: {
      added: touching(added),
      removed: touching(removed),
      total: touching(expected),
    },
    notScored: { from: from.list.notScored, to: to.list.notScored },
  }
  const given = (stated ?? {}) as Readonly<Record<string, Readonly<Record<string, number>>>>
  return Object.entries(counted).flatMap(([name, numbers]) =>
    Object.entries(numbers).flatMap(([part, number]) => {
      const got = given[name]?.[part]
      return got === number ? [] : [`counts.${name}.${part} is ${number}, it says ${String(got)}`]
    }),
  )
}

function judgeTarget({ target }: Sources, stated: Differences['target']): string[] {
  const { document, lines } = target.citation
  const line = { document, first: lines.start, last: lines.end, exact: true }
  return stated?.sdkRange === target.sdkRange && isEvidence(stated.citation ?? {}, line)
    ? []
    : [`the target's range is ${target.sdkRange} by ${sayEvidence(line)}, it says otherwise`]
}

function countLegs(rows: readonly Row[]): Readonly<Record<Leg | 'total', number>> {
  const count = (leg: Leg) => rows.filter((row) => row.leg === leg).length
  return { server: count('server'), client: count('client'), total: rows.length }
}

function textOf(artifacts: readonly Artifact[], name: string): string {
  const found = artifacts.find((artifact) => artifact.name === name)
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
  return (found?.content ?? [])
    .map((part) =>
      part.kind === 'text' ? part.text : part.kind === 'raw' ? decode(part.bytes) : '',
    )
    .join('')
}
