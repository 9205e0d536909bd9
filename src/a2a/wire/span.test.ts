import fc from 'fast-check'
import { expect, it } from 'vitest'
import { elementsOf, membersOf, spanAt, wholeSpan } from './span.ts'

it('finds every value of any JSON text, however it is spaced', () => {
  const check = (text: string, value: unknown, span = wholeSpan(text)): void => {
    expect(JSON.parse(text.slice(span.start, span.end))).toEqual(value)
    if (Array.isArray(value)) {
      const spans = elementsOf(text, span)
      expect(spans.length).toBe(value.length)
      for (const [index, item] of value.entries()) check(text, item, spans[index])
    } else if (typeof value === 'object' && value !== null) {
      const spans = membersOf(text, span)
      expect([...spans.keys()].toSorted()).toEqual(Object.keys(value).toSorted())
      for (const [key, item] of Object.entries(value)) check(text, item, spans.get(key))
    }
  }
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 1, '\t', '\r\n '), (json, space) => {
      const value: unknown = JSON.parse(json)
      const spaced = JSON.stringify(value, null, space)
      check(` ${spaced} `, value)
    }),
  )
})

it('keeps the digits that parsing loses', () => {
  const text = '{"result" : {"parts":[{"data": {"n": 12345678901234567890.10}}]}}'
  const span = spanAt(text, [['result'], ['parts'], 0, ['data']])!
  expect(text.slice(span.start, span.end)).toBe('{"n": 12345678901234567890.10}')
})

it('takes any of the spellings, escaped ones too, and the last of a repeated name', () => {
  const text = '{"media_type":1,"\\u0061":2,"x":3,"x":4}'
  const at = (...names: string[]): string => {
    const span = spanAt(text, [names])
    return span === undefined ? '' : text.slice(span.start, span.end)
  }
  expect(at('mediaType', 'media_type')).toBe('1')
  expect(at('a')).toBe('2')
  expect(at('x')).toBe('4')
  expect(at('y')).toBe('')
})
