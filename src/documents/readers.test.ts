import { expect, test } from 'vitest'
import { intersectReaders, matchesPattern, mayRead } from './readers.ts'

test('no list is everyone, an empty list is nobody', () => {
  expect(mayRead(intersectReaders([]), 'anonymous')).toBe(true)
  expect(mayRead(intersectReaders([[]]), 'alice')).toBe(false)
})

test('a reader must stand in every list that speaks about the document', () => {
  expect(intersectReaders([['bob', 'alice', 'bob'], ['alice', 'bob', 'carol'], ['bob']])).toEqual([
    'bob',
  ])
})

test.each([
  ['a.md', '*.md', true],
  ['sub/a.md', '*.md', false],
  ['sub/deep/a.md', '**/*.md', true],
  ['a.md', '**/*.md', true],
  ['sub/deep/a.md', 'sub/**', true],
  ['sub', 'sub/**', true],
  ['subway/a.md', 'sub/**', false],
  ['a+b (1).md', 'a+b (?).md', true],
  ['axb.md', 'a.b.md', false],
  ['数据/库.md', '数据/?.md', true],
] as const)('%s matched with %s: %s', (path, pattern, expected) => {
  expect(matchesPattern(path, pattern)).toBe(expected)
})
