import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonText } from '../../../test/json/arbitrary-json.ts'
import { readLargeValue } from './large-value.ts'
import { jsonText as scanned } from './native.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const LONG = 'x'.repeat(3000)

test.each([
  `"${LONG}"`,
  ` {"text" : "${LONG}", "small": [1, {"a": null}], "text": "${LONG}y"} `,
  `[${'"ab",'.repeat(1000)}1.50]`,
  `{"a":{"b":{"c":{"d":{"e":"${LONG}"}}}}}`,
  `{"__proto__":{"polluted":"${LONG}"},"a":1}`,
  `{"a":{"__proto__":["${LONG}"]},"10":1,"2":2}`,
  String.raw`{"\u0061\n":"${LONG}\ud83d\ude00\u0000"}`,
  `{"é":"${'ü€😀'.repeat(500)}","f":"\ufeff${LONG}"}`,
  `{"": "${LONG}", "n": -12.5e3, "t": true}`,
])('reads what a parser reads: %#', (text) => {
  const value = readLargeValue(bytesOf(text))
  expect(value).toStrictEqual(JSON.parse(text))
  expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)))
  expect((value as { polluted?: unknown }).polluted).toBeUndefined()
})

test('the same for any text that was made large', () => {
  fc.assert(
    fc.property(fc.array(jsonText, { minLength: 1, maxLength: 3 }), (texts) => {
      const text = `{"long":"${LONG}","all":[${texts.join(',')}],"one":${texts[0]}}`
      expect(readLargeValue(bytesOf(text))).toStrictEqual(JSON.parse(text))
      expect(scanned(bytesOf(text)).value()).toStrictEqual(JSON.parse(text))
    }),
  )
})

test('is not quadratic in how deep it is', () => {
  const depth = 400
  const text = `${'['.repeat(depth)}"${'x'.repeat(4_000_000)}"${']'.repeat(depth)}`
  const bytes = bytesOf(text)
  const begun = performance.now()
  JSON.parse(text)
  const parsed = performance.now() - begun
  const again = performance.now()
  readLargeValue(bytes)
  expect(performance.now() - again).toBeLessThan(parsed * 20 + 1000)
})
