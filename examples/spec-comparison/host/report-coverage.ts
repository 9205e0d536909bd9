/**
 * Does report.md, which people read, state every changed row with its sources?
 *
 * The report is prose, so this reads only what the agreement fixes: statement lines end with
 * markers such as [c12], and the last block holds the citation behind each marker.
 */
import { type ExpectedRow, isEvidence, sayEvidence } from './coverage.ts'
import type { Citation } from './documents.ts'

const BLOCK = /^```json citations\n([\s\S]*?)^```$/mu
const MARKERS = /(?: ?\[c\d+\])+$/u

/** @returns reasons to refuse; a report that cannot be read is one. */
export function judgeReport(expected: readonly ExpectedRow[], text: string): readonly string[] {
  try {
    const { statements, faults } = readStatements(text)
    const uncovered = expected.flatMap((row) => {
      const cited = statements
        .filter((statement) => statement.text.includes(`\`${row.scenario}\``))
        .some((statement) =>
          row.evidence.every((needed) =>
            statement.citations.some((citation) => isEvidence(citation, needed)),
          ),
        )
      const where = row.evidence.map(sayEvidence).join(' and ')
      return cited ? [] : [`${row.change} ${row.leg} ${row.scenario}: no statement with ${where}`]
    })
    return [...faults, ...uncovered].map((reason) => `report.md: ${reason}`)
  } catch (error) {
    return [`report.md: not as agreed (${(error as Error).message})`]
  }
}

interface Statement {
  readonly text: string
  readonly citations: readonly Partial<Citation>[]
}

function readStatements(text: string): {
  readonly statements: readonly Statement[]
  readonly faults: readonly string[]
} {
  const block = BLOCK.exec(text)?.[1]
  if (block === undefined) throw new Error('it has no block of citations')
  const list = JSON.parse(block) as readonly (Partial<Citation> & { readonly id?: string })[]
  const byId = new Map(list.map((citation) => [citation.id ?? '', citation]))
  const faults: string[] = byId.size < list.length ? ['two citations have one marker'] : []
  const statements = text
    .slice(0, text.indexOf('```json citations'))
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line): Statement => {
      const ids = (MARKERS.exec(line)?.[0] ?? '').match(/c\d+/gu) ?? []
      const citations = ids.flatMap((id) => byId.get(id) ?? [])
      if (ids.length === 0 || citations.length < ids.length) {
        faults.push(`a statement without its source: ${line.slice(0, 80)}`)
      }
      return { text: line, citations }
    })
  return { statements, faults }
}
