/**
 * Writes report.md: what touches the target first, then the rest, every statement with its source.
 *
 * A statement line ends with markers such as [c12]; the last section holds one fenced block with
 * the citation behind each marker. So a reader can follow a claim and a program can check it.
 */
import { citeLines, labelDocument, type Citation } from './citation.ts'
import type { Comparison, Finding, RowChange } from './compare.ts'
import { keyOf, LEGS, type Leg } from './requirement-list.ts'

/** A citation under the marker that the report's text uses for it. */
export interface MarkedCitation extends Citation {
  readonly id: string
}

/** The finished report. */
export interface Report {
  readonly markdown: string
  readonly citations: readonly MarkedCitation[]
}

/** How many rows must share a beginning before they get a heading of their own. */
const FAMILY_SIZE = 3

/** The one SDK package that does not say by its name which side it is for. */
const TWO_SIDED_SDK = '@modelcontextprotocol/sdk'

/** Writes the report on a comparison, under the goal its reader gave. */
export function writeReport(goal: string, comparison: Comparison): Report {
  const marks = createMarks()
  const lines = [
    ...writeHead(goal, comparison),
    ...writeSummary(comparison, marks),
    ...writeTouching(comparison, marks),
    ...writeRest(comparison, marks),
    ...writeUnscored(comparison, marks),
    ...writeUnchanged(comparison, marks),
    ...writeRemarks(comparison, marks),
    ...writeLimits(comparison, marks),
  ]
  const citations = marks.all()
  return { markdown: `${lines.join('\n')}\n${writeCitations(citations)}`, citations }
}

/** The last section: its block is what a program reads. */
export function writeCitations(citations: readonly MarkedCitation[]): string {
  const rows = citations.map((citation) => `  ${JSON.stringify(citation)}`)
  return ['## Citations', '', '```json citations', '[', rows.join(',\n'), ']', '```', ''].join('\n')
}

interface Marks {
  /** The statement with the markers of its sources at its end. */
  state(statement: string, citations: readonly Citation[]): string
  all(): readonly MarkedCitation[]
}

/** Two statements that stand on the same lines share one marker. */
function createMarks(): Marks {
  const known = new Map<string, MarkedCitation>()
  const mark = (citation: Citation): string => {
    const key = JSON.stringify([citation.document, citation.digest, citation.lines])
    const marked = known.get(key) ?? { id: `c${known.size + 1}`, ...citation }
    known.set(key, marked)
    return `[${marked.id}]`
  }
  return {
    state: (statement, citations) => `${statement} ${citations.map(mark).join(' ')}`,
    all: () => [...known.values()],
  }
}

function writeHead(goal: string, comparison: Comparison): string[] {
  const [from, to] = labels(comparison)
  return [
    `# ${from} to ${to}: what changes for ${comparison.target.package}`,
    '',
    ...goal.split(/\r?\n/).map((line) => `> ${line}`.trimEnd()),
    '',
  ]
}

function writeSummary(comparison: Comparison, marks: Marks): string[] {
  const { counts, notScored } = comparison.differences
  const { target } = comparison
  const [from, to] = labels(comparison)
  const sections = allSections(comparison)
  const moved = notScored.filter(({ change }) => change.startsWith('moved_')).length
  const touched = counts.affectsTarget
  return [
    '## Summary',
    '',
    marks.state(
      `- **${touched.total} of ${counts.added.total + counts.removed.total} changes touch ${target.package}**: ${touched.added} requirements come, ${touched.removed} go.`,
      [target.citation, ...sections],
    ),
    marks.state(
      `- ${target.package} depends on \`${target.dependency}\` \`${target.sdkRange}\`: the ${target.leg} requirements are the ones that bind it.`,
      [target.citation],
    ),
    marks.state(
      `- ${to} requires ${spellCounts(counts.to)}; ${from} required ${spellCounts(counts.from)}.`,
      sections,
    ),
    marks.state(
      `- Added: ${spellCounts(counts.added)}. Removed: ${spellCounts(counts.removed)}. In both: ${spellCounts(counts.unchanged)}.`,
      sections,
    ),
    marks.state(
      `- Run without being scored: ${counts.notScored.to} in ${to}, ${counts.notScored.from} in ${from}; ${moved} moved between scored and not scored.`,
      [comparison.to, comparison.from].flatMap(({ reading, list }) =>
        list.unscoredSection === undefined ? [] : [citeLines(reading, list.unscoredSection)],
      ),
    ),
    '',
  ]
}

function writeTouching(comparison: Comparison, marks: Marks): string[] {
  const { target, differences } = comparison
  const rows = differences.rows.filter((row) => row.affectsTarget)
  const because = rows[0]?.because
  return [
    `## What touches ${target.package}`,
    '',
    ...(because === undefined
      ? [marks.state(`Nothing: no ${target.leg} requirement changed.`, [target.citation])]
      : [marks.state(`Each of these is ${because}.`, [target.citation])]),
    '',
    ...writeChanges(rows, marks),
  ]
}

function writeRest(comparison: Comparison, marks: Marks): string[] {
  const { target, differences } = comparison
  const rows = differences.rows.filter((row) => !row.affectsTarget)
  const because = rows[0]?.because
  return [
    '## The rest',
    '',
    ...(because === undefined
      ? [marks.state('Nothing else changed.', [target.citation])]
      : [marks.state(`Each of these is ${because}.`, [target.citation])]),
    '',
    ...writeChanges(rows, marks),
  ]
}

