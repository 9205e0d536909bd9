import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseExact } from './exact-json.ts'

test('integers beyond 2^53 and trailing zeros are written as they came', () => {
  const text = '{"id":9007199254740993,"rate":1.10,"list":[1e400,-0],"text":"9007199254740993"}'
  expect(JSON.stringify(parseExact(text))).toBe(text)
})

test('everything else reads as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      const text = JSON.stringify(value)
      expect(JSON.stringify(parseExact(text))).toBe(text)
    }),
  )
  expect(() => parseExact('{')).toThrow(SyntaxError)
})
