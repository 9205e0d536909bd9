import { expect, test } from 'vitest'
import { FROM, realReading, realTarget, TO } from '../test/real-input.ts'
import { quoteLines } from './citation.ts'
import { compareReadings } from './compare.ts'
import { forgeQuote } from './forge.ts'
import { writeReport, type MarkedCitation } from './report.ts'

const comparison = compareReadings(realReading(FROM), realReading(TO), realTarget())
const report = writeReport('What must our server do?\nAnd why?', comparison)

/** What a stranger can read out of the report, knowing only its published form. */
function parseReport(markdown: string): { lines: string[]; citations: MarkedCitation[] } {
  const [body = '', block = ''] = markdown.split('\n## Citations\n\n```json citations\n')
  expect(block.endsWith('\n```\n')).toBe(true)
  return { lines: body.split('\n'), citations: JSON.parse(block.slice(0, -5)) as MarkedCitation[] }
}

test('every line that states something ends with markers, and every marker has its citation', () => {
  const { lines, citations } = parseReport(report.markdown)
  const known = new Set(citations.map(({ id }) => id))
  const used = new Set<string>()
  const statements = lines.filter((line) => line !== '' && !/^[#>]/.test(line))
  expect(statements.length).toBeGreaterThan(70)
  for (const line of statements) {
    expect(line).toMatch(/ \[c\d+\]$/)
    for (const [, id] of line.matchAll(/\[(c\d+)\]/g)) used.add(id ?? '')
  }
  expect(known).toEqual(used)
  expect(known.size).toBe(citations.length)
})

test('every citation of the report is the text of its lines', () => {
  const readings = [realReading(FROM), realReading(TO), realReading(realTarget().citation.document)]
  for (const { document, lines, quote, digest, version } of report.citations) {
    const reading = readings.find((candidate) => candidate.document === document)
    expect(reading).toMatchObject({ digest, version })
    expect(reading === undefined ? '' : quoteLines(reading, lines)).toBe(quote)
  }
})

test('what touches the target comes first, and every changed row is in the report', () => {
  const touching = report.markdown.indexOf('## What touches')
  const rest = report.markdown.indexOf('## The rest')
  const end = report.markdown.indexOf('## Not scored')
  for (const row of comparison.differences.rows) {
    const at = report.markdown.indexOf(`- \`${row.scenario}\` is `)
    expect(at > (row.affectsTarget ? touching : rest), row.scenario).toBe(true)
    expect(at < (row.affectsTarget ? rest : end), row.scenario).toBe(true)
  }
})

test('the goal stands at the head as a quotation, every line of it', () => {
  expect(report.markdown).toContain('\n> What must our server do?\n> And why?\n')
})

test('a forged report differs in one quote and in nothing else', () => {
  const forged = parseReport(forgeQuote(report))
  const honest = parseReport(report.markdown)
  expect(forged.lines).toEqual(honest.lines)
  const changed = forged.citations.filter(
    (citation, index) => JSON.stringify(citation) !== JSON.stringify(honest.citations[index]),
  )
  expect(changed).toHaveLength(1)
  const original = honest.citations.find(({ id }) => id === changed[0]?.id)
  expect({ ...changed[0], quote: original?.quote }).toEqual(original)
})
