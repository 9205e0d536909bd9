import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countUnit, looseUnits, strictUnits, termsOf } from './terms.ts'

test('words lose case, width and accents; punctuation and underscores separate them', () => {
  expect(termsOf('Ｃafé tools/call resume_at 2026-07-28')).toEqual([
    'cafe',
    'tools',
    'call',
    'resume',
    'at',
    '2026',
    '07',
    '28',
  ])
})

test('a run of Chinese or Japanese becomes pairs and its last character', () => {
  expect(termsOf('数据库 MCPサーバー')).toEqual([
    '数据',
    '据库',
    '库',
    'mcp',
    'サー',
    'ーバ',
    'バー',
    'ー',
  ])
})

test('a Japanese mark makes another letter and is kept', () => {
  expect(termsOf('がか')).toEqual(['がか', 'か'])
})

test('what stands together in a query is one unit', () => {
  expect(strictUnits('tools/call 数据库、备')).toEqual([
    { terms: ['tools', 'call'], prefix: false },
    { terms: ['数据', '据库'], prefix: false },
    { terms: ['备'], prefix: true },
  ])
})

test('read loosely, each word and pair is a unit', () => {
  expect(looseUnits('tools/call 数据库').map((unit) => unit.terms)).toEqual([
    ['tools'],
    ['call'],
    ['数据'],
    ['据库'],
  ])
})

test('a query without letters or digits has no units', () => {
  expect(strictUnits('?! — "*"')).toEqual([])
})

test('a query of very many words is cut at 64 units', () => {
  const query = Array.from({ length: 500 }, (_, index) => `w${index}`).join(' ')
  expect(strictUnits(query)).toHaveLength(64)
})

test('each character of a run is found alone, wherever it stands', () => {
  const terms = termsOf('数据库的备份')
  for (const character of '数据库的备份') {
    const [unit] = strictUnits(character)
    expect(unit && countUnit(terms, unit)).toBe(1)
  }
})

test('a unit is counted where all its terms stand in order', () => {
  const [unit] = strictUnits('tools/call')
  expect(unit && countUnit(termsOf('tools call, call tools, calls tools/call'), unit)).toBe(2)
})

test('any part of a run of Chinese or Japanese is found in it', () => {
  const run = fc.array(fc.constantFrom('数', '据', '库', 'サ', 'ー', 'が', '𠮷'), { minLength: 1 })
  fc.assert(
    fc.property(run, fc.nat(), fc.nat(), (characters, from, length) => {
      const start = from % characters.length
      const part = characters.slice(start, start + 1 + (length % characters.length)).join('')
      const [unit, ...others] = strictUnits(part)
      expect(others).toEqual([])
      const text = `words ${characters.join('')} words`
      expect(unit && countUnit(termsOf(text), unit)).toBeGreaterThan(0)
    }),
  )
})
