/** `comity up`: the gateway. Says when calls can be served, and what became of every peer. */
import { createSocketOperator, ownerAt } from '../gateway/admin/call-socket.ts'
import { ComityError } from '../gateway/admin/errors.ts'
import type { StopInput } from '../gateway/admin/operator.ts'
import type { Host, HostOptions } from '../gateway/compose/host.ts'
import { openHost } from '../gateway/compose/open-host.ts'
import { keepCallsYoung } from '../gateway/shared/keep-calls-young.ts'
import { EXIT } from './exit-codes.ts'
import { showStatus } from './ls.ts'
import type { CommonOptions } from './main.ts'
import { portOf } from './port.ts'
import { configOf, controlSocketOf, UNHEARD } from './session.ts'
import type { Terminal } from './terminal.ts'

export interface UpOptions extends CommonOptions {
  readonly port?: string
  readonly host?: string
}

/** How long the report waits for slow peers; calls are served meanwhile. */
const REPORT_MS = 20_000
/** Longer than the background process lets running calls answer. */
const TAKE_OVER_MS = 30_000
const LOOK_AGAIN_MS = 40

export async function up(options: UpOptions, terminal: Terminal): Promise<number> {
  const config = configOf(options.config)
  const { stopped, stop } = waitForStop()
  const onFault = (what: string, error: unknown): void =>
    terminal.note(`fault: ${what}: ${error instanceof Error ? error.message : String(error)}`)
  const host = await takeStore(terminal, {
    config,
    socket: controlSocketOf(config),
    owner: { kind: 'up', stop },
    peers: 'all',
    parentEnvironment: process.env,
    onFault,
  })
  let how: StopInput = {}
  try {
    // Loaded behind the store and the peers, which are begun by then.
    const { serveGateway } = await import('../gateway/http.ts')
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
      // What is still asked when it ends finds a closed store: nobody waits for that report any more.
      let isLeaving = false
      void report(host, terminal)
        .catch((error: unknown) => {
          if (!isLeaving) onFault('report', error)
        })
        .finally(keepCallsYoung)
      how = await stopped
      isLeaving = true
    } finally {
      await leave(host, how, () => gateway.close())
    }
  } finally {
    await host.close()
  }
  return EXIT.done
}

/** Callers over HTTP and stdio hosts are let go together; `now` breaks both off. */
async function leave(
  host: Host,
  { now }: StopInput,
  closeGateway: () => Promise<void>,
): Promise<void> {
  if (now === true) {
    // What runs ends with its peers; the door's own patience is not waited for.
    host.pipes.close()
    void closeGateway().catch(() => undefined)
    return
  }
  await Promise.all([host.pipes.drain('stop'), closeGateway()])
}

/** Owns the store; the background process of stdio hosts makes way, and they come along. */
async function takeStore(
  terminal: Terminal,
  options: HostOptions & { socket: string },
): Promise<Host> {
  const begun = performance.now()
  let asked = 0
  for (;;) {
    const owner = await ownerAt(options.socket)
    // Another one may have begun for a host that came just now: it makes way as well.
    if (owner?.kind === 'shared' && owner.pid !== asked) {
      asked = owner.pid
      terminal.note(
        `process ${owner.pid} serves stdio hosts from this store: it is asked to make way`,
      )
      await askToMakeWay(options.socket)
    }
    try {
      return await openHost(options)
    } catch (error) {
      if (!(error instanceof ComityError) || error.code !== 'store_locked') throw error
      if (asked === 0 || performance.now() - begun > TAKE_OVER_MS) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}

async function askToMakeWay(socket: string): Promise<void> {
  try {
    await createSocketOperator(socket).endProcess({ takeover: true }, UNHEARD)
  } catch {
    // Gone already: so much the better.
  }
}

async function report(host: Host, terminal: Terminal): Promise<void> {
  const status = await host.operator.status({ waitMs: REPORT_MS }, UNHEARD)
  if (terminal.json) terminal.line(JSON.stringify({ event: 'peers', ...status }))
  else showStatus(terminal, status, false)
}

function waitForStop(): {
  readonly stopped: Promise<StopInput>
  readonly stop: (how: StopInput) => void
} {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<StopInput>()
  process.once('SIGINT', () => stop({}))
  process.once('SIGTERM', () => stop({}))
  return { stopped, stop }
}
