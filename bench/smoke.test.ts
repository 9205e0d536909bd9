/** The bench runs: each part that takes only seconds measures what it says, once, briefly. Its figures are no test. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)

test('a short run prints every figure beside its target', async () => {
  const args = '--source --quick --only reads,writes --duration 100 --cells 100x16'.split(' ')
  const { stdout } = await run(process.execPath, [
    join(import.meta.dirname, 'run.ts'),
    ...args,
  ]).catch(
    // Not met ends with 1: this run is far too short to say anything.
    (error: { stdout: string; stderr: string; code: number }) => {
      expect(error).toMatchObject({ code: 1, stderr: '' })
      return error
    },
  )
  expect(stdout).toMatch(/comity read, 100 B, 16 in flight +\d+\.\d\d × +≤ 1\.40 ×/)
  expect(stdout).toMatch(/comity write, 100 B, 16 in flight +\d+\.\d\d × +≤ 2\.20 ×/)
  expect(stdout).not.toContain('not measured')
})

test('an unknown part is said with those there are', async () => {
  const failed = run(process.execPath, [join(import.meta.dirname, 'run.ts'), '--only', 'speed'])
  await expect(failed).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('reads') })
})
