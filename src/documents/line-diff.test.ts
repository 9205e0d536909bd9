import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareLines } from './line-diff.ts'

function say(from: string, to: string): string[] {
  return compareLines(from.split(''), to.split('')).map(
    ({ from: left, to: right }) => `${left.start}-${left.end} ${right.start}-${right.end}`,
  )
}

test('what changed, in order, each side by its lines', () => {
  expect(say('abc', 'abc')).toEqual([])
  expect(say('abcd', 'abXd')).toEqual(['3-3 3-3'])
  expect(say('abc', 'xabc')).toEqual(['1-0 1-1'])
  expect(say('abc', 'ac')).toEqual(['2-2 2-1'])
  expect(say('', 'ab')).toEqual(['1-0 1-2'])
  expect(say('ab', '')).toEqual(['1-2 1-0'])
  expect(say('abcdef', 'aXcdYYf')).toEqual(['2-2 2-2', '5-5 5-6'])
  expect(say('abcde', 'bcdea')).toEqual(['1-1 1-0', '6-5 5-5'])
})

const lines = fc.array(fc.constantFrom(...'abcdefgh'.split('')), { maxLength: 40 })

test('any two texts: putting the changes into the first gives the second, and what is between is the same', () => {
  fc.assert(
    fc.property(lines, lines, (from, to) => {
      const made: string[] = []
      let at = 1
      for (const change of compareLines(from, to)) {
        expect(change.from.start).toBeGreaterThanOrEqual(at)
        expect(
          change.from.end - change.from.start + change.to.end - change.to.start,
        ).toBeGreaterThan(-2)
        made.push(...from.slice(at - 1, change.from.start - 1))
        made.push(...to.slice(change.to.start - 1, change.to.end))
        at = change.from.end + 1
      }
      made.push(...from.slice(at - 1))
      expect(made).toEqual(to)
    }),
    { numRuns: 2_000 },
  )
})

test('large texts: moved, edited and repeated lines take no time that grows with their square', () => {
  const from = Array.from({ length: 100_000 }, (_, index) => `line ${index}`)
  const to = from.flatMap((line, index) =>
    index % 1_000 === 500 ? [`${line} edited`] : index % 1_000 === 700 ? [line, 'new'] : [line],
  )
  expect(compareLines(from, to)).toHaveLength(200)
  expect(compareLines(from, from.toReversed()).length).toBeGreaterThan(0)
  const same = Array.from({ length: 100_000 }, (_, index) => String(index % 7))
  const other = Array.from({ length: 100_000 }, (_, index) => String(index % 5))
  expect(compareLines(same, other).length).toBeGreaterThan(0)
})
