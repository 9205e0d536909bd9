import type { Artifact } from 'comity'
import { expect, test } from 'vitest'
import { compareReadings } from '../agent/compare.ts'
import { writeReport } from '../agent/report.ts'
import { FROM, MANIFEST, realReading, realTarget, TO } from '../test/real-input.ts'
import { expectRows, judgeCoverage, type Sources } from './coverage.ts'
import { citeLine } from './documents.ts'
import { parseRows } from './requirement-rows.ts'

const sources: Sources = {
  from: { reading: realReading(FROM), list: parseRows(FROM, realReading(FROM).text) },
  to: { reading: realReading(TO), list: parseRows(TO, realReading(TO).text) },
  target: {
    sdkRange: '^1.30.0',
    citation: citeLine(realReading(MANIFEST), realTarget().citation.lines.start),
  },
}
const comparison = compareReadings(realReading(FROM), realReading(TO), realTarget())
const honest = {
  differences: JSON.stringify(comparison.differences),
  report: writeReport('What changes?', comparison).markdown,
}

function artifact(name: string, text: string): Artifact {
  const content = [{ kind: 'text' as const, text }]
  const size = { parts: 1, bytes: text.length, complete: true, headless: false }
  return { artifactId: name, name, ...size, content }
}

function judge(delivery: Partial<typeof honest>): readonly string[] {
  const { differences, report } = { ...honest, ...delivery }
  return judgeCoverage(sources, [
    artifact('differences.json', differences),
    artifact('report.md', report),
  ]).reasons
}

/** The honest differences with one thing changed. */
function changed(change: (differences: typeof comparison.differences) => object): string {
  return JSON.stringify({ ...comparison.differences, ...change(comparison.differences) })
}

test('an honest delivery has nothing against it, and the checks say what was counted', () => {
  expect(judge({})).toEqual([])
  const { checks } = judgeCoverage(sources, [])
  expect(checks[0]).toContain('all 34 added and 13 removed rows')
})

test('each row that is left out of differences.json is named', () => {
  for (const [index, row] of comparison.differences.rows.entries()) {
    const reasons = judge({
      differences: changed(({ rows }) => ({ rows: rows.filter((_, at) => at !== index) })),
    })
    expect(reasons).toEqual([
      `differences.json: ${row.change} ${row.leg} ${row.scenario}: not covered`,
    ])
  }
})

test('each row that is left out of report.md is named', () => {
  for (const row of expectRows(sources)) {
    const kept = honest.report
      .split('\n')
      .filter((line) => !line.startsWith(`- \`${row.scenario}\` is ${sayChange(row.change)}`))
    const reasons = judge({ report: kept.join('\n') })
    expect(reasons.join()).toContain(
      `report.md: ${row.change} ${row.leg} ${row.scenario}: no state`,
    )
  }
})

const sayChange = (change: 'added' | 'removed') => (change === 'added' ? 'new' : 'gone')

test('a row twice, a row that is no change, and a removed row called added are refused', () => {
  const first = comparison.differences.rows[0]
  const twice = judge({ differences: changed(({ rows }) => ({ rows: [...rows, first] })) })
  expect(twice).toEqual(['differences.json: a row stands there more than once'])
  const invented = judge({
    differences: changed(({ rows }) => ({ rows: [...rows, { ...first, scenario: 'made-up' }] })),
  })
  expect(invented[0]).toContain('made-up: no such change')
  const turned = judge({
    differences: changed(({ rows }) => ({
      rows: rows.map((row) => (row.change === 'removed' ? { ...row, change: 'added' } : row)),
    })),
  })
  expect(turned.filter((reason) => reason.endsWith('not covered'))).toHaveLength(13)
})

test('a true citation of another line, or a removal without the section, is no evidence', () => {
  const shifted = judge({
    differences: changed(({ rows }) => ({
      rows: rows.map((row, index) => ({ ...row, citations: (rows[index + 1] ?? row).citations })),
    })),
  })
  expect(shifted.length).toBeGreaterThan(40)
  const sectionless = judge({
    differences: changed(({ rows }) => ({
      rows: rows.map((row) => ({ ...row, citations: row.citations.slice(0, 1) })),
    })),
  })
  expect(sectionless).toHaveLength(13)
})

test('a wrong total, a wrong effect and another range are refused with what is right', () => {
  const { counts, target } = comparison.differences
  const total = { ...counts, added: { ...counts.added, total: 35 } }
  expect(judge({ differences: changed(() => ({ counts: total })) })).toEqual([
    'differences.json: counts.added.total is 34, it says 35',
  ])
  const effect = judge({
    differences: changed(({ rows }) => ({
      rows: rows.map((row, index) => (index === 0 ? { ...row, affectsTarget: false } : row)),
    })),
  })
  expect(effect[0]).toContain('wrong about whether it touches the target')
  const range = judge({ differences: changed(() => ({ target: { ...target, sdkRange: '^2' } })) })
  expect(range[0]).toContain('package.json line 33')
})

test('a statement without a source, and bytes that are no delivery, are reasons and no crash', () => {
  const bare = honest.report.replace(/ \[c\d+\]$/mu, '').replace(/(?: \[c\d+\])+$/mu, '')
  expect(judge({ report: bare }).join()).toContain('a statement without its source')
  expect(judge({ report: '# nothing' }).join()).toContain('no block of citations')
  for (const differences of [
    '',
    'null',
    '[]',
    '{"rows":3}',
    '{"rows":[null]}',
    '{"rows":[{"citations":1}]}',
  ])
    expect(judge({ differences }).length, differences).toBeGreaterThan(0)
})
