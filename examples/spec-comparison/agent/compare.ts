/**
 * Compares two requirement lists row by row and says which changes touch the target.
 *
 * Pure: the same two readings and the same target always give the same findings, so an agent that
 * was killed half way writes the same delivery as one that was not.
 */
import { citeLines, labelDocument, type Citation, type Reading } from './citation.ts'
import {
  keyOf,
  LEGS,
  parseRequirementList,
  type Leg,
  type RequirementList,
  type UnscoredRow,
} from './requirement-list.ts'
import type { Target } from './target.ts'

/** A document as the delivery names it. */
export interface SourceName {
  readonly document: string
  readonly version: string
  readonly digest: string
}

/** One statement about one row, with its sources. */
export interface Finding {
  readonly leg: Leg
  readonly scenario: string
  readonly affectsTarget: boolean
  /** Why it does or does not touch the target. */
  readonly because: string
  readonly statement: string
  readonly citations: readonly Citation[]
}

/** A row that only one of the lists requires. */
export interface RowChange extends Finding {
  readonly change: 'added' | 'removed'
}

/** A row that one of the lists, or both, runs without scoring it. */
export interface UnscoredChange extends Finding {
  readonly change:
    | 'added'
    | 'removed'
    | 'reason_changed'
    | 'unchanged'
    | 'moved_to_scored'
    | 'moved_from_scored'
  /** The reason as the newest list that has the row gives it. */
  readonly reason: string
}

/** A number for each leg. */
export type LegCounts = Readonly<Record<Leg | 'total', number>>

/** The content of `differences.json`. */
export interface Differences {
  readonly from: SourceName
  readonly to: SourceName
  readonly target: {
    readonly package: string
    readonly sdkRange: string
    readonly citation: Citation
  }
  readonly rows: readonly RowChange[]
  readonly notScored: readonly UnscoredChange[]
  readonly counts: {
    readonly from: LegCounts
    readonly to: LegCounts
    readonly added: LegCounts
    readonly removed: LegCounts
    readonly unchanged: LegCounts
    readonly affectsTarget: {
      readonly added: number
      readonly removed: number
      readonly total: number
    }
    readonly notScored: { readonly from: number; readonly to: number }
  }
}

/** Everything the report is written from. */
export interface Comparison {
  readonly differences: Differences
  readonly from: { readonly reading: Reading; readonly list: RequirementList }
  readonly to: { readonly reading: Reading; readonly list: RequirementList }
  readonly target: Target
}

/**
 * Compares two readings.
 *
 * @throws ListError when one of them is no requirement list.
 */
export function compareReadings(
  fromReading: Reading,
  toReading: Reading,
  target: Target,
): Comparison {
  const from = { reading: fromReading, list: parseRequirementList(fromReading) }
  const to = { reading: toReading, list: parseRequirementList(toReading) }
  const before = new Set(from.list.rows.map(keyOf))
  const after = new Set(to.list.rows.map(keyOf))
  const rows = [
    ...to.list.rows
      .filter((row) => !before.has(keyOf(row)))
      .map((row) => describeAdded(from, to, row, target)),
    ...from.list.rows
      .filter((row) => !after.has(keyOf(row)))
      .map((row) => describeRemoved(from, to, row, target)),
  ]
  const added = rows.filter((row) => row.change === 'added')
  const removed = rows.filter((row) => row.change === 'removed')
  const touching = (list: readonly RowChange[]) => list.filter((row) => row.affectsTarget).length
  return {
    from,
    to,
    target,
    differences: {
      from: nameSource(fromReading),
      to: nameSource(toReading),
      target: { package: target.package, sdkRange: target.sdkRange, citation: target.citation },
      rows,
      notScored: describeUnscored(from, to, target),
      counts: {
        from: countLegs(from.list.rows),
        to: countLegs(to.list.rows),
        added: countLegs(added),
        removed: countLegs(removed),
        unchanged: countLegs(to.list.rows.filter((row) => before.has(keyOf(row)))),
        affectsTarget: {
          added: touching(added),
          removed: touching(removed),
          total: touching(rows),
        },
        notScored: { from: from.list.unscored.length, to: to.list.unscored.length },
      },
    },
  }
}

type Side = Comparison['from']

function describeAdded(
  from: Side,
  to: Side,
  row: RequirementList['rows'][number],
  target: Target,
): RowChange {
  const earlier = from.list.unscored.find((other) => keyOf(other) === keyOf(row))
  const statement = `\`${row.scenario}\` is new: ${label(to)} requires it of a ${row.leg} (line ${row.lines.start})`
  return {
    change: 'added',
    leg: row.leg,
    scenario: row.scenario,
    ...judgeEffect(row.leg, target),
    statement:
      earlier === undefined
        ? statement
        : `${statement}; ${label(from)} ran it without scoring it (${earlier.reason})`,
    citations: [
      citeLines(to.reading, row.lines),
      ...(earlier === undefined ? [] : [citeLines(from.reading, earlier.lines)]),
    ],
  }
}

