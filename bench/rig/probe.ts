/** A probe within a gateway is asked by a signal, and answers with a file. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const PATIENCE_MS = 10_000

/** @returns what it wrote. @throws Error when it does not answer. */
export async function askProbe(pid: number, file: string): Promise<unknown> {
  rmSync(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  const end = performance.now() + PATIENCE_MS
  while (!existsSync(file)) {
    if (performance.now() > end) throw new Error('the probe in the gateway does not answer')
    await pause(5)
  }
  return JSON.parse(readFileSync(file, 'utf8'))
}
