import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson } from './canonical.ts'

const byValue = (text: string): string =>
  new TextDecoder().decode(
    canonicalJson(new TextEncoder().encode(text), undefined, { numbers: 'value' }),
  )

test.each([
  ['0', '0'],
  ['-0', '0'],
  ['0.000', '0'],
  ['0e9', '0'],
  ['-0.0E-5', '0'],
  ['1', '1'],
  ['1.0', '1'],
  ['1e0', '1'],
  ['10e-1', '1'],
  ['0.1E+1', '1'],
  ['0.0010e3', '1'],
  ['100', '1e2'],
  ['-1.50', '-15e-1'],
  ['1e99999999999999999999', '1e99999999999999999999'],
  ['10e99999999999999999998', '1e99999999999999999999'],
  ['9007199254740993', '9007199254740993'],
  ['9007199254740993.0', '9007199254740993'],
  ['1e-007', '1e-7'],
])('the value of %s is %s', (text, canonical) => {
  expect(byValue(text)).toBe(canonical)
  expect(byValue(canonical)).toBe(canonical)
})

test('an exponent too long to reckon with stays as written', () => {
  const text = `1e${'9'.repeat(2000)}`
  expect(byValue(text)).toBe(text)
})

test('numbers anywhere in a text are by value, strings are not', () => {
  expect(byValue('{"b":[1.0,{"c":2e1}],"a":"1.0"}')).toBe('{"a":"1.0","b":[1,{"c":2e1}]}')
})

test('however the point is moved, it is the same number, and it reads the same', () => {
  fc.assert(
    fc.property(fc.bigInt(), fc.integer({ min: 0, max: 30 }), (value, places) => {
      const moved = `${value}${'0'.repeat(places)}e-${places}`
      expect(byValue(moved)).toBe(byValue(String(value)))
      expect(byValue(`${value}.${'0'.repeat(places + 1)}`)).toBe(byValue(String(value)))
      expect(Number(byValue(String(value)))).toBe(Number(value) + 0)
    }),
  )
})

test('a million zeros take no time', () => {
  const started = performance.now()
  byValue(`0.${'0'.repeat(1_000_000)}1${'0'.repeat(1_000_000)}`)
  expect(performance.now() - started).toBeLessThan(5_000)
})
