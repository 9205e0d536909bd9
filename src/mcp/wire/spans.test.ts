import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonText, objectText } from '../../../test/json/arbitrary-json.ts'
import { JsonFault } from './json-fault.ts'
import {
  encodeJson,
  readString,
  readValue,
  scanArray,
  scanJson,
  scanObject,
  setMember,
  setMembers,
  splice,
  textOf,
  Within,
} from './spans.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const whole = (bytes: Uint8Array) => ({ start: 0, end: bytes.length })
const decode = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

function faultOf(act: () => unknown): JsonFault {
  try {
    act()
  } catch (error) {
    if (error instanceof JsonFault) return error
    throw error
  }
  throw new Error('expected a JsonFault')
}

describe('scanObject', () => {
  test('tells key, key span, value span and type of each member', () => {
    const bytes = bytesOf(' { "a" : [1, {"b":2}] ,"\\u0062":"x\\"y" } ')
    const told = scanObject(bytes).map(({ key, keySpan, value: { start, end }, type }) => {
      return { key, keySpan, value: { start, end }, type }
    })
    expect(told).toEqual([
      { key: 'a', keySpan: { start: 3, end: 6 }, value: { start: 9, end: 21 }, type: 'array' },
      { key: 'b', keySpan: { start: 23, end: 31 }, value: { start: 32, end: 38 }, type: 'string' },
    ])
  })

  test('members of an object within are those that a scan of it alone tells, counted from where it begins', () => {
    fc.assert(
      fc.property(objectText, objectText, (one, other) => {
        const params = `{"a":1, "_meta" :${other},"b":${one} }`
        const bytes = bytesOf(` {"x":${one}, "params" : ${params} ,"y":2}`)
        const meta = new Within('_meta')
        const within = new Within('params', meta)
        const members = scanObject(bytes, undefined, undefined, within)
        const own = bytesOf(params)
        const alone = scanObject(own)
        expect(members).toEqual(scanObject(bytes))
        expect(within.members).toEqual(alone)
        expect(meta.members).toEqual(scanObject(own, alone[1]?.value))
      }),
    )
  })

  test.each([
    ['keys in it repeat', '{"params":{"a":1,"a":2}}'],
    ['it is no object', '{"params":[{}]}'],
    ['it is not there', '{"other":{"params":{}}}'],
  ])('nothing is told of an object within when %s', (_why, text) => {
    const within = new Within('params')
    scanObject(bytesOf(text), undefined, undefined, within)
    expect(within.members).toBeUndefined()
  })

  test('finds the same members in checked text when it only skips', () => {
    fc.assert(
      fc.property(objectText, (text) => {
        const bytes = bytesOf(text)
        expect(scanObject(bytes, undefined, { validated: true })).toEqual(scanObject(bytes))
      }),
    )
  })

  test('reads members by span to the values that JSON.parse finds', () => {
    fc.assert(
      fc.property(objectText, (text) => {
        const bytes = bytesOf(text)
        const parsed = JSON.parse(text) as Record<string, unknown>
        const members = scanObject(bytes)
        expect(new Set(members.map(({ key }) => key))).toEqual(new Set(Object.keys(parsed)))
        for (const { key, value } of members) expect(readValue(bytes, value)).toEqual(parsed[key])
      }),
    )
  })

  test.each([
    ['{"a":1,"\\u0061":2}', 'duplicate_key', 7, '/a'],
    ['[1]', 'not_object', 0, ''],
    ['', 'truncated', 0, ''],
    ['{"a":', 'truncated', 5, '/a'],
    ['{"a":{"b":[1,tru', 'truncated', 16, '/a/b/1'],
    ['{"a":{"b":[1,trux', 'syntax', 13, '/a/b/1'],
    ['{"a":01}', 'syntax', 6, '/a'],
    ['{"a":1}x', 'trailing', 7, ''],
    ['{"a":"\u0001"}', 'syntax', 6, '/a'],
    ['{"a/b":nul}', 'syntax', 7, '/a~1b'],
    ['\uFEFF{}', 'bom', 0, ''],
    ['{\uFEFF}', 'syntax', 1, ''],
    [`{"a":${'['.repeat(600)}`, 'too_deep', 516, `/a${'/0'.repeat(99)}`],
  ])('refuses %j as %s at byte %i', (text, code, offset, pointer) => {
    const fault = faultOf(() => scanObject(bytesOf(text)))
    expect({ code: fault.code, offset: fault.offset, pointer: fault.pointer }).toEqual({
      code,
      offset,
      pointer: pointer.slice(0, 200),
    })
  })

  test.each([
    ['overlong', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['a lone continuation', [0x80]],
    ['cut by the quote', [0xe4, 0xbd]],
  ])('refuses UTF-8 that is %s', (_, wrong) => {
    const bytes = Uint8Array.from([...bytesOf('{"a":"'), ...wrong, ...bytesOf('"}')])
    const fault = faultOf(() => scanObject(bytes))
    expect([fault.code, fault.offset]).toEqual(['utf8', 6])
  })

  test('a hostile depth is a fault, whatever limit is asked for', () => {
    const bytes = bytesOf('['.repeat(2_000_000))
    expect(faultOf(() => scanJson(bytes, undefined, { maxDepth: 1e9 })).code).toBe('too_deep')
  })

  test('a fault says the place and never the content', () => {
    const fault = faultOf(() => scanObject(bytesOf('{"token":"secret-value"x}')))
    expect(fault.message).toBe('expected , or } after a member (byte 23, at /token)')
  })
})

test('scanArray tells the span and type of each item', () => {
  expect(scanArray(bytesOf(' [1, "a" ,{}]'))).toEqual([
    { start: 2, end: 3, type: 'number' },
    { start: 5, end: 8, type: 'string' },
    { start: 10, end: 12, type: 'object' },
  ])
})

test('the scanner accepts every text that JSON.parse accepts', () => {
  fc.assert(fc.property(jsonText, (text) => void scanJson(bytesOf(text))))
  fc.assert(fc.property(fc.json({ maxDepth: 20 }), (text) => void scanJson(bytesOf(text))))
})

test('readString unescapes as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const bytes = encodeJson(text)
      expect(readString(bytes, whole(bytes))).toBe(
        text.isWellFormed() ? text : JSON.parse(decode(bytes)),
      )
    }),
  )
})

