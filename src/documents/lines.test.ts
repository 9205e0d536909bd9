import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findLineStarts, textOfLines } from './lines.ts'

function linesOf(text: string): string[] {
  const starts = findLineStarts(text)
  return [...starts].map((_, index) =>
    textOfLines(text, starts, { start: index + 1, end: index + 1 }),
  )
}

test('only "\\n" ends a line: a carriage return and other separators stay inside', () => {
  expect(linesOf('a\r\nb\u2028c\rd\n')).toEqual(['a\r', 'b\u2028c\rd'])
})

test('a terminator at the end begins no further line, an empty line counts', () => {
  expect(linesOf('')).toEqual([])
  expect(linesOf('\n')).toEqual([''])
  expect(linesOf('a\n\nb')).toEqual(['a', '', 'b'])
})

test('any range is its lines joined by "\\n", and all lines are the text without its last terminator', () => {
  const texts = fc
    .array(fc.constantFrom('a', '\n', '\r', '数', '😀', ' '), { maxLength: 40 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, fc.nat(20), fc.nat(20), (text, a, b) => {
      const starts = findLineStarts(text)
      const lines = linesOf(text)
      expect(textOfLines(text, starts, { start: 1, end: lines.length })).toBe(
        text.endsWith('\n') ? text.slice(0, -1) : text,
      )
      if (a >= lines.length || b >= lines.length || a > b) return
      const range = { start: a + 1, end: b + 1 }
      expect(textOfLines(text, starts, range)).toBe(lines.slice(a, b + 1).join('\n'))
    }),
  )
})
