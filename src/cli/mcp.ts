/**
 * `comity mcp`: one host's stdio, carried to the process that owns the store and started for it when there is none.
 *
 * Loads as little as it can: what serves is in that process. Standard output is protocol, nothing else.
 */
import { ComityError } from '../gateway/admin/errors.ts'
import { socketPath } from '../gateway/admin/socket-path.ts'
import { type Absent, type OpenPipe, findOwner } from '../gateway/shared/find-owner.ts'
import { quickStore } from '../gateway/shared/quick-store.ts'
import { runPipe } from '../gateway/shared/run-pipe.ts'
import { configFileOf } from './config-file.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { socketPlace } from './socket-place.ts'
import type { Terminal } from './terminal.ts'

export interface McpOptions extends CommonOptions {
  readonly standalone?: boolean
  readonly log: 'silent' | 'error' | 'info' | 'debug'
  /** For tests: how long a process that is started stays without work. */
  readonly idleAfter?: string
}

export async function mcp(options: McpOptions, _terminal: Terminal): Promise<number> {
  if (options.standalone === true) {
    const { standalone } = await import('./standalone.ts')
    return standalone(options)
  }
  if (process.platform === 'win32') {
    throw new ComityError(
      'not_in_this_version',
      'on Windows a stdio host is served from its own process: comity mcp --standalone',
    )
  }
  // Everything for people goes to standard error, whatever the level.
  const note = (text: string, serious = false): void => {
    const shown =
      options.log === 'info' || options.log === 'debug' || (serious && options.log !== 'silent')
    if (shown) process.stderr.write(`comity: ${text}\n`)
  }
  const end = (): void => void process.stdin.destroy()
  process.once('SIGINT', end)
  process.once('SIGTERM', end)
  await runPipe({
    input: process.stdin,
    output: process.stdout,
    find: (absent) => find(options, absent, note),
    note,
  })
  process.stdin.destroy()
  return EXIT.done
}

/** The configuration is looked at anew each time: the next owner reads it as it is then. */
async function find(
  options: McpOptions,
  absent: Absent,
  note: (text: string) => void,
): Promise<OpenPipe> {
  const file = configFileOf(options.config)
  const { file: configFile, store: storeFile } = quickStore(file, process.env) ?? (await read(file))
  const found = await findOwner(
    {
      socketPath: socketPath(storeFile, socketPlace()),
      command: {
        node: process.execPath,
        entry: process.argv[1] ?? '',
        configFile,
        storeFile,
        ...(options.idleAfter === undefined ? {} : { idleAfter: options.idleAfter }),
        environment: process.env,
      },
      check: async () => {
        const whole = await read(file)
        // Told from its text the store was another: never a reason to serve the wrong one.
        if (whole.store !== storeFile)
          throw new ComityError(
            'internal',
            `${file} was read in two ways; write store: on one line`,
          )
      },
    },
    absent,
  )
  note(`connected through ${socketPath(storeFile, socketPlace())}`)
  return found
}

async function read(file: string): Promise<{ readonly file: string; readonly store: string }> {
  const { loadConfig } = await import('../gateway/config/load-config.ts')
  return loadConfig(file, process.env)
}
