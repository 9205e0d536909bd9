/**
 * What the runs of the suite come to: a table, the failures with the suite's own words, one count.
 *
 * Counts checks, never scenarios: a warning counts as failed, a scenario without checks as one
 * missing. Only what expected-failures.yaml blames on the suite itself is excused, and a line there
 * that excuses nothing fails.
 */
import { parse } from 'yaml'
import type { Leg, Revision } from './conformance-requirements.ts'

/** One check as the suite writes it. */
export interface Check {
  readonly id: string
  readonly status: string
  readonly description?: string
  readonly errorMessage?: string
  readonly details?: unknown
}

/** One scenario, run. */
export interface ScenarioRun {
  readonly scenario: string
  readonly scored: boolean
  readonly checks: readonly Check[]
  /** What the suite said when it failed without a failing check. */
  readonly note?: string
}

/** Scenarios that were run against the same thing. */
export interface Block {
  readonly title: string
  readonly leg: Leg
  readonly revision: Revision
  /** False for pairs that are reported without deciding anything. */
  readonly decides: boolean
  /** Checks that cannot pass on this pair whoever relays, each with its reason. */
  readonly impossible?: readonly Impossible[]
  readonly milliseconds: number
  readonly runs: readonly ScenarioRun[]
}

/** A check that asks of a pair what one of its revisions does not have. */
export interface Impossible {
  readonly scenario: string
  readonly check: string
  readonly reason: string
}

/** One fault of the suite itself. */
export interface ExpectedFailure {
  readonly leg: Leg
  readonly revision: Revision
  readonly scenario: string
  readonly check: string
  readonly reason: string
}

/** What is printed, and whether it is good. */
export interface Report {
  readonly lines: readonly string[]
  readonly passed: number
  readonly failed: number
}

interface Fault {
  readonly name: string
  readonly message: string
  /** Nothing was checked: its row says so, and it is told after what says more. */
  readonly missing?: true
}

interface Row {
  readonly line: string
  readonly passed: number
  readonly total: number
  readonly expected: number
  readonly faults: readonly Fault[]
}

const MAX_TOLD = 40
const MESSAGE_WIDTH = 400

/** Reads expected-failures.yaml. @throws Error when an entry lacks a field or its reason. */
export function parseExpected(text: string): readonly ExpectedFailure[] {
  const entries: unknown = parse(text) ?? []
  if (!Array.isArray(entries)) throw new Error('expected failures are a list')
  return entries.map((entry: unknown, index) => {
    for (const name of ['leg', 'revision', 'scenario', 'check', 'reason']) {
      const value: unknown = Object(entry)[name]
      if (typeof value !== 'string' || value.trim() === '') {
        throw new Error(
          `expected failure ${index + 1}: ${name} must be a text, got ${String(value)}`,
        )
      }
    }
    return entry as ExpectedFailure
  })
}

/**
 * Judges everything that was run.
 *
 * @param complete false when only some scenarios were run: an expected failure that did not come
 *   up is then not stale.
 */
export function judgeBlocks(
  blocks: readonly Block[],
  expected: readonly ExpectedFailure[],
  complete: boolean,
): Report {
  const met = new Set<ExpectedFailure>()
  const lines: string[] = []
  const faults: Fault[] = []
  let passed = 0
  for (const block of blocks) {
    const rows = block.runs.map((run) => judgeRun(block, run, expected, met))
    lines.push('', ...describeBlock(block, rows))
    const counted = rows.filter((_, index) => block.decides && block.runs[index]?.scored !== false)
    passed += counted.reduce((sum, row) => sum + row.passed, 0)
    faults.push(...counted.flatMap((row) => row.faults))
  }
  const stale = complete ? expected.filter((entry) => !met.has(entry)) : []
  faults.push(
    ...stale.map((entry) => ({
      name: `stale: ${nameOf(entry, entry.scenario, entry.check)}`,
      message: 'did not fail; take its line out of test/conformance/expected-failures.yaml',
    })),
  )
  lines.push(...describeFaults(faults), '', `${passed} passed, ${faults.length} failed`)
  return { lines, passed, failed: faults.length }
}

