import fc from 'fast-check'
import { expect, test } from 'vitest'
import { objectText } from '../../../test/json/arbitrary-json.ts'
import { isEmptied, writeChanged, type Change } from './changed-object.ts'
import { findMember, scanObject, setMembers } from './spans.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

function change(text: string, changes: readonly Change[]): string {
  const bytes = bytesOf(text)
  const span = { start: 0, end: bytes.length }
  return decode(writeChanged('', bytes, { span, members: scanObject(bytes), changes }, ''))
}

/** Changes of some members that are there, and of some that are not. */
const changesOf = (text: string) => {
  const there = scanObject(bytesOf(text))
    .map(({ key }) => key)
    .filter((key) => /^[a-zA-Z_]+$/.test(key))
  const key = fc.constantFrom(...there, 'new', 'newer')
  const value = fc.constantFrom(undefined, bytesOf('1'), bytesOf('{"a" : [ ]}'))
  return fc.uniqueArray(fc.record({ key, value }), { selector: (one) => one.key, maxLength: 5 })
}

test('what is written is what splices make of it, byte for byte', () => {
  const withChanges = objectText.chain((text) => fc.tuple(fc.constant(text), changesOf(text)))
  fc.assert(
    fc.property(withChanges, ([text, changes]) => {
      const named = Object.fromEntries(changes.map(({ key, value }) => [key, value]))
      expect(change(text, changes)).toBe(decode(setMembers(bytesOf(text), undefined, named)))
    }),
    { numRuns: 500 },
  )
})

test.each([
  ['{"a":1, "b" : 2 ,"c":3}', ['a'], '{"b" : 2 ,"c":3}'],
  ['{"a":1, "b" : 2 ,"c":3}', ['b'], '{"a":1 ,"c":3}'],
  ['{"a":1, "b" : 2 ,"c":3}', ['c'], '{"a":1, "b" : 2}'],
  ['{"a":1, "b" : 2 ,"c":3}', ['a', 'b'], '{"c":3}'],
  [' { "a" : 1 } ', ['a'], ' {  } '],
])('%s without %s', (text, keys, expected) => {
  expect(
    change(
      text,
      keys.map((key) => ({ key, value: undefined })),
    ),
  ).toBe(expected)
})

test('an object within it changes in the same pass, and the rest of both stays as it came', () => {
  const bytes = bytesOf('{"name":"a","_meta" : {"drop":1, "keep" : 1e400,"set":0} ,"n":1.0}')
  const members = scanObject(bytes)
  const meta = findMember(members, '_meta')!
  const inner = {
    span: meta.value,
    members: scanObject(bytes, meta.value),
    changes: [
      { key: 'drop', value: undefined },
      { key: 'set', value: bytesOf('9') },
      { key: 'more', value: bytesOf('"m"') },
    ],
  }
  const changes = [
    { key: 'name', value: bytesOf('"b"') },
    { key: '_meta', value: inner },
  ]
  const object = { span: { start: 0, end: bytes.length }, members, changes }
  expect(decode(writeChanged('<', bytes, object, '>'))).toBe(
    '<{"name":"b","_meta" : {"keep" : 1e400,"set":9,"more":"m"} ,"n":1.0}>',
  )
})

test('it is known whether anything is left', () => {
  const bytes = bytesOf('{"a":1}')
  const object = { span: { start: 0, end: bytes.length }, members: scanObject(bytes) }
  const drop = { key: 'a', value: undefined }
  expect(isEmptied({ ...object, changes: [drop] })).toBe(true)
  expect(isEmptied({ ...object, changes: [drop, { key: 'b', value: bytes }] })).toBe(false)
  expect(isEmptied({ ...object, changes: [{ key: 'b', value: undefined }] })).toBe(false)
})