function writeChanges(rows: readonly RowChange[], marks: Marks): string[] {
  return (['added', 'removed'] as const).flatMap((change) => {
    const chosen = rows.filter((row) => row.change === change)
    if (chosen.length === 0) return []
    const title = change === 'added' ? 'New requirements' : 'No longer required'
    return [`### ${title} (${chosen.length})`, '', ...writeFamilies(chosen, marks)]
  })
}

function writeFamilies(rows: readonly Finding[], marks: Marks): string[] {
  const families = groupFamilies(rows)
  return [...families].flatMap(([family, members]) => [
    ...(families.size > 1 ? [`#### ${family} (${members.length})`, ''] : []),
    ...members.map(({ statement, citations }) => marks.state(`- ${statement}.`, citations)),
    '',
  ])
}

/**
 * Groups rows by how their names begin: the largest group that a row belongs to, under the longest
 * beginning all of that group share. Rows without a group come last.
 */
function groupFamilies(rows: readonly Finding[]): Map<string, Finding[]> {
  const beginnings = rows.map(({ scenario }) =>
    [...scenario.matchAll(/[-/]/g)].map(({ index }) => scenario.slice(0, index)),
  )
  const sizes = new Map<string, number>()
  for (const beginning of beginnings.flat()) sizes.set(beginning, (sizes.get(beginning) ?? 0) + 1)
  const families = new Map<string, Finding[]>()
  const others: Finding[] = []
  rows.forEach((row, index) => {
    const own = beginnings[index] ?? []
    const largest = sizes.get(own[0] ?? '') ?? 0
    const family = own.findLast((beginning) => sizes.get(beginning) === largest)
    if (family === undefined || largest < FAMILY_SIZE) others.push(row)
    else families.set(family, [...(families.get(family) ?? []), row])
  })
  return others.length === 0 ? families : families.set('other', others)
}

function writeUnscored(comparison: Comparison, marks: Marks): string[] {
  const { notScored } = comparison.differences
  if (notScored.length === 0) return []
  const titles = {
    moved_to_scored: 'Moved: now required',
    moved_from_scored: 'Moved: no longer scored',
    added: 'New without a score',
    removed: 'Gone without ever having a score',
    reason_changed: 'Without a score for another reason than before',
    unchanged: 'Without a score as before',
  } as const
  return [
    '## Not scored',
    '',
    ...Object.entries(titles).flatMap(([change, title]) => {
      const chosen = notScored.filter((row) => row.change === change)
      if (chosen.length === 0) return []
      const lines = chosen.map(({ statement, citations }) =>
        marks.state(`- ${statement}.`, citations),
      )
      return [`### ${title} (${chosen.length})`, '', ...lines, '']
    }),
  ]
}

function writeUnchanged(comparison: Comparison, marks: Marks): string[] {
  const { from, to } = comparison
  const before = new Set(from.list.rows.map(keyOf))
  return [
    '## Required in both',
    '',
    ...LEGS.map((leg) => {
      const kept = to.list.rows.filter((row) => row.leg === leg && before.has(keyOf(row)))
      const names = kept.map(({ scenario }) => `\`${scenario}\``).join(', ')
      const sections = [to, from].map(({ reading, list }) => citeLines(reading, list.sections[leg]))
      return marks.state(`- ${leg} (${kept.length}): ${names || 'none'}.`, sections)
    }),
    '',
  ]
}

/** What the lists say about their own sections, word for word: it decides how to read the rows. */
function writeRemarks(comparison: Comparison, marks: Marks): string[] {
  const { reading, list } = comparison.to
  if (list.remarks.length === 0) return []
  return [
    `## What ${labelDocument(reading.document)} says about its own sections`,
    '',
    ...list.remarks.map((lines) => {
      const citation = citeLines(reading, lines)
      const words = citation.quote.replaceAll(/^#\s?/gm, '').replaceAll(/\s+/g, ' ').trim()
      return marks.state(`- “${words}”`, [citation])
    }),
    '',
  ]
}

function writeLimits(comparison: Comparison, marks: Marks): string[] {
  const { target, from, to } = comparison
  const uncompared = [from, to].flatMap(({ reading, list }) =>
    list.uncompared.map(({ key, lines }) =>
      marks.state(`- The section \`${key}\` was not compared.`, [citeLines(reading, lines)]),
    ),
  )
  return [
    '## What this report does not say',
    '',
    marks.state(
      '- Rows are compared by section and exact name: a renamed scenario shows as one removed and one added.',
      allSections(comparison),
    ),
    marks.state(
      `- Whether ${target.package} passes a scenario is not judged here; that takes a run of the suite against it.`,
      [target.citation],
    ),
    ...(target.dependency === TWO_SIDED_SDK
      ? [
          marks.state(
            `- \`${TWO_SIDED_SDK}\` can build both sides; ${target.package} is read as a ${target.leg}, so what it might do as a client is under “The rest”.`,
            [target.citation],
          ),
        ]
      : []),
    ...uncompared,
    '',
  ]
}

function allSections({ from, to }: Comparison): Citation[] {
  return LEGS.flatMap((leg) => [
    citeLines(to.reading, to.list.sections[leg]),
    citeLines(from.reading, from.list.sections[leg]),
  ])
}

function labels({ from, to }: Comparison): [string, string] {
  return [labelDocument(from.reading.document), labelDocument(to.reading.document)]
}

function spellCounts(counts: Readonly<Record<Leg | 'total', number>>): string {
  return `${counts.total} (${counts.server} server, ${counts.client} client)`
}
