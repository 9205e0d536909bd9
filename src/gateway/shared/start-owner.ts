/**
 * Starts the background process of a store: a session of its own, nothing inherited but a log file that only its user reads.
 *
 * It says once, on a pipe that is closed then, whether it owns the store or why not.
 */
import { spawn } from 'node:child_process'
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { ComityError, type ComityErrorCode } from '../../core/words/errors.ts'
import { GUARD_MARK } from '../../mcp/upstream/watch.ts'

/** How the background process is started. */
export interface OwnerCommand {
  /** The program and its arguments up to the command. */
  readonly node: string
  readonly entry: string
  /** Absolute. */
  readonly configFile: string
  readonly storeFile: string
  /** As the user wrote it; left out: the default. */
  readonly idleAfter?: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** What a background process says of itself, once. */
export type OwnerReport =
  | { readonly ready: true }
  | { readonly error: { readonly code: ComityErrorCode; readonly message: string } }

const MAX_REPORT_BYTES = 256 * 1024
const MAX_LOG_BYTES = 1024 * 1024
/** Opening a store takes a fraction of a second; a check of a damaged one may take long. */
const START_MS = 60_000

/** The log of a store's background process. */
export function logFileOf(storeFile: string): string {
  return `${storeFile}.log`
}

/**
 * Starts it and waits for its word.
 *
 * @returns undefined when it ended without one; its log says why.
 * @throws ComityError `store_unwritable` when the log cannot be opened, `internal` when nothing can be started or is said.
 */
export async function startOwner(command: OwnerCommand): Promise<OwnerReport | undefined> {
  const log = openLog(logFileOf(command.storeFile))
  const idle = command.idleAfter === undefined ? [] : ['--idle-after', command.idleAfter]
  const child = spawn(command.node, [command.entry, 'shared', '-c', command.configFile, ...idle], {
    detached: true,
    // The same folder whichever host came first: relative paths of the configuration mean one thing.
    cwd: dirname(command.configFile),
    env: withoutMark(command.environment),
    stdio: ['ignore', 'pipe', log],
  })
  closeSync(log)
  child.unref()
  const stdout = child.stdout as Readable
  try {
    return await new Promise<OwnerReport | undefined>((resolve, reject) => {
      let said = ''
      const timer = setTimeout(() => {
        reject(
          new ComityError(
            'internal',
            `the background process said nothing for ${START_MS} ms; its log is ${logFileOf(command.storeFile)}`,
          ),
        )
      }, START_MS)
      const settle = (report: OwnerReport | undefined): void => {
        clearTimeout(timer)
        resolve(report)
      }
      child.once('error', (error) => {
        clearTimeout(timer)
        reject(
          new ComityError(
            'internal',
            `the background process cannot be started: ${error.message}`,
            { cause: error },
          ),
        )
      })
      stdout.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(0, MAX_REPORT_BYTES)
        if (said.includes('\n')) settle(parseReport(said.slice(0, said.indexOf('\n'))))
      })
      stdout.once('close', () => settle(undefined))
    })
  } finally {
    stdout.destroy()
  }
}

/** It serves other hosts as well: where we are a server of another comity, it is not to end with us. */
function withoutMark(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const { [GUARD_MARK]: _mark, ...rest } = environment
  return rest
}

function parseReport(line: string): OwnerReport | undefined {
  try {
    return JSON.parse(line) as OwnerReport
  } catch {
    return undefined
  }
}

/** Appended to by every background process of this store; begun anew when it has grown. */
function openLog(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants
    const log = openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600)
    fchmodSync(log, 0o600)
    if (fstatSync(log).size > MAX_LOG_BYTES) ftruncateSync(log, 0)
    return log
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    throw new ComityError(
      'store_unwritable',
      `${path} cannot be written (${words}): make its folder writable, or name another store`,
      { cause: error },
    )
  }
}
