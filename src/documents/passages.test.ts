import { expect, test } from 'vitest'
import { findLineStarts } from './lines.ts'
import { findPassages } from './passages.ts'

function passagesOf(text: string, begins: 'markdown' | readonly number[] = 'markdown'): string[] {
  return findPassages(text, findLineStarts(text), begins).map(({ start, end }) => `${start}-${end}`)
}

test('a heading begins a passage, blank lines at its ends are not part of it', () => {
  expect(passagesOf('\n# One\n\ntext\n\n## Two\ntext\n\n')).toEqual(['2-4', '6-7'])
})

test('a "#" is a comment where the file is not Markdown', () => {
  expect(passagesOf('# one\na: 1\n# two\nb: 2\n', [])).toEqual(['1-4'])
})

test('lines that are named begin a passage', () => {
  expect(passagesOf('a\nb\nc\nd\n', [2, 4])).toEqual(['1-1', '2-3', '4-4'])
})

test('a paragraph that is long enough ends at the blank line', () => {
  expect(passagesOf(`${'x'.repeat(400)}\n\nnext\n`)).toEqual(['1-1', '3-3'])
})

test('long runs of lines become windows, a line above the size stands alone', () => {
  expect(passagesOf('line\n'.repeat(45))).toEqual(['1-20', '21-40', '41-45'])
  expect(passagesOf(`a\n${'x'.repeat(5_000)}\nb\n`)).toEqual(['1-1', '2-2', '3-3'])
})

test('a text without content has no passage', () => {
  expect(passagesOf('')).toEqual([])
  expect(passagesOf(' \n\t\n')).toEqual([])
})
