import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const DEMO = fileURLToPath(new URL('../demo.ts', import.meta.url))

/** The whole story on fewer rows, with a clock of milliseconds. */
async function story(...flags: readonly string[]) {
  const out = await mkdtemp(join(tmpdir(), 'comity-statistics-'))
  onTestFinished(() => rm(out, { recursive: true, force: true }))
  const args = [DEMO, '--out', out, '--rows', '8000', '--step', '60', ...flags]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  // SIGTERM lets the demo end its own processes; a test that is over leaves none behind.
  onTestFinished(() => void child.kill('SIGTERM'))
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  return { code, output, errors }
}

test.each([
  ['its caller', []],
  ['a person at the terminal', ['--by-operator']],
])(
  'an analysis outlives caller, comity and server, and is answered by %s',
  async (_by, flags) => {
    const { code, output, errors } = await story(...flags)
    expect(`${output}\n${errors}`).toContain('IT HOLDS')
    expect(output.match(/^yes {2}/gmu)).toHaveLength(3)
    expect(output).toContain('8000 measurements in 40 months')
    expect(output).toMatch(/t-\S+ +statistics\/analyze +canceled/u)
    expect(output).toMatch(/t-\S+ +statistics\/analyze +completed/u)
    expect(code).toBe(0)
  },
  90_000,
)
