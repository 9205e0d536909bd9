/** `comity shared`, started by `comity mcp` and by nobody else: the background process behind all stdio hosts of one store. */
import { writeSync } from 'node:fs'
import { reportFailure, runBackground } from '../gateway/shared/background.ts'
import type { OwnerReport } from '../gateway/shared/start-owner.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { durationOf } from './option-values.ts'
import { configOf, controlSocketOf } from './session.ts'

export interface SharedOptions extends CommonOptions {
  readonly idleAfter: string
}

const STANDARD_OUTPUT = 1
const STANDARD_ERROR = 2

export async function shared(options: SharedOptions): Promise<number> {
  const signalled = new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
  // Its terminal is somebody else's.
  process.on('SIGHUP', () => undefined)
  // Read once, by whoever started this process, and closed then.
  process.stdout.on('error', () => undefined)
  let told = false
  const report = (said: OwnerReport): void => {
    if (told) return
    told = true
    try {
      writeSync(STANDARD_OUTPUT, `${JSON.stringify(said)}\n`)
    } catch {
      // Whoever started this process is gone: it is here for the next one.
    }
  }
  try {
    const config = configOf(options.config)
    await runBackground({
      config,
      socket: controlSocketOf(config),
      environment: process.env,
      idleMs: durationOf('--idle-after', options.idleAfter, '10m'),
      log: STANDARD_ERROR,
      report,
      signalled,
    })
    return EXIT.done
  } catch (error) {
    reportFailure(report, error)
    throw error
  }
}
