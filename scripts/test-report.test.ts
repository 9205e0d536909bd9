import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runTool } from './run-tool.ts'
import { readTestReport } from './test-report.ts'

const repository = join(import.meta.dirname, '..')
let folder = ''
// Inside the repository, because the files under test import the runner.
beforeEach(() => {
  folder = mkdtempSync(join(repository, 'node_modules/.comity-report-'))
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    `export default { test: { include: ['*.test.mjs'] } }`,
  )
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

async function count(tests: Readonly<Record<string, string>>) {
  for (const [name, source] of Object.entries(tests)) {
    writeFileSync(join(folder, name), `import { expect, test } from 'vitest'\n${source}`)
  }
  const report = join(folder, 'report.json')
  const run = await runTool(
    repository,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      `--root=${folder}`,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
    { timeoutMs: 15_000, quiet: true },
  )
  return readTestReport(report, folder, run)
}

test('passed, skipped and failed tests of a true run are counted and named', async () => {
  const counts = await count({
    'a.test.mjs': `test('one', () => {}); test.skip('two', () => {}); test('three', () => expect(1).toBe(2))`,
  })
  expect(counts).toMatchObject({
    passed: 1,
    skipped: 1,
    failures: [{ name: 'a.test.mjs > three' }],
  })
  expect(counts.failures[0]?.detail).toContain('expected 1 to be 2')
})

test('a file that cannot be loaded is a failure', async () => {
  const counts = await count({
    'a.test.mjs': `test('one', () => {})`,
    'b.test.mjs': `throw new Error('no')`,
  })
  expect(counts).toMatchObject({ passed: 1, skipped: 0, failures: [{ name: 'b.test.mjs' }] })
  expect(counts.failures[0]?.detail).toContain('no')
})

test('an error outside every test fails the run although every test passed', async () => {
  const counts = await count({
    'a.test.mjs': `test('one', async () => { Promise.reject(new Error('lost')); await new Promise(setImmediate) })`,
  })
  expect(counts).toMatchObject({
    passed: 1,
    failures: [{ name: 'the test run itself (exit code 1)' }],
  })
  expect(counts.failures[0]?.detail).toContain('lost')
})

test('a run that leaves no report is one failure', () => {
  const run = { code: 134, output: 'out of memory', milliseconds: 1 }
  expect(readTestReport(join(folder, 'none.json'), folder, run)).toEqual({
    passed: 0,
    skipped: 0,
    failures: [{ name: 'the test run itself (exit code 134)', detail: 'out of memory' }],
  })
})
