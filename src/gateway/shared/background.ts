/**
 * The background process: owns the store for the stdio hosts of its user, opens no TCP port, and ends when it is not needed.
 *
 * What it says goes to its log; whoever started it is told once whether it owns the store.
 */
import { ftruncateSync, writeSync } from 'node:fs'
import type { StopInput } from '../admin/operator.ts'
import { openHost } from '../compose/open-host.ts'
import type { Config } from '../config/config.ts'
import { ComityError } from '../../core/words/errors.ts'
import { endWhenIdle } from './end-when-idle.ts'
import type { Arrival } from './pipe-desk.ts'
import type { OwnerReport } from './start-owner.ts'
import type { DrainReason } from './wire.ts'

export interface BackgroundOptions {
  readonly config: Config
  readonly socket: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly idleMs: number
  /** File descriptor of the log: appended to, and begun anew when it has grown. */
  readonly log: number
  /** Told once. */
  readonly report: (report: OwnerReport) => void
  /** Resolves when this process is to end, as by a signal. */
  readonly signalled: Promise<unknown>
}

const MAX_LOG_BYTES = 1024 * 1024

/** Runs until it is stopped, not needed, or replaced. @throws ComityError `store_locked` when another process was first. */
export async function runBackground(options: BackgroundOptions): Promise<void> {
  const note = createLog(options.log)
  const { promise: ended, resolve: end } = Promise.withResolvers<StopInput & { why: string }>()
  const host = await openHost({
    config: options.config,
    socket: options.socket,
    owner: { kind: 'shared', stop: (input) => end({ ...input, why: 'asked to' }) },
    arrive: (owner): Arrival => {
      if (!owner.configChanged()) return { serve: true }
      if (owner.pipes() > 0 || owner.acts() > 0) return { serve: true, note: CHANGED }
      end({ why: 'its configuration changed, and nobody else needs it' })
      return { serve: false, message: 'it ends for one that reads the configuration as it is now' }
    },
    peers: 'all',
    parentEnvironment: options.environment,
    onFault: (what, error) =>
      note(`fault: ${what}: ${error instanceof Error ? error.message : String(error)}`),
  })
  note(`process ${process.pid} owns ${options.config.store} for ${options.config.file}`)
  options.report({ ready: true })
  void options.signalled.then(() => end({ why: 'signalled' }))
  const stopLooking = endWhenIdle(
    host.busy,
    options.idleMs,
    () => end({ why: 'not needed' }),
    (error) => note(`fault: idle: ${String(error)}`),
  )
  const { now, takeover, why } = await ended
  stopLooking()
  note(`process ${process.pid} ends: ${why}${takeover === true ? ', for another owner' : ''}`)
  const reason: DrainReason = takeover === true ? 'takeover' : 'stop'
  if (now === true) host.pipes.close()
  else await host.pipes.drain(reason)
  await host.close()
}

const CHANGED =
  'the configuration changed since the process that serves it began; comity stop lets it be read anew'

/** Says to the one who started this process why it does not own the store. */
export function reportFailure(report: BackgroundOptions['report'], error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  report({ error: { code: error instanceof ComityError ? error.code : 'internal', message } })
}

function createLog(file: number): (text: string) => void {
  let bytes = 0
  return (text) => {
    const line = `${new Date().toISOString()} ${text}\n`
    try {
      if ((bytes += line.length) > MAX_LOG_BYTES) {
        ftruncateSync(file, 0)
        bytes = line.length
      }
      writeSync(file, line)
    } catch {
      // A disk that is full takes no log; the store says so where it matters.
    }
  }
}
