/**
 * The gateway's HTTP edge: where `/mcp`, `/a2a/<name>` and health live. Journeys 1 and 2 begin here.
 *
 * Bodies are left unread for the protocols' own doors. Approvals, pins and settling are not here: they go over the control
 * socket only.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { ComityError } from '../core/words/errors.ts'
import { LOCAL, type Principal } from '../core/words/principal.ts'
import { type Authenticate, createHttpDoor } from '../mcp/downstream/http.ts'
import type { A2aDoor } from '../a2a/downstream/server.ts'
import type { Host } from './compose/host.ts'
import { isLoopback } from './config/cross-checks.ts'
import type { TokenConfig } from './config/config.ts'
import { listen } from './listen.ts'
import { advertisedUrl, servedHosts } from './served-hosts.ts'

const CARD_PATH = '/.well-known/agent-card.json'

export interface GatewayOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
}

export interface Gateway {
  /** `http://127.0.0.1:7878` */
  readonly url: string
  /** Takes nothing new, lets running calls answer for a while. */
  close(): Promise<void>
}

/**
 * Listens.
 *
 * @throws ComityError `config_invalid` for an address beyond loopback without `tokens:`, or a port that is taken.
 */
export async function serveGateway(host: Host, options: GatewayOptions): Promise<Gateway> {
  const { tokens, listen: said } = host.config
  if (tokens === undefined && !isLoopback(options.host)) {
    throw new ComityError(
      'config_invalid',
      `refusing to bind ${options.host}: without a tokens: section everyone who reaches it would act as the principal local. Add tokens:, or bind 127.0.0.1`,
    )
  }
  const authenticate = createAuthenticate(tokens)
  const allowedHosts = tokens === undefined ? undefined : servedHosts(options.host, said)
  const common = {
    ...host.doorOptions,
    authenticate,
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
  }
  const mcp = createHttpDoor(host.doorPorts, common)
  const secured = tokens !== undefined
  const a2a = lateA2aDoor(async () => {
    const { createA2aDoor } = await import('../a2a/downstream/server.ts')
    return createA2aDoor(host.publishedPorts, {
      ...common,
      authenticate: async (headers) => authenticate(headers),
      secured,
    })
  })
  if (host.config.publish.length > 0) await a2a.open()

  const health = async (response: ServerResponse): Promise<void> => {
    const ready = await host.isReady()
    sendJson(response, ready ? 200 : 503, { status: ready ? 'ready' : 'starting' })
  }
  const [only, ...others] = host.config.publish
  const listening = await listen((request, response) => {
    const path = pathOf(request)
    if (path === '/mcp') return mcp.handle(request, response)
    if (path.startsWith('/a2a/')) return void a2a.handle(request, response)
    if (request.method !== 'GET') return sendNotFound(response)
    if (path === '/healthz') return sendJson(response, 200, { status: 'ok' })
    if (path === '/readyz') return void health(response)
    if (path !== CARD_PATH || only === undefined || others.length > 0) return sendNotFound(response)
    // One agent alone may be found by the origin's well-known address too.
    request.url = `/a2a/${encodeURIComponent(only.name)}${CARD_PATH}`
    void a2a.handle(request, response)
  }, options)
  const { url } = listening
  a2a.servedAt(advertisedUrl(url, said))
  host.announce(url)
  return {
    url,
    async close() {
      await Promise.all([mcp.close(), a2a.close()])
      await listening.close()
    },
  }
}

/** Of a target as it is mostly sent, and of one that names its host too, which a server has to take (RFC 9112, 3.2.2). */
function pathOf({ url = '' }: IncomingMessage): string {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/iu, '')
  const end = target.indexOf('?')
  return end < 0 ? target : target.slice(0, end)
}

function sendNotFound(response: ServerResponse): void {
  sendJson(response, 404, { error: 'Not Found', message: 'nothing is served at this path' })
}

function sendJson(
  response: ServerResponse,
  status: number,
  value: Readonly<Record<string, string>>,
): void {
  const body = JSON.stringify(value)
  const length = Buffer.byteLength(body)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length })
  response.end(body)
}

/** The other protocol's door is not loaded where nothing is published, until somebody comes to it all the same. */
function lateA2aDoor(make: () => Promise<A2aDoor>): A2aDoor & { open(): Promise<A2aDoor> } {
  let door: Promise<A2aDoor> | undefined
  let at: string | undefined
  const open = (): Promise<A2aDoor> =>
    (door ??= make().then((made) => {
      if (at !== undefined) made.servedAt(at)
      return made
    }))
  return {
    open,
    handle: async (request, response) => (await open()).handle(request, response),
    servedAt: (url) => {
      at = url
      void door?.then((made) => made.servedAt(url))
    },
    close: async () => (await door)?.close(),
  }
}

/** Bearer tokens, compared in constant time; without any, everyone on loopback is `local`. */
function createAuthenticate(tokens: readonly TokenConfig[] | undefined): Authenticate {
  if (tokens === undefined) {
    const local = { principal: LOCAL }
    return () => local
  }
  const known = tokens.map(({ token, principal, groups }) => ({
    digest: hash(token),
    principal: { id: principal, groups, via: 'token' } satisfies Principal,
  }))
  return (headers) => {
    const digest = hash(bearerOf(headers) ?? '')
    // Every token is compared: how long it takes says nothing about which.
    const found = known.filter((one) => timingSafeEqual(one.digest, digest))
    const principal = bearerOf(headers) === undefined ? undefined : found[0]?.principal
    return principal === undefined
      ? {
          refused: {
            status: 401,
            message: 'expected Authorization: Bearer <a token of this gateway>',
            headers: { 'www-authenticate': 'Bearer realm="comity"' },
          },
        }
      : { principal }
  }
}

function bearerOf(headers: IncomingHttpHeaders): string | undefined {
  return /^Bearer +([^ ]+)$/iu.exec(headers.authorization ?? '')?.[1]
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest()
}
