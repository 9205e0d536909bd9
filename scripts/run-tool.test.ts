import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runTool } from './run-tool.ts'

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'comity-run-tool-'))
})
afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

function script(source: string): readonly string[] {
  writeFileSync(join(root, 'tool.mjs'), source)
  return ['tool.mjs', 'an argument']
}

test('what a program printed and how it ended are kept', async () => {
  const run = await runTool(
    root,
    script(`console.log(process.argv[2]); console.error('two'); process.exitCode = 7`),
    { timeoutMs: 10_000, quiet: true },
  )
  expect(run.code).toBe(7)
  expect(run.output.split('\n').toSorted()).toEqual(['', 'an argument', 'two'])
})

test('the programs of the repository are found first', async () => {
  const run = await runTool(root, script(`console.log(process.env.PATH)`), {
    timeoutMs: 10_000,
    quiet: true,
  })
  expect(run.output.startsWith(join(root, 'node_modules/.bin'))).toBe(true)
})

test('a program that takes too long is ended with what it started, and says so', async () => {
  // The grandchild holds the pipe open: unless it ends too, this never resolves.
  const run = await runTool(
    root,
    script(
      `import { spawn } from 'node:child_process'
       spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
       setInterval(() => {}, 1000)`,
    ),
    { timeoutMs: 500, quiet: true },
  )
  expect(run.code).toBe(1)
  expect(run.output).toContain('ended after 0.5 s: tool.mjs takes too long')
})
