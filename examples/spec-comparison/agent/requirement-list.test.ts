import { expect, test } from 'vitest'
import { realReading, readingOf, FROM, TO } from '../test/real-input.ts'
import { quoteLines } from './citation.ts'
import { ListError, parseRequirementList } from './requirement-list.ts'

test('every row of the real lists stands on the lines it is given', () => {
  for (const document of [FROM, TO]) {
    const reading = realReading(document)
    const list = parseRequirementList(reading)
    for (const row of list.rows) {
      expect(quoteLines(reading, row.lines)).toBe(`  - ${row.scenario}`)
    }
    for (const row of list.unscored) {
      const quote = quoteLines(reading, row.lines)
      expect(quote.startsWith(`  - scenario: ${row.scenario}\n    leg: ${row.leg}\n`)).toBe(true)
      expect(quote.split('\n').filter((line) => line.includes('scenario:'))).toHaveLength(1)
      if (row.note !== undefined) expect(quote.endsWith(row.note)).toBe(true)
    }
    expect(list.remarks.length).toBeGreaterThan(0)
    expect(list.uncompared).toEqual([])
  }
})

test('a section reaches from its key to its last row', () => {
  const reading = realReading(TO)
  const { sections } = parseRequirementList(reading)
  expect(quoteLines(reading, sections.server)).toMatch(/^server:\n {2}- server-stateless\n/)
  expect(quoteLines(reading, sections.server)).toMatch(
    /\n {2}- input-required-result-validate-input$/,
  )
  expect(quoteLines(reading, sections.client)).toMatch(
    /^client:\n[\s\S]*- json-schema-ref-no-deref$/,
  )
})

test('an empty section is a section, and a stranger is said and not compared', () => {
  const list = parseRequirementList(
    readingOf('a.yaml', 'server:\nclient:\n  - one\nother:\n  - two\n'),
  )
  expect(list.rows).toEqual([{ leg: 'client', scenario: 'one', lines: { start: 3, end: 3 } }])
  expect(list.sections.server).toEqual({ start: 1, end: 1 })
  expect(list.uncompared).toEqual([{ key: 'other', lines: { start: 4, end: 5 } }])
})

test('a list that is not as expected is refused with its line', () => {
  const refusals = [
    ['server: [a\nclient: []\n', /a\.yaml, line \d: not YAML/],
    ['- server\n', /expected a map/],
    ['server: []\n', /the section client is missing/],
    ['server:\n  - a\n  - 3\nclient: []\n', /line 3: expected a scenario name under server/],
    ['server:\n  - a\n  - a\nclient: []\n', /line 3: server a stands on line 2 already/],
    ['server: text\nclient: []\n', /line 1: server is not a list/],
    ['server:\n  - "a`b"\nclient: []\n', /line 2: a scenario name must be/],
    [
      'server: []\nclient: []\nnot_scored:\n  - scenario: a\n    leg: other\n    reason: b\n',
      /leg/,
    ],
    ['server: []\nclient: []\nnot_scored:\n  - scenario: a\n    leg: server\n', /gives no reason/],
    ['server: []\nserver: []\nclient: []\n', /line 2: not YAML/],
  ] as const
  for (const [text, message] of refusals) {
    const parse = () => parseRequirementList(readingOf('a.yaml', text))
    expect(parse).toThrow(ListError)
    expect(parse).toThrow(message)
  }
})
