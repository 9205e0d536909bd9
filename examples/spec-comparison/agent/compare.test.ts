import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { FROM, readingOf, realReading, realTarget, TO } from '../test/real-input.ts'
import { quoteLines } from './citation.ts'
import { compareReadings } from './compare.ts'

const schema = JSON.parse(
  readFileSync(new URL('../schemas/report.schema.json', import.meta.url), 'utf8'),
) as object
const isReport = new Ajv2020({ strict: true, allErrors: true }).compile(schema)

test('the real lists give every added and removed row once, by the published schema', () => {
  const { differences } = compareReadings(realReading(FROM), realReading(TO), realTarget())

  expect(isReport(differences), JSON.stringify(isReport.errors)).toBe(true)
  expect(differences.counts).toEqual({
    from: { server: 30, client: 18, total: 48 },
    to: { server: 37, client: 32, total: 69 },
    added: { server: 17, client: 17, total: 34 },
    removed: { server: 10, client: 3, total: 13 },
    unchanged: { server: 20, client: 15, total: 35 },
    affectsTarget: { added: 17, removed: 10, total: 27 },
    notScored: { from: 10, to: 20 },
  })
  const ping = differences.rows.find(({ scenario }) => scenario === 'ping')
  expect(ping).toMatchObject({ change: 'removed', leg: 'server', affectsTarget: true })
  expect(ping?.citations.map(({ document, lines }) => [document, lines])).toEqual([
    [FROM, { start: 46, end: 46 }],
    [TO, { start: 38, end: 75 }],
  ])
})

test('a row that moves between scored and not scored is noticed from both sides', () => {
  const unscored = (scenario: string) =>
    `not_scored:\n  - scenario: ${scenario}\n    leg: server\n    reason: pending\n`
  const from = readingOf('old.yaml', `server:\n  - falls\nclient: []\n${unscored('rises')}`)
  const to = readingOf('new.yaml', `server:\n  - rises\nclient: []\n${unscored('falls')}`)

  const { rows, notScored } = compareReadings(from, to, realTarget()).differences

  expect(rows.map(({ change, scenario }) => [change, scenario])).toEqual([
    ['added', 'rises'],
    ['removed', 'falls'],
  ])
  expect(notScored.map(({ change, scenario }) => [change, scenario])).toEqual([
    ['moved_from_scored', 'falls'],
    ['moved_to_scored', 'rises'],
  ])
  expect(rows[0]?.citations.map(({ quote }) => quote)).toEqual([
    '  - rises',
    '  - scenario: rises\n    leg: server\n    reason: pending',
  ])
})

test('a target that builds clients is touched by the client rows', () => {
  const target = {
    ...realTarget(),
    dependency: '@modelcontextprotocol/client',
    leg: 'client' as const,
  }
  const { rows } = compareReadings(realReading(FROM), realReading(TO), target).differences
  expect(rows.every(({ leg, affectsTarget }) => affectsTarget === (leg === 'client'))).toBe(true)
})

test('for any two lists the rows are exactly the difference and every quote is its lines', () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9/-]{0,12}$/), { maxLength: 12 })
  const list = fc.record({ server: names, client: names })
  const write = ({ server, client }: { server: string[]; client: string[] }) =>
    [
      '# a head',
      `server:`,
      ...server.map(quoteItem),
      '',
      'client:',
      ...client.map(quoteItem),
      '',
    ].join('\n')
  const keys = ({ server, client }: { server: string[]; client: string[] }) => [
    ...server.map((name) => `server ${name}`),
    ...client.map((name) => `client ${name}`),
  ]
  fc.assert(
    fc.property(list, list, (old, next) => {
      const from = readingOf('old.yaml', write(old))
      const to = readingOf('new.yaml', write(next))
      const { rows } = compareReadings(from, to, realTarget()).differences
      const of = (change: string) =>
        rows.filter((row) => row.change === change).map((row) => `${row.leg} ${row.scenario}`)
      expect(of('added')).toEqual(keys(next).filter((key) => !keys(old).includes(key)))
      expect(of('removed')).toEqual(keys(old).filter((key) => !keys(next).includes(key)))
      for (const citation of rows.flatMap(({ citations }) => citations)) {
        const reading = citation.document === 'old.yaml' ? from : to
        expect(citation.quote).toBe(quoteLines(reading, citation.lines))
        expect(citation.digest).toBe(reading.digest)
      }
    }),
  )
})

/** Quoted, so that a name such as `null` or `3` stays a name. */
function quoteItem(name: string): string {
  return `  - ${JSON.stringify(name)}`
}
