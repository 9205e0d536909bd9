/**
 * The library door: the same host in process, for programs that embed it.
 *
 * Reads the same configuration file as the command line, owns its store, follows its tasks, and is driven by the operator's
 * verbs. Nothing is served unless `serve` is called.
 */
import { tmpdir } from 'node:os'
import type { DoorLimits } from '../mcp/downstream/options.ts'
import type { Operator } from './admin/operator.ts'
import { socketPath } from './admin/socket-path.ts'
import { openHost } from './compose/open-host.ts'
import type { HostJudge } from './compose/judge.ts'
import { loadConfig } from './config/load-config.ts'
import { processEnvironment } from './config/process-environment.ts'
import { serveGateway } from './http.ts'

export interface CreateHostOptions {
  /** Path of a comity.yaml. */
  readonly config: string
  /** Judges of finished deliveries, by agent; asked beside the acceptance rules of the configuration. */
  readonly judges?: Readonly<Record<string, HostJudge>>
  /** What `${env:…}` and the peers' minimal environment are taken from. Default: this process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Patience with delegations of MCP callers, milliseconds each. */
  readonly delegations?: {
    /** How long a call waits before it returns the task's handle. Default 45 s. */
    readonly waitMs?: number
    /** Between signs of life to a caller with a progress token. Default 10 s. */
    readonly heartbeatMs?: number
  }
  /** Told of faults that no caller waits for. Default: nobody. */
  readonly onFault?: (what: string, error: unknown) => void
}

export interface CreatedHost {
  /** Everything that can be done with a host. */
  readonly operator: Operator
  /** Serves MCP and A2A callers over HTTP, as `comity up` does. @returns where. */
  serve(at: { readonly host?: string; readonly port: number }): Promise<string>
  /** Stops serving, following and the peers; nothing remote is canceled. */
  close(): Promise<void>
}

/**
 * Opens a host.
 *
 * @throws ComityError `config_invalid` with every mistake, `store_locked` naming the process that owns the store.
 */
export async function createHost(options: CreateHostOptions): Promise<CreatedHost> {
  const environment = options.environment ?? processEnvironment()
  const config = loadConfig(options.config, environment)
  const host = await openHost({
    config,
    socket: socketPath(config.store, {
      runtimeDirectory: environment['XDG_RUNTIME_DIR'],
      temporaryDirectory: tmpdir(),
      userId: process.getuid?.() ?? 0,
    }),
    peers: 'all',
    parentEnvironment: environment,
    ...(options.judges === undefined ? {} : { judges: options.judges }),
    ...(options.delegations === undefined ? {} : { doorLimits: limitsOf(options.delegations) }),
    ...(options.onFault === undefined ? {} : { onFault: options.onFault }),
  })
  const gateways: Awaited<ReturnType<typeof serveGateway>>[] = []
  return {
    operator: host.operator,
    async serve({ host: address, port }) {
      const gateway = await serveGateway(host, { host: address ?? '127.0.0.1', port })
      gateways.push(gateway)
      return gateway.url
    },
    async close() {
      await Promise.all(gateways.map((gateway) => gateway.close()))
      await host.close()
    },
  }
}

function limitsOf({
  waitMs,
  heartbeatMs,
}: NonNullable<CreateHostOptions['delegations']>): Partial<DoorLimits> {
  return {
    ...(waitMs === undefined ? {} : { delegationWaitMs: waitMs }),
    ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
  }
}
