/**
 * `npm test`: everything that needs npm only, in the order in which a fault is cheapest to read.
 *
 * Every step runs, whatever failed before it; the failures are told again at the end, and the last
 * line is `N passed, N failed`. The whole conformance suite and what needs system packages run elsewhere.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTool, type ToolRun } from './run-tool.ts'
import { summarize, type StepResult } from './summary.ts'
import { readTestReport } from './test-report.ts'

const root = join(import.meta.dirname, '..')
/** A run takes well under 15 minutes on two quiet cores; one that hangs is ended within 20, while that can still be said. */
const TESTS_TIMEOUT_MS = 18 * 60_000
const STEP_TIMEOUT_MS = 3 * 60_000

/** Steps that pass or fail as one: a name, and a program of the repository's own. */
const CHECKS: readonly (readonly [name: string, ...command: string[]])[] = [
  ['format', 'node_modules/oxfmt/bin/oxfmt', '--check', '.'],
  ['lint', 'node_modules/oxlint/bin/oxlint', '--deny-warnings', '.'],
  ['types of core alone', 'node_modules/typescript/bin/tsc', '-p', 'src/core', '--pretty', 'false'],
  ['types of everything', 'node_modules/typescript/bin/tsc', '-p', '.', '--pretty', 'false'],
  ['layers', 'scripts/layers.ts'],
]

async function main(): Promise<number> {
  const results: StepResult[] = []
  for (const [name, ...command] of CHECKS) {
    const run = await runTool(root, command, { timeoutMs: STEP_TIMEOUT_MS, quiet: true })
    results.push(judgeCheck(name, run))
    show(results.at(-1))
    if (run.code !== 0 || name === 'layers') console.log(run.output.trimEnd())
  }
  results.push(await runTests())
  show(results.at(-1))
  const { lines, failed } = summarize(results)
  for (const line of lines) console.log(line)
  return failed === 0 ? 0 : 1
}

function judgeCheck(name: string, { code, output, milliseconds }: ToolRun): StepResult {
  const failures = code === 0 ? [] : [{ name, detail: output }]
  return { name, milliseconds, passed: code === 0 ? 1 : 0, skipped: 0, failures }
}

async function runTests(): Promise<StepResult> {
  const folder = mkdtempSync(join(tmpdir(), 'comity-tests-'))
  const report = join(folder, 'report.json')
  const command = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ]
  try {
    const run = await runTool(root, command, { timeoutMs: TESTS_TIMEOUT_MS, quiet: false })
    return { name: 'tests', milliseconds: run.milliseconds, ...readTestReport(report, root, run) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function show(result: StepResult | undefined): void {
  if (result === undefined) return
  const verdict = result.failures.length === 0 ? 'ok    ' : 'FAILED'
  console.log(`${verdict} ${result.name} (${(result.milliseconds / 1000).toFixed(1)} s)`)
}

process.exitCode = await main()
