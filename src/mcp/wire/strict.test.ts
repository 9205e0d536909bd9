import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonText } from '../../../test/json/arbitrary-json.ts'
import { canonicalJson } from './canonical.ts'
import { JsonFault } from './json-fault.ts'
import { checkStrict } from './strict.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
const canonical = (text: string): string => decode(canonicalJson(bytesOf(text)))

function codeOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (error instanceof JsonFault) return `${error.code} ${error.pointer}`
    throw error
  }
  return 'accepted'
}

test.each([
  ['{"a":{"b":1,"\\u0062":2}}', 'duplicate_key /a/b'],
  ['[{"a":1},{"a":1,"a":1}]', 'duplicate_key /1/a'],
  ['{"a":["x","\\ud800"]}', 'lone_surrogate /a/1'],
  ['{"\\udfff":1}', 'lone_surrogate /\\udfff'],
  ['"\\ud83d\\ude00"', 'accepted'],
  ['{"a\\u0000b":1}', 'nul_in_key /a\\u0000b'],
  ['{"a":"\\u0000"}', 'accepted'],
  ['{"n":1e999}', 'number_range /n'],
  ['{"n":-1e999}', 'number_range /n'],
  ['{"n":9007199254740993}', 'accepted'],
  [`{"n":${'9'.repeat(400)}}`, 'number_range /n'],
  ['{"n":1E308}', 'accepted'],
  ['{"\uFEFFa":1}', 'bom /\uFEFFa'],
  ['{"a":"\uFEFFcontent of a file"}', 'accepted'],
  ['{"a":1', 'truncated /a'],
])('strictly, %s is %s', (text, verdict) => {
  expect(codeOf(() => checkStrict(bytesOf(text)))).toBe(verdict)
})

test('what was scanned before is judged as strictly as what was not', () => {
  const texts = fc.oneof(
    jsonText,
    fc.constantFrom(
      '{"a":1e999}',
      '["\\udc00"]',
      '{"b":{"a\\u0000":1}}',
      '{"a":{"b":1,"\\u0062":2}}',
    ),
  )
  fc.assert(
    fc.property(fc.array(texts, { maxLength: 4 }), (parts) => {
      const bytes = bytesOf(`[${parts.join(',')}]`)
      expect(codeOf(() => checkStrict(bytes, undefined, { validated: true }))).toBe(
        codeOf(() => checkStrict(bytes)),
      )
    }),
  )
})

test('strictness has a depth limit', () => {
  const nested = (depth: number) => bytesOf(`${'['.repeat(depth)}${']'.repeat(depth)}`)
  expect(codeOf(() => checkStrict(nested(512)))).toBe('accepted')
  expect(codeOf(() => checkStrict(nested(513)))).toMatch(/^too_deep/)
})

test('strictness looks at the span only', () => {
  const bytes = bytesOf('{"outside":1e999,"inside":{"a":1}}')
  expect(codeOf(() => checkStrict(bytes, { start: 26, end: 33 }))).toBe('accepted')
})

test('the canonical form sorts keys by UTF-16 code unit and escapes as little as possible', () => {
  expect(canonical('{"\uFB33":1, "\\ud83d\\ude00" : 2,"b":"\\u0041\\/\\u000a", "a" : [ ] }')).toBe(
    '{"a":[],"b":"A/\\n","😀":2,"\uFB33":1}',
  )
})

test('numbers keep their lexeme', () => {
  expect(canonical('[9007199254740993,1.0,1e2]')).toBe('[9007199254740993,1.0,1e2]')
  expect(canonical('9007199254740993')).not.toBe(canonical('9007199254740992'))
})

test('a repeated key has no canonical form', () => {
  expect(codeOf(() => canonical('{"a":1,"a":1}'))).toBe('duplicate_key /a')
})

test('the canonical form is stable and means the same', () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      const once = canonical(text)
      expect(canonical(once)).toBe(once)
      expect(JSON.parse(once)).toEqual(JSON.parse(text))
    }),
  )
})

test('order, white space and escapes make no difference', () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      // The same value written by another hand: members reversed, indented, all characters escaped.
      const other = rewrite(JSON.parse(text) as unknown)
      const plain = JSON.stringify(JSON.parse(text))
      expect(canonical(other)).toBe(canonical(plain))
    }),
  )
})

function rewrite(value: unknown): string {
  if (Array.isArray(value)) return `[ ${value.map(rewrite).join(' , ')} ]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).toReversed()
    return `{\n${members.map(([key, inner]) => `${rewrite(key)} : ${rewrite(inner)}`).join('\t,')}\r\n}`
  }
  if (typeof value !== 'string') return JSON.stringify(value)
  const units = [...Array(value.length).keys()].map((index) => value.charCodeAt(index))
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`
}
