/** `comity up`: the gateway. Says when calls can be served, and what became of every peer. */
import { openHost } from '../gateway/compose/host.ts'
import { serveGateway } from '../gateway/http.ts'
import { portOf } from './docs.ts'
import { EXIT } from './exit-codes.ts'
import { showStatus } from './ls.ts'
import type { CommonOptions } from './main.ts'
import { configOf, controlSocketOf } from './session.ts'
import type { Terminal } from './terminal.ts'

export interface UpOptions extends CommonOptions {
  readonly port?: string
  readonly host?: string
}

/** How long the report waits for slow peers; calls are served meanwhile. */
const REPORT_MS = 20_000

export async function up(options: UpOptions, terminal: Terminal): Promise<number> {
  const config = configOf(options.config)
  const host = await openHost({
    config,
    socket: controlSocketOf(config),
    peers: 'all',
    parentEnvironment: process.env,
    onFault: (what, error) =>
      terminal.note(`fault: ${what}: ${error instanceof Error ? error.message : String(error)}`),
  })
  const stopped = waitForStop()
  try {
    const gateway = await serveGateway(host, {
      host: options.host ?? config.listen.host,
      port: options.port === undefined ? config.listen.port : portOf(options.port),
    })
    try {
      if (terminal.json)
        terminal.line(
          JSON.stringify({
            event: 'ready',
            url: gateway.url,
            pid: process.pid,
            recovered: host.recovered,
          }),
        )
      else {
        terminal.line(`comity ready on ${gateway.url}`)
        if (host.recovered > 0)
          terminal.line(
            `${host.recovered} call${host.recovered === 1 ? '' : 's'} of an earlier run had no answer on record: unknown now, nothing is sent again (comity ledger)`,
          )
      }
      void report(host, terminal)
      await stopped
    } finally {
      await gateway.close()
    }
  } finally {
    await host.close()
  }
  return EXIT.done
}

async function report(
  host: Awaited<ReturnType<typeof openHost>>,
  terminal: Terminal,
): Promise<void> {
  const status = await host.operator.status(
    { waitMs: REPORT_MS },
    { signal: new AbortController().signal, event: () => undefined },
  )
  if (terminal.json) terminal.line(JSON.stringify({ event: 'peers', ...status }))
  else showStatus(terminal, status, false)
}

function waitForStop(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve())
    process.once('SIGTERM', () => resolve())
  })
}
