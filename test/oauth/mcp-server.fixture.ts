/** An MCP server, of 2026-07-28 or of 2025-11-25, that wants tokens of a real authorization server: for everything, for lists, or for calls alone. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Provider } from './provider.fixture.ts'

/** One request to the server itself, in the order in which they came. */
export interface Served {
  readonly method: string
  readonly tool: string | undefined
  readonly token: string | undefined
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

export interface GuardedServer {
  readonly url: string
  readonly served: readonly Served[]
  /** Calls of tools that were answered with a result. */
  readonly ran: () => number
  /** From now on everything is answered with this. */
  moveTo(to: { readonly status: number; readonly location: string }): void
  close(): Promise<void>
}

/** What is let in without a token: nothing, all that is no call, or all but `tools/list`. */
export type Guards = 'everything' | 'calls' | 'lists'

export type Era = 'modern' | 'session'

const TOOLS = [
  { name: 'read', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  { name: 'write', inputSchema: { type: 'object' } },
]

/** `read` needs `files:read`, `write` needs `files:write` besides. */
export async function serveGuarded(
  provider: Provider,
  guards: Guards = 'everything',
  era: Era = 'modern',
): Promise<GuardedServer> {
  const served: Served[] = []
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = `${origin}/mcp`
  let moved: { readonly status: number; readonly location: string } | undefined
  const place = '/.well-known/oauth-protected-resource/mcp'

  const judge = async (method: string, tool: string | undefined, token: string | undefined) => {
    const isFree =
      (guards === 'calls' && method !== 'tools/call') ||
      (guards === 'lists' && method !== 'tools/list' && method !== 'tools/call')
    if (isFree) return undefined
    const metadata = `resource_metadata="${origin}${place}"`
    const judged = token === undefined ? undefined : await provider.judge(token)
    if (judged?.audience !== url)
      return { status: 401, challenge: `Bearer scope="files:read", ${metadata}` }
    const scope = tool === 'write' ? 'files:write' : 'files:read'
    if (judged.scopes.includes(scope)) return undefined
    const error = `error="insufficient_scope", scope="${scope}"`
    return { status: 403, challenge: `Bearer ${error}, ${metadata}` }
  }

  server.on('request', (request, response) => {
    void (async () => {
      const body = await readBody(request)
      if (request.url === place) {
        response.writeHead(200, { 'content-type': 'application/json' })
        const scopes_supported = ['files:read', 'files:write']
        const authorization_servers = [provider.issuer]
        return void response.end(
          JSON.stringify({ resource: url, authorization_servers, scopes_supported }),
        )
      }
      if (moved !== undefined) {
        response.writeHead(moved.status, { location: moved.location })
        return void response.end()
      }
      const message = (body === '' ? {} : JSON.parse(body)) as Message
      const { id, method = String(request.method) } = message
      const tool = method === 'tools/call' ? message.params?.name : undefined
      const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
      const refusal = await judge(method, tool, token)
      const status = refusal?.status ?? 200
      served.push({ method, tool, token, status, headers: request.headers })
      if (refusal !== undefined) {
        response.writeHead(status, { 'www-authenticate': refusal.challenge })
        return void response.end('{"error":"no"}')
      }
      const isRequest = request.method === 'POST' && id !== undefined
      if (!isRequest) return void response.writeHead(request.method === 'POST' ? 202 : 405).end()
      const session = era === 'session' ? { 'mcp-session-id': 's1' } : {}
      response.writeHead(200, { 'content-type': 'application/json', ...session })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answerTo(method, tool, era) }))
    })()
  })
  return {
    url,
    served,
    ran: () =>
      served.filter(({ method, status }) => method === 'tools/call' && status === 200).length,
    moveTo(to) {
      moved = to
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: { readonly name?: string }
}

function answerTo(method: string, tool: string | undefined, era: Era): object {
  const rest =
    era === 'modern' ? { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' } : {}
  const capabilities = { tools: {} }
  switch (method === (era === 'modern' ? 'initialize' : 'server/discover') ? '' : method) {
    case 'server/discover':
      return { result: { ...rest, supportedVersions: ['2026-07-28'], capabilities } }
    case 'initialize':
      return {
        result: {
          protocolVersion: '2025-11-25',
          capabilities,
          serverInfo: { name: 'guarded', version: '1' },
        },
      }
    case 'tools/list':
      return { result: { ...rest, tools: TOOLS } }
    case 'tools/call':
      return { result: { ...rest, content: [{ type: 'text', text: `${tool} ran` }] } }
    default:
      return { error: { code: -32_601, message: `no ${method} here` } }
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
