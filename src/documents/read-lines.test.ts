import { expect, test } from 'vitest'
import type { Document } from './document.ts'
import { findLineStarts } from './lines.ts'
import { readLines } from './read-lines.ts'

function documentOf(text: string): Document {
  return {
    id: 'docs/a.txt',
    uri: 'docs://docs/a.txt',
    title: 'a.txt',
    version: '1',
    digest: 'sha256:0',
    format: 'text',
    mediaType: 'text/plain',
    bytes: Buffer.byteLength(text),
    modifiedAt: '2026-01-01T00:00:00.000Z',
    text,
    lineStarts: findLineStarts(text),
    audience: undefined,
  }
}

test('a range is its exact lines, an end beyond the document is its last line', () => {
  const document = documentOf('a\r\nb\nc\n')
  expect(readLines(document, undefined)).toEqual({
    lines: { start: 1, end: 3 },
    text: 'a\r\nb\nc',
    truncated: false,
  })
  expect(readLines(document, { start: 2, end: 2 })).toMatchObject({ text: 'b' })
  expect(readLines(document, { start: 2, end: 99 })).toEqual({
    lines: { start: 2, end: 3 },
    text: 'b\nc',
    truncated: false,
  })
})

test('an empty document is read as no lines', () => {
  expect(readLines(documentOf(''), undefined)).toEqual({
    lines: { start: 1, end: 0 },
    text: '',
    truncated: false,
  })
})

test('a range that cannot be read says which end is wrong', () => {
  const document = documentOf('a\nb\n')
  expect(readLines(document, { start: 3 })).toEqual({
    path: 'lines.start',
    expected: 'expected at most 2, the number of lines, got 3',
  })
  expect(readLines(document, { start: 2, end: 1 })).toMatchObject({ path: 'lines.end' })
})

test('2,000 lines are the most, and the rest is read on from there', () => {
  const document = documentOf('x\n'.repeat(2_500))
  const first = readLines(document, undefined)
  expect(first).toMatchObject({ lines: { start: 1, end: 2_000 }, truncated: true })
  expect(readLines(document, { start: 2_001 })).toMatchObject({
    lines: { start: 2_001, end: 2_500 },
    truncated: false,
  })
})

test('512 KiB are the most, counted in bytes and cut between lines', () => {
  const line = '数'.repeat(1_000)
  const piece = readLines(documentOf(`${line}\n`.repeat(300)), undefined)
  expect(piece).toMatchObject({ lines: { start: 1, end: 174 }, truncated: true })
})

test('a single line above the limit is cut between characters', () => {
  const piece = readLines(documentOf(`数${'😀'.repeat(200_000)}`), undefined)
  expect(piece).toMatchObject({ lines: { start: 1, end: 1 }, truncated: true })
  const text = 'text' in piece ? piece.text : ''
  expect(Buffer.byteLength(text)).toBe(524_287)
  expect(text.isWellFormed()).toBe(true)
})