function judgeRun(
  block: Block,
  run: ScenarioRun,
  expected: readonly ExpectedFailure[],
  met: Set<ExpectedFailure>,
): Row {
  const counted = run.checks.filter(({ status }) => status !== 'INFO' && status !== 'SKIPPED')
  const faults: Fault[] = []
  const impossible: string[] = []
  let excused = 0
  for (const check of counted.filter(({ status }) => status !== 'SUCCESS')) {
    const cannot = block.impossible?.find(
      (one) => one.scenario === run.scenario && one.check === check.id,
    )
    if (cannot !== undefined) {
      impossible.push(cannot.reason)
      continue
    }
    const entry = block.decides
      ? expected.find((one) => excuses(one, block, run, check))
      : undefined
    if (entry === undefined) faults.push(faultOf(block, run, check))
    else {
      met.add(entry)
      excused += 1
    }
  }
  if (run.note !== undefined) {
    faults.push({ name: nameOf(block, run.scenario, 'exit'), message: run.note })
  } else if (counted.length === 0) {
    const entry = block.decides
      ? expected.find((one) => excuses(one, block, run, MISSING))
      : undefined
    const name = nameOf(block, run.scenario, MISSING.id)
    if (entry === undefined) faults.push({ name, message: 'there were no checks', missing: true })
    else {
      met.add(entry)
      excused += 1
    }
  }
  const passed = counted.filter(({ status }) => status === 'SUCCESS').length
  const verdict = faults.length === 0 ? 'ok    ' : counted.length === 0 ? 'MISSED' : 'FAILED'
  const skipped = run.checks.filter(({ status }) => status === 'SKIPPED').length
  const remarks = [
    ...(skipped === 0 ? [] : [`${skipped} skipped`]),
    ...(excused === 0 ? [] : [`${excused} expected`]),
    ...(impossible.length === 0
      ? []
      : [`${impossible.length} impossible: ${[...new Set(impossible)].join('; ')}`]),
    ...(run.scored ? [] : ['not scored']),
  ]
  const remark = remarks.length === 0 ? '' : ` (${remarks.join(', ')})`
  const line = `  ${verdict} ${run.scenario.padEnd(48)} ${passed}/${counted.length}${remark}`
  return { line, passed, total: counted.length, expected: excused, faults }
}

/** What a scenario without checks fails. */
const MISSING = { id: 'missing' }

function excuses(
  entry: ExpectedFailure,
  block: Block,
  run: ScenarioRun,
  check: Pick<Check, 'id'>,
): boolean {
  return (
    entry.leg === block.leg &&
    entry.revision === block.revision &&
    entry.scenario === run.scenario &&
    entry.check === check.id
  )
}

function faultOf(block: Block, run: ScenarioRun, check: Check): Fault {
  const details = check.details === undefined ? '' : ` ${JSON.stringify(check.details)}`
  return {
    name: nameOf(block, run.scenario, check.id),
    message: `${check.errorMessage ?? check.description ?? check.status}${details}`,
  }
}

function nameOf(
  { leg, revision }: Pick<Block, 'leg' | 'revision'>,
  scenario: string,
  check: string,
): string {
  return `${leg} ${revision} ${scenario}:${check}`
}

function describeBlock(block: Block, rows: readonly Row[]): string[] {
  const sum = (pick: (row: Row) => number): number => rows.reduce((all, row) => all + pick(row), 0)
  const whole = rows.filter(({ faults }) => faults.length === 0).length
  return [
    `${block.title}${block.decides ? '' : ' (reported, decides nothing)'}`,
    ...rows.flatMap(({ line, faults }) => [
      line,
      // Those that decide are told again at the end, where a reader looks.
      ...(block.decides ? [] : faults.filter(({ missing }) => missing !== true).map(tell)),
    ]),
    `  total  ${whole}/${rows.length} scenarios, ${sum((row) => row.passed)}/${sum((row) => row.total)} checks, ${(block.milliseconds / 1000).toFixed(1)} s`,
  ]
}

function describeFaults(faults: readonly Fault[]): string[] {
  if (faults.length === 0) return []
  const told = faults.toSorted(
    (one, other) => Number(one.missing === true) - Number(other.missing === true),
  )
  const left = told.length - MAX_TOLD
  return [
    '',
    'Failed:',
    ...told.slice(0, MAX_TOLD).flatMap(({ name, message }) => [`✗ ${name}`, `    ${cut(message)}`]),
    ...(left > 0 ? [`… and ${left} more; run one with --only <scenario>`] : []),
  ]
}

function tell({ name, message }: Fault): string {
  return `         ${cut(`${name.split(':').at(-1)}: ${message}`)}`
}

function cut(text: string): string {
  const line = text.replaceAll(/\s+/gu, ' ').trim()
  return line.length > MESSAGE_WIDTH ? `${line.slice(0, MESSAGE_WIDTH)}…` : line
}
