import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLineSplitter } from './lines.ts'

function linesOf(text: string, cuts: readonly number[] = [], maxBytes = 1000): string[] {
  const lines: string[] = []
  const splitter = createLineSplitter(maxBytes, (line) => lines.push(Buffer.from(line).toString()))
  const bytes = Buffer.from(text)
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length]
  places.sort((one, other) => one - other)
  places.slice(1).forEach((end, index) => splitter.feed(bytes.subarray(places[index], end)))
  return lines
}

test('lines come without their ends, blank ones not at all', () => {
  expect(linesOf('{"a":1}\r\n\n  \n\uFEFF{"b":2}\n \t{"c":3}\nrest')).toEqual([
    '{"a":1}',
    '{"b":2}',
    '{"c":3}',
  ])
})

test('where the stream is cut makes no difference, within a character either', () => {
  const line = fc.stringMatching(/^[a-z你😀 ]{0,8}$/u)
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(500), { maxLength: 20 }), (lines, cuts) => {
      const text = lines.map((one) => `${one}\n`).join('')
      expect(linesOf(text, cuts)).toEqual(linesOf(text))
    }),
  )
})

test('a line beyond the limit ends the reading', () => {
  const lines: string[] = []
  const splitter = createLineSplitter(4, (line) => lines.push(Buffer.from(line).toString()))
  expect(splitter.feed(Buffer.from('ab\nabc'))).toBe(true)
  expect(splitter.feed(Buffer.from('de\nok\n'))).toBe(false)
  expect(splitter.feed(Buffer.from('ok\n'))).toBe(false)
  expect(lines).toEqual(['ab'])
})
