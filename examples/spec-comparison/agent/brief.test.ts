import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { realTarget } from '../test/real-input.ts'
import { createBriefReader } from './brief.ts'
import { dataPart, textPart } from './task-changes.ts'

const reader = createBriefReader()
const brief = {
  goal: 'compare',
  scope: { from: 'a/1.yaml', to: 'a/2.yaml', target: { package: '@a/b' } },
  acceptance: { required: ['report.md', 'differences.json'], minCitations: 1 },
}

test('a brief is taken as it is, criteria of the sender included', () => {
  expect(reader.parseBrief([textPart('please'), dataPart(brief)])).toEqual({
    state: 'parsed',
    value: brief,
  })
})

test('a message without a data part holds no brief', () => {
  expect(reader.parseBrief([textPart('compare a with b')])).toEqual({ state: 'absent' })
})

test('a malformed brief is refused with every place that is wrong', () => {
  const target = { package: 'Not A Name', sdkRange: '' }
  const wrong = dataPart({ goal: 7, scope: { from: 'a', to: 'b', target } })
  const parsed = reader.parseBrief([wrong])
  expect(parsed.state === 'malformed' && parsed.problem).toMatch(
    /brief\/goal must be string.*brief\/scope\/target\/package must match pattern.*sdkRange must match/,
  )
  const others = [[dataPart(null)], [dataPart([])], [dataPart(brief), dataPart(brief)]]
  for (const parts of others) expect(reader.parseBrief(parts).state).toBe('malformed')
})

test('a delivery that this agent does not make is refused before the work', () => {
  const parsed = reader.parseBrief([dataPart({ ...brief, acceptance: { required: ['a.pdf'] } })])
  expect(parsed).toEqual({
    state: 'malformed',
    problem: 'acceptance.required asks for a.pdf; I deliver report.md and differences.json',
  })
})

test('an answer is a data part, a bare range, or the one range in a sentence', () => {
  const { citation } = realTarget()
  const said = (text: string) => reader.parseAnswer([textPart(text)])
  expect(
    reader.parseAnswer([textPart('here'), dataPart({ sdkRange: '^1.30.0', citation })]),
  ).toEqual({
    state: 'parsed',
    value: { sdkRange: '^1.30.0', citation },
  })
  expect(said(' ^1.30.0\n')).toEqual({ state: 'parsed', value: { sdkRange: '^1.30.0' } })
  expect(said('>=1.30.0 <2')).toEqual({ state: 'parsed', value: { sdkRange: '>=1.30.0 <2' } })
  expect(said('It is ^1.30.0.')).toEqual({ state: 'parsed', value: { sdkRange: '^1.30.0' } })
  expect(said('It says >=1.30.0 there')).toEqual({
    state: 'parsed',
    value: { sdkRange: '>=1.30.0' },
  })
})

test('an answer that is none is told apart from silence', () => {
  expect(reader.parseAnswer([textPart('  ')])).toEqual({ state: 'absent' })
  expect(reader.parseAnswer([textPart('no idea')]).state).toBe('malformed')
  expect(reader.parseAnswer([dataPart({ range: '^1.0.0' })]).state).toBe('malformed')
  expect(
    reader.parseAnswer([dataPart({ sdkRange: '^1.30.0', citation: { quote: 'x' } })]).state,
  ).toBe('malformed')
})

test('the schemas shown to others are complete in themselves', () => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true })
  expect(ajv.validate(reader.answerSchema as object, { sdkRange: '^1.30.0' })).toBe(true)
  expect(ajv.validate(reader.answerSchema as object, {})).toBe(false)
  const published = new URL('../schemas/brief.schema.json', import.meta.url)
  expect(reader.briefSchema).toEqual(JSON.parse(readFileSync(published, 'utf8')))
  expect(ajv.compile(reader.briefSchema as object)(brief)).toBe(true)
})
