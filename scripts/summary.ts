/** The end of a test run: durations, failures told so that the last hundred lines suffice, the count. */
import { stripVTControlCharacters } from 'node:util'

/** One thing that failed. */
export interface Failure {
  readonly name: string
  /** What it said, as it came. */
  readonly detail: string
}

/** One step of the run. A step that is one check counts as one. */
export interface StepResult {
  readonly name: string
  readonly milliseconds: number
  readonly passed: number
  readonly skipped: number
  readonly failures: readonly Failure[]
}

const ROOM = 80
const WIDTH = 240

/** @returns the lines to print, the last being `N passed, N failed`, and how many failed. */
export function summarize(results: readonly StepResult[]): {
  readonly lines: readonly string[]
  readonly failed: number
} {
  const failures = results.flatMap((result) => result.failures)
  const passed = results.reduce((sum, result) => sum + result.passed, 0)
  const skipped = results.reduce((sum, result) => sum + result.skipped, 0)
  const seconds = results.map(
    ({ name, milliseconds }) => `${name} ${(milliseconds / 1000).toFixed(1)} s`,
  )
  return {
    lines: [
      ...describeFailures(failures),
      '',
      `took: ${seconds.join(', ')}`,
      ...(skipped === 0 ? [] : [`${skipped} skipped, each with its reason above`]),
      `${passed} passed, ${failures.length} failed`,
    ],
    failed: failures.length,
  }
}

function describeFailures(failures: readonly Failure[]): string[] {
  if (failures.length === 0) return []
  const each = Math.max(1, Math.min(24, Math.floor(ROOM / failures.length) - 1))
  const shown = failures.slice(0, ROOM / 2)
  const left = failures.length - shown.length
  return [
    '',
    'Failed:',
    ...shown.flatMap(({ name, detail }) => [`✗ ${name}`, ...telling(detail, each)]),
    ...(left === 0 ? [] : [`… and ${left} more, above`]),
  ]
}

/** The first lines, which say what; for a long one also its last, where programs put their verdict. */
function telling(detail: string, count: number): string[] {
  const lines = stripVTControlCharacters(detail)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '' && !line.includes('node_modules/'))
  const shown =
    lines.length <= count || count < 4
      ? lines.slice(0, count)
      : [...lines.slice(0, count - 2), '…', ...lines.slice(-1)]
  return shown.map((line) => `    ${line.slice(0, WIDTH)}`)
}