function describeRemoved(
  from: Side,
  to: Side,
  row: RequirementList['rows'][number],
  target: Target,
): RowChange {
  const later = to.list.unscored.find((other) => keyOf(other) === keyOf(row))
  const section = to.list.sections[row.leg]
  const statement = `\`${row.scenario}\` is gone: ${label(from)} required it of a ${row.leg} (line ${row.lines.start}); lines ${section.start} to ${section.end} of ${label(to)} do not`
  return {
    change: 'removed',
    leg: row.leg,
    scenario: row.scenario,
    ...judgeEffect(row.leg, target),
    statement:
      later === undefined
        ? statement
        : `${statement}, where it is run without being scored (${later.reason})`,
    citations: [
      citeLines(from.reading, row.lines),
      citeLines(to.reading, section),
      ...(later === undefined ? [] : [citeLines(to.reading, later.lines)]),
    ],
  }
}

/** Rows without a score: those of the new list in its order, then those only the old one has. */
function describeUnscored(from: Side, to: Side, target: Target): UnscoredChange[] {
  const old = new Map(from.list.unscored.map((row) => [keyOf(row), row]))
  const kept = new Set(to.list.unscored.map(keyOf))
  return [
    ...to.list.unscored.map((row) =>
      describeUnscoredNow(from, to, row, old.get(keyOf(row)), target),
    ),
    ...from.list.unscored
      .filter((row) => !kept.has(keyOf(row)))
      .map((row) => describeUnscoredGone(from, to, row, target)),
  ]
}

function describeUnscoredNow(
  from: Side,
  to: Side,
  row: UnscoredRow,
  earlier: UnscoredRow | undefined,
  target: Target,
): UnscoredChange {
  const scored = from.list.rows.find((other) => keyOf(other) === keyOf(row))
  const now = `\`${row.scenario}\` (${row.leg}) is run without being scored in ${label(to)} (${row.reason})`
  const here = citeLines(to.reading, row.lines)
  const base = {
    leg: row.leg,
    scenario: row.scenario,
    reason: row.reason,
    ...judgeEffect(row.leg, target),
  }
  if (scored !== undefined) {
    const statement = `${now}; in ${label(from)} it was required`
    const citations = [here, citeLines(from.reading, scored.lines)]
    return { ...base, change: 'moved_from_scored', statement, citations }
  }
  if (earlier === undefined) {
    const statement = `${now}; ${label(from)} does not have it`
    return { ...base, change: 'added', statement, citations: [here] }
  }
  const citations = [here, citeLines(from.reading, earlier.lines)]
  return earlier.reason === row.reason
    ? { ...base, change: 'unchanged', statement: `${now}; so it was in ${label(from)}`, citations }
    : {
        ...base,
        change: 'reason_changed',
        statement: `${now}; in ${label(from)} the reason was ${earlier.reason}`,
        citations,
      }
}

function describeUnscoredGone(
  from: Side,
  to: Side,
  row: UnscoredRow,
  target: Target,
): UnscoredChange {
  const scored = to.list.rows.find((other) => keyOf(other) === keyOf(row))
  const then = `\`${row.scenario}\` (${row.leg}) was run without being scored in ${label(from)} (${row.reason})`
  const there = citeLines(from.reading, row.lines)
  const base = {
    leg: row.leg,
    scenario: row.scenario,
    reason: row.reason,
    ...judgeEffect(row.leg, target),
  }
  return scored === undefined
    ? {
        ...base,
        change: 'removed',
        statement: `${then}; ${label(to)} no longer has it`,
        // Gone means not in the section either, so the section is part of the evidence.
        citations: [
          there,
          ...(to.list.unscoredSection === undefined
            ? []
            : [citeLines(to.reading, to.list.unscoredSection)]),
        ],
      }
    : {
        ...base,
        change: 'moved_to_scored',
        statement: `${then}; in ${label(to)} it is required`,
        citations: [there, citeLines(to.reading, scored.lines)],
      }
}

/** A row binds one side; the target is written for that side or it is not. */
function judgeEffect(leg: Leg, target: Target): { affectsTarget: boolean; because: string } {
  const { dependency, sdkRange } = target
  return {
    affectsTarget: target.leg === leg,
    because: `a ${leg} requirement, and ${target.package} is built as a ${target.leg}: it depends on ${dependency} ${sdkRange}`,
  }
}

function countLegs(rows: readonly { readonly leg: Leg }[]): LegCounts {
  const [server, client] = LEGS.map((leg) => rows.filter((row) => row.leg === leg).length)
  return { server: server ?? 0, client: client ?? 0, total: rows.length }
}

function nameSource({ document, version, digest }: Reading): SourceName {
  return { document, version, digest }
}

function label(side: Side): string {
  return labelDocument(side.reading.document)
}