describe('splice', () => {
  test('applies edits in text order and keeps those at one place in the order given', () => {
    const edits = [
      { span: { start: 4, end: 6 }, bytes: bytesOf('X') },
      { span: { start: 1, end: 1 }, bytes: bytesOf('1') },
      { span: { start: 1, end: 1 }, bytes: bytesOf('2') },
    ]
    expect(decode(splice(bytesOf('abcdefg'), edits))).toBe('a12bcdXg')
  })

  test('overlapping edits are our own mistake', () => {
    const edit = { span: { start: 0, end: 2 }, bytes: bytesOf('') }
    expect(() => splice(bytesOf('abc'), [edit, { ...edit, span: { start: 1, end: 3 } }])).toThrow(
      RangeError,
    )
  })
})

describe('setMember and setMembers', () => {
  test.each([
    ['{}', 'a', '1', '{"a":1}'],
    ['{ }', 'a', '1', '{"a":1 }'],
    ['{"a" : 0 , "b":2}', 'a', '1', '{"a" : 1 , "b":2}'],
    ['{ "a":0 }', 'b', '1', '{ "a":0,"b":1 }'],
    ['{"a":0 ,"b":1, "c":2}', 'a', undefined, '{"b":1, "c":2}'],
    ['{"a":0 ,"b":1, "c":2}', 'b', undefined, '{"a":0, "c":2}'],
    ['{"a":0 ,"b":1, "c":2 }', 'c', undefined, '{"a":0 ,"b":1 }'],
    ['{ "a":0 }', 'a', undefined, '{  }'],
    ['{"b":1}', 'a', undefined, '{"b":1}'],
  ])('%s with %s = %s becomes %s', (text, key, value, expected) => {
    const bytes = bytesOf(text)
    const changed = setMembers(bytes, whole(bytes), {
      [key]: value === undefined ? undefined : bytesOf(value),
    })
    expect(decode(changed)).toBe(expected)
  })

  test('several changes at once give a sound object with exactly the members meant', () => {
    const change = fc.option(fc.constantFrom('1', '[ ]', '"v"', '{"k":null}'), { nil: undefined })
    const changes = fc.dictionary(
      fc.constantFrom('_meta', 'name', 'id', 'x', '', 'new', 'other'),
      change,
    )
    fc.assert(
      fc.property(objectText, changes, (text, wanted) => {
        const before = JSON.parse(text) as Record<string, unknown>
        const asBytes = Object.entries(wanted).map(([key, value]) => [
          key,
          value === undefined ? undefined : bytesOf(value),
        ])
        const after = setMembers(
          bytesOf(text),
          undefined,
          Object.fromEntries(asBytes) as Record<string, Uint8Array | undefined>,
        )
        const expected = new Map(Object.entries(before))
        for (const [key, value] of Object.entries(wanted)) {
          if (value === undefined) expected.delete(key)
          else expected.set(key, JSON.parse(value))
        }
        const members = scanObject(after)
        expect(new Map(members.map(({ key, value }) => [key, readValue(after, value)]))).toEqual(
          expected,
        )
      }),
    )
  })

  test('every member that was not named keeps its bytes and its order', () => {
    fc.assert(
      fc.property(
        objectText,
        fc.constantFrom('_meta', 'name', 'fresh'),
        jsonText,
        (text, key, value) => {
          const bytes = bytesOf(text)
          const lexemes = (of: Uint8Array) =>
            scanObject(of)
              .filter((member) => member.key !== key)
              .map((member) => [textOf(of, member.keySpan), textOf(of, member.value)])
          expect(lexemes(setMember(bytes, whole(bytes), key, bytesOf(value)))).toEqual(
            lexemes(bytes),
          )
          expect(lexemes(setMembers(bytes, whole(bytes), { [key]: undefined }))).toEqual(
            lexemes(bytes),
          )
        },
      ),
    )
  })

  test('setting what was removed elsewhere touches no byte outside of the object', () => {
    const bytes = bytesOf(
      '{"params" : { "name":"a", "n": 9007199254740993 , "x":1.0e5 }, "id":7 } ',
    )
    const params = scanObject(bytes)[0]!.value
    expect(decode(setMember(bytes, params, 'name', bytesOf('"bb"')))).toBe(
      '{"params" : { "name":"bb", "n": 9007199254740993 , "x":1.0e5 }, "id":7 } ',
    )
  })
})
