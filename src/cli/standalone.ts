/** `comity mcp --standalone`: everything behind one stdio pipe, for one host alone. Standard output is protocol, nothing else. */
import { openHost } from '../gateway/compose/open-host.ts'
import { serveHostOverStdio } from '../gateway/serve-stdio.ts'
import { EXIT } from './exit-codes.ts'
import { showStatus } from './ls.ts'
import type { McpOptions } from './mcp.ts'
import { configOf, controlSocketOf, UNHEARD } from './session.ts'
import { type Terminal, createTerminal } from './terminal.ts'

const REPORT_MS = 20_000

export async function standalone(options: McpOptions): Promise<number> {
  // Everything for people goes to standard error, whatever the level.
  const log = createTerminal({
    json: false,
    interactive: false,
    output: process.stderr,
    error: process.stderr,
  })
  const config = configOf(options.config)
  let stop: () => void = () => undefined
  const host = await openHost({
    config,
    socket: controlSocketOf(config),
    owner: { kind: 'standalone', stop: () => stop() },
    peers: 'all',
    parentEnvironment: process.env,
    onFault: (what, error) => {
      if (options.log !== 'silent')
        log.note(`fault: ${what}: ${error instanceof Error ? error.message : String(error)}`)
    },
  })
  try {
    const door = serveHostOverStdio(host, process.stdin, process.stdout)
    stop = () => door.close()
    process.once('SIGINT', () => door.close())
    process.once('SIGTERM', () => door.close())
    if (options.log === 'info' || options.log === 'debug')
      void report(host, log, options.log === 'debug')
    await door.done
  } finally {
    process.stdin.destroy()
    await host.close()
  }
  return EXIT.done
}

async function report(
  host: Awaited<ReturnType<typeof openHost>>,
  log: Terminal,
  whole: boolean,
): Promise<void> {
  const status = await host.operator.status({ waitMs: REPORT_MS }, UNHEARD)
  showStatus(log, status, whole)
}
