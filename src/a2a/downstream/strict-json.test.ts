import fc from 'fast-check'
import { expect, test } from 'vitest'
import { scanStrictly } from './strict-json.ts'

const json = fc.jsonValue({ maxDepth: 6, stringUnit: 'grapheme' })

test('the canonical form means the same, and is the same for any order and spacing', () => {
  fc.assert(
    fc.property(json, fc.nat(4), (value, indent) => {
      const scanned = scanStrictly(JSON.stringify(value, undefined, indent))
      if (!('canonical' in scanned)) throw new Error(scanned.offence)
      expect(JSON.parse(scanned.canonical)).toEqual(JSON.parse(JSON.stringify(value)))
      expect(scanStrictly(JSON.stringify(backwards(value)))).toEqual(scanned)
      expect(scanStrictly(scanned.canonical)).toEqual(scanned)
    }),
  )
})

test('number lexemes are kept: digits beyond 2^53 make another message', () => {
  expect(scanStrictly('[9007199254740993, 1.0,-0]')).toEqual({
    canonical: '[9007199254740993,1.0,-0]',
  })
})

test('keys are compared as they read, not as they are written', () => {
  expect(scanStrictly(String.raw`{"a":1,"\u0061":2}`)).toEqual({
    offence: 'the key "a" is given twice',
  })
  expect(scanStrictly(String.raw`{"a\\":{"a":1},"a":"\\\""}`)).toHaveProperty('canonical')
})

function backwards(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(backwards)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, backwards(item)]),
  )
}
