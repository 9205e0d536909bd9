import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonText } from '../../../test/json/arbitrary-json.ts'
import { canonicalJson, canonicalParts } from './canonical.ts'
import { JsonFault } from './json-fault.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const read = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

/** The form of a text, or the fault that it is none. */
function formOf(text: string, numbers: 'lexeme' | 'value' = 'lexeme'): string {
  try {
    return read(canonicalJson(bytesOf(text), undefined, { numbers }))
  } catch (error) {
    if (error instanceof JsonFault) return `${error.code} at ${error.offset}`
    throw error
  }
}

test('what is canonical comes back as the very memory that it came in', () => {
  const text = '{"a":[1,2.50,{"b":"\u00fc"}],"a1":{},"b":[],"c":null,"d":true,"e":-0}'
  const bytes = bytesOf(` ${text}\n`)
  const [only, ...others] = canonicalParts(bytes)
  expect(others).toEqual([])
  expect(only?.buffer).toBe(bytes.buffer)
  expect(read(only!)).toBe(text)
})

test.each([
  ['{"b":1,"a":2}', '{"a":2,"b":1}'],
  ['{"ab":1,"a":2}', '{"a":2,"ab":1}'],
  ['{"\u00fc":1,"a":2}', '{"a":2,"\u00fc":1}'],
  // By UTF-16, where the one beyond the first plane comes before the other.
  ['{"\uff5e":1,"\u{1f600}":2}', '{"\u{1f600}":2,"\uff5e":1}'],
  ['{"a" :1}', '{"a":1}'],
  ['{"a": 1}', '{"a":1}'],
  ['{ "a":1}', '{"a":1}'],
  ['{"a":1 }', '{"a":1}'],
  ['{"a":1 ,"b":2}', '{"a":1,"b":2}'],
  ['{"a":1, "b":2}', '{"a":1,"b":2}'],
  ['{ }', '{}'],
  ['[1 ,2]', '[1,2]'],
  ['[1, 2]', '[1,2]'],
  ['[1 ]', '[1]'],
  ['[ ]', '[]'],
  [String.raw`["\u0061"]`, '["a"]'],
  [String.raw`{"\u0061":1}`, '{"a":1}'],
  ['{"a":1,"a":2}', 'duplicate_key at 7'],
  [String.raw`{"a":1,"\u0061":2}`, 'duplicate_key at 7'],
  ['{"a":1,"b":{"c":tru}}', 'syntax at 16'],
  ['[1,]', 'syntax at 3'],
  ['[1', 'truncated at 2'],
  ['{"a":1} x', 'trailing at 8'],
])('%s is %s', (text, expected) => {
  expect(formOf(text)).toBe(expected)
})

test.each([
  ['[0,-0,0.0]', '[0,0,0]'],
  ['[1,12,-7,105]', '[1,12,-7,105]'],
  ['[10,1.0,1e1]', '[1e1,1,1e1]'],
])('by value %s is %s', (text, expected) => {
  expect(formOf(text, 'value')).toBe(expected)
})

/** Written anew from what is read, keys in order. */
function rewritten(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(rewritten).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${rewritten(item)}`).join(',')}}`
}

test('whatever is written anew in order is canonical, in one part', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      const text = rewritten(JSON.parse(JSON.stringify(value)))
      expect(formOf(text)).toBe(text)
    }),
  )
})

test('parts joined are the form, which is its own, whether it is checked or was', () => {
  fc.assert(
    fc.property(jsonText, fc.constantFrom('lexeme', 'value'), (text, numbers) => {
      const form = formOf(text, numbers)
      const options = { numbers, validated: true } as const
      if (form.startsWith('duplicate_key')) return
      expect(formOf(form, numbers)).toBe(form)
      expect(read(Buffer.concat(canonicalParts(bytesOf(text), undefined, options)))).toBe(form)
    }),
  )
})
