/**
 * A server of node:http at the configured address: what it binds, what it waits for, how it ends.
 *
 * `localhost` is every address that the machine has for that name, since callers take either.
 */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ComityError } from '../core/words/errors.ts'
import { hostInUrl } from './served-hosts.ts'
import { nodeHttp } from './shared/node-http.ts'

/** What listens. */
export interface Listening {
  /** `http://127.0.0.1:7878`, with the name that was asked for. */
  readonly url: string
  /** Takes no connection any more and breaks off those there are. */
  close(): Promise<void>
}

/** Longer than the idle time of what stands before us, so that it is not us who closes under a request. */
const KEEP_ALIVE_MS = 72_000
/** How long a connection may take to say what it wants: no door knows of it before. */
const HEADERS_MS = 60_000
// How long a body may take to arrive is the doors' to judge, by what comes of it.
const OPTIONS = { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }

export interface ListenOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** How long a connection may take until its first or next headers are whole, milliseconds. Default 60000. */
  readonly headersMs?: number
}

/** @throws ComityError `config_invalid` when the address cannot be had. */
export async function listen(
  handle: RequestListener,
  { host, port, headersMs = HEADERS_MS }: ListenOptions,
): Promise<Listening> {
  const servers: Server[] = []
  const close = async (): Promise<void> => {
    await Promise.all(servers.map(closeServer))
  }
  try {
    let taken = port
    for (const address of await addressesOf(host)) {
      const server = nodeHttp().createServer({ ...OPTIONS, ...headersWithin(headersMs) }, handle)
      server.listen({ host: address, port: taken })
      // The first address is the one that was asked for; another that this machine does not have is no fault.
      const bound = await once(server, 'listening').catch((fault: unknown) => {
        if (servers.length === 0 || (fault as NodeJS.ErrnoException).code === 'EADDRINUSE')
          throw fault
      })
      if (bound === undefined) continue
      servers.push(server)
      taken = (server.address() as AddressInfo).port
    }
    return { url: `http://${hostInUrl(host)}:${taken}`, close }
  } catch (error) {
    await close()
    throw sayFault(error, host, port)
  }
}

/** Without the time of its own, that of whole requests counts for headers too, and we give those none. */
function headersWithin(ms: number): object {
  return { headersTimeout: ms, connectionsCheckingInterval: Math.ceil(ms / 2) }
}

/** Written as in a URL or bare, an IPv6 address is bound bare. */
async function addressesOf(host: string): Promise<readonly string[]> {
  if (host !== 'localhost') return [host.replace(/^\[(.+)\]$/u, '$1')]
  const found = await lookup(host, { all: true })
  return [...new Set(found.map(({ address }) => address))]
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

function sayFault(error: unknown, host: string, port: number): ComityError {
  const said =
    (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      ? `port ${port} on ${host} is taken: choose another with --port, or stop what listens there`
      : `cannot listen on ${host}:${port}: ${(error as Error).message}`
  return new ComityError('config_invalid', said)
}
