import { expect, test } from 'vitest'
import {
  judgeBlocks,
  parseExpected,
  type Block,
  type Check,
  type ScenarioRun,
} from './conformance-report.ts'

const check = (id: string, status: string, errorMessage?: string): Check =>
  errorMessage === undefined ? { id, status } : { id, status, errorMessage }

function block(runs: readonly ScenarioRun[], changes: Partial<Block> = {}): Block {
  const leg = 'server' as const
  const revision = '2025-11-25' as const
  return { title: 'a block', leg, revision, decides: true, milliseconds: 1_000, runs, ...changes }
}

const run = (scenario: string, checks: readonly Check[], scored = true): ScenarioRun => ({
  scenario,
  scored,
  checks,
})

const EXPECTED = {
  leg: 'server',
  revision: '2025-11-25',
  scenario: 'ping',
  check: 'ping',
  reason: 'the suite asks for what the specification forbids',
} as const

test('checks are counted, not scenarios: a warning failed, what was skipped or only said is neither', () => {
  const { lines, passed, failed } = judgeBlocks(
    [
      block([
        run('ping', [check('a', 'SUCCESS'), check('b', 'SUCCESS'), check('c', 'WARNING', 'slow')]),
        run('tools-list', [check('d', 'SUCCESS'), check('e', 'INFO'), check('f', 'SKIPPED')]),
      ]),
    ],
    [],
    true,
  )
  expect([passed, failed]).toEqual([3, 1])
  expect(lines.at(-1)).toBe('3 passed, 1 failed')
  expect(lines).toContain('✗ server 2025-11-25 ping:c')
  expect(lines).toContain('    slow')
  expect(lines.find((line) => line.includes('tools-list'))).toMatch(/ok .* 1\/1 \(1 skipped\)$/u)
})

test('a scenario without checks is missing and fails, and so does one that ended badly', () => {
  const { passed, failed, lines } = judgeBlocks(
    [
      block([
        run('ping', []),
        { ...run('tools-list', [check('d', 'SUCCESS')]), note: 'exit code 1' },
      ]),
    ],
    [],
    true,
  )
  expect([passed, failed]).toEqual([1, 2])
  // What says more is told first.
  expect(lines.filter((line) => line.startsWith('✗'))).toEqual([
    '✗ server 2025-11-25 tools-list:exit',
    '✗ server 2025-11-25 ping:missing',
  ])
})

test('a scenario in which the suite checks nothing is excused by name, until it does', () => {
  const entry = {
    leg: 'server',
    revision: '2025-11-25',
    scenario: 'ping',
    check: 'missing',
    reason: 'the suite has no check for it yet',
  } as const
  const judged = (checks: readonly Check[]) =>
    judgeBlocks([block([run('ping', checks)])], [entry], true)
  expect(judged([])).toMatchObject({ passed: 0, failed: 0 })
  expect(judged([check('a', 'SUCCESS')])).toMatchObject({ passed: 1, failed: 1 })
})

test('what is not scored and what decides nothing is shown and not counted', () => {
  const { passed, failed, lines } = judgeBlocks(
    [
      block([run('ping', [check('a', 'FAILURE')], false)]),
      block([run('ping', [check('a', 'FAILURE', 'why')])], { decides: false }),
    ],
    [],
    true,
  )
  expect([passed, failed]).toEqual([0, 0])
  expect(lines.filter((line) => line.includes('FAILED ping'))).toHaveLength(2)
  expect(lines).toContain('         a: why')
})

test('what no relay could do on a pair is shown with its reason, and is no failure there', () => {
  const impossible = [{ scenario: 'ping', check: 'a', reason: 'it has no pings' }]
  const { lines } = judgeBlocks(
    [block([run('ping', [check('a', 'FAILURE')])], { decides: false, impossible })],
    [],
    true,
  )
  expect(lines[2]).toMatch(/^ {2}ok {5}ping +0\/1 \(1 impossible: it has no pings\)$/u)
})

test('an expected failure is excused once it fails, and stale when it does not', () => {
  const failing = block([run('ping', [check('ping', 'FAILURE')])])
  const fine = block([run('ping', [check('ping', 'SUCCESS')])])
  expect(judgeBlocks([failing], [EXPECTED], true)).toMatchObject({ passed: 0, failed: 0 })
  const stale = judgeBlocks([fine], [EXPECTED], true)
  expect(stale).toMatchObject({ passed: 1, failed: 1 })
  expect(stale.lines).toContain('✗ stale: server 2025-11-25 ping:ping')
  // A run of some scenarios cannot know.
  expect(judgeBlocks([fine], [EXPECTED], false)).toMatchObject({ passed: 1, failed: 0 })
  // Another revision's failure is not the one that is expected.
  const other = { ...failing, revision: '2026-07-28' } as const
  expect(judgeBlocks([other], [EXPECTED], true).failed).toBe(2)
})

test('an expected failure says why', () => {
  expect(parseExpected('# nothing\n[]\n')).toEqual([])
  expect(parseExpected(JSON.stringify([EXPECTED]))).toEqual([EXPECTED])
  expect(() => parseExpected(JSON.stringify([{ ...EXPECTED, reason: ' ' }]))).toThrow(
    'expected failure 1: reason must be a text',
  )
})
