import { expect, test } from 'vitest'
import { parseRequirementList } from '../agent/requirement-list.ts'
import { FROM, realReading, TO } from '../test/real-input.ts'
import { parseRows, rowsOnlyIn } from './requirement-rows.ts'

test.each([FROM, TO])('two parsers that share nothing read the same rows in %s', (document) => {
  const reading = realReading(document)
  const theirs = parseRequirementList(reading)
  const { rows, sections, notScored } = parseRows(document, reading.text)
  expect(rows).toEqual(
    theirs.rows.map(({ leg, scenario, lines }) => ({ leg, scenario, line: lines.start })),
  )
  expect(notScored).toBe(theirs.unscored.length)
  expect(sections.client.last).toBe(theirs.sections.client.end)
})

test('the published lists differ by so many rows', () => {
  const [from, to] = [FROM, TO].map((document) => parseRows(document, realReading(document).text))
  if (from === undefined || to === undefined) throw new Error('two lists')
  expect([rowsOnlyIn(to, from).length, rowsOnlyIn(from, to).length]).toEqual([34, 13])
})

test.each([
  ['server:\n  - a\n  - b: c', 3],
  ['server:\n  - "a"', 2],
  ['server:\n   - a', 2],
  ['  - a', 1],
  ['server: [a]', 1],
  ['other:\n  - a', 1],
  ['not_scored:\n  - a', 2],
])('a line that it cannot tell is an error and never passed over: %j', (text, line) => {
  expect(() => parseRows('list.yaml', text)).toThrow(`list.yaml, line ${line}: `)
})

test('a row that stands there twice is an error', () => {
  expect(() => parseRows('list.yaml', 'server:\n  - a\n  - a')).toThrow('twice')
})
