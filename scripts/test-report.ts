/** What the test runner's JSON report says, and what to make of one that is not there. */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Failure } from './summary.ts'
import type { ToolRun } from './run-tool.ts'

/** A run of tests, counted. */
export interface TestCounts {
  readonly passed: number
  readonly skipped: number
  readonly failures: readonly Failure[]
}

/** The parts of the report that are read; the rest is not ours to rely on. */
interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages?: readonly string[] | null
    }[]
  }[]
}

/**
 * Counts a finished run.
 *
 * @param path of the report; without one, or when the runner failed and no test did, the run itself
 *   is one failure, so that a crash never counts as nothing.
 */
export function readTestReport(path: string, root: string, run: ToolRun): TestCounts {
  const report = load(path)
  const files = report?.testResults ?? []
  const tests = files.flatMap(({ assertionResults }) => assertionResults)
  const failures = files.flatMap((file) => failuresOf(file, relative(root, file.name)))
  if (report === undefined || (run.code !== 0 && failures.length === 0)) {
    failures.push({
      name: `the test run itself (exit code ${run.code})`,
      detail: tellingEnd(run.output),
    })
  }
  const passed = tests.filter(({ status }) => status === 'passed').length
  const failed = tests.filter(({ status }) => status === 'failed').length
  return { passed, skipped: tests.length - passed - failed, failures }
}

/** From where the runner tells of errors outside tests; else the end, where a crash speaks. */
function tellingEnd(output: string): string {
  const at = output.lastIndexOf('Unhandled Error')
  return at === -1 ? output.split('\n').slice(-24).join('\n') : output.slice(at)
}

function failuresOf(file: Report['testResults'][number], path: string): Failure[] {
  const failed = file.assertionResults.filter(({ status }) => status === 'failed')
  if (failed.length === 0 && file.status === 'failed') {
    return [{ name: path, detail: file.message }]
  }
  return failed.map(({ fullName, failureMessages }) => ({
    name: `${path} > ${fullName}`,
    detail: (failureMessages ?? []).join('\n'),
  }))
}

function load(path: string): Report | undefined {
  try {
    // The runner is ours and pinned; a report of another shape fails here or counts as a failed run.
    const report: Report = JSON.parse(readFileSync(path, 'utf8'))
    return Array.isArray(report.testResults) ? report : undefined
  } catch {
    return undefined
  }
}
