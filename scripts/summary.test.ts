import { expect, test } from 'vitest'
import { summarize } from './summary.ts'

const passing = { name: 'tests', milliseconds: 1234, passed: 5, skipped: 0, failures: [] }

test('the last line is the count and nothing else', () => {
  expect(summarize([passing, { ...passing, name: 'lint', passed: 1 }])).toEqual({
    lines: ['', 'took: tests 1.2 s, lint 1.2 s', '6 passed, 0 failed'],
    failed: 0,
  })
})

test('what was skipped is neither passed nor failed, and said', () => {
  expect(summarize([{ ...passing, skipped: 2 }]).lines.slice(-2)).toEqual([
    '2 skipped, each with its reason above',
    '5 passed, 0 failed',
  ])
})

test('failures are told again by name and message, without colours', () => {
  const failures = [
    { name: 'a.test.ts > it holds', detail: '\u001b[31mexpected 1\u001b[39m\n\n  got 2' },
  ]
  expect(summarize([{ ...passing, failures }])).toEqual({
    lines: [
      '',
      'Failed:',
      '✗ a.test.ts > it holds',
      '    expected 1',
      '      got 2',
      '',
      'took: tests 1.2 s',
      '5 passed, 1 failed',
    ],
    failed: 1,
  })
})

test('any number of failures of any length is told within a hundred lines', () => {
  const detail = Array.from({ length: 400 }, (_, line) => `line ${line} ${'x'.repeat(1000)}`).join(
    '\n',
  )
  for (const count of [1, 2, 3, 7, 20, 40, 41, 500]) {
    const failures = Array.from({ length: count }, (_, index) => ({
      name: `test ${index}`,
      detail,
    }))
    const { lines, failed } = summarize([{ ...passing, failures }])
    expect(failed).toBe(count)
    expect(lines.length).toBeLessThan(100)
    expect(lines.at(-1)).toBe(`5 passed, ${count} failed`)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(300)
  }
})
