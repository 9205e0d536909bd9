/**
 * Raw MCP clients of both eras over undici: as little of the client as can be is in what is measured.
 *
 * Answers as JSON and as an event stream are read; `tools/list` follows its pages.
 */
import { Pool } from 'undici'

export type Era = 'stateless' | 'session'

export interface BenchClient {
  open(): Promise<void>
  /** @returns the result. @throws Error for an error, of either kind. */
  request(
    method: string,
    params?: Readonly<Record<string, unknown>>,
  ): Promise<Record<string, unknown>>
  /** Ends the session, if there is one. */
  close(): Promise<void>
}

const MODERN = '2026-07-28'
const LEGACY = '2025-11-25'
const CLIENT = { name: 'bench', version: '1.0.0' }
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
}
const COMMON = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

export function openPool(url: string, connections: number): Pool {
  const limits = { keepAliveTimeout: 30_000, headersTimeout: 60_000, bodyTimeout: 60_000 }
  return new Pool(new URL(url).origin, { connections, pipelining: 1, ...limits })
}

export function createClient(era: Era, url: string, pool: Pool): BenchClient {
  return era === 'stateless' ? statelessClient(url, pool) : sessionClient(url, pool)
}

function statelessClient(url: string, pool: Pool): BenchClient {
  const path = new URL(url).pathname
  let lastId = 0
  return {
    open: () => Promise.resolve(),
    close: () => Promise.resolve(),
    request: async (method, params = {}) => {
      const id = (lastId += 1)
      const name = typeof params['name'] === 'string' ? { 'mcp-name': params['name'] } : {}
      const headers = { ...COMMON, 'mcp-protocol-version': MODERN, 'mcp-method': method, ...name }
      const body = { jsonrpc: '2.0', id, method, params: { ...params, _meta: META } }
      return (await post(pool, path, headers, body)).result
    },
  }
}

function sessionClient(url: string, pool: Pool): BenchClient {
  const path = new URL(url).pathname
  let lastId = 0
  let session: Record<string, string> = {}
  return {
    open: async () => {
      const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT }
      const body = { jsonrpc: '2.0', id: (lastId += 1), method: 'initialize', params }
      const { headers } = await post(pool, path, COMMON, body)
      const id = headers['mcp-session-id']
      session = {
        'mcp-protocol-version': LEGACY,
        ...(typeof id === 'string' ? { 'mcp-session-id': id } : {}),
      }
      const told = { jsonrpc: '2.0', method: 'notifications/initialized' }
      const headersNow = { ...COMMON, ...session }
      const response = await pool.request({
        path,
        method: 'POST',
        headers: headersNow,
        body: JSON.stringify(told),
      })
      await response.body.dump()
    },
    request: async (method, params = {}) => {
      const body = { jsonrpc: '2.0', id: (lastId += 1), method, params }
      return (await post(pool, path, { ...COMMON, ...session }, body)).result
    },
    close: async () => {
      if (session['mcp-session-id'] === undefined) return
      const response = await pool.request({ path, method: 'DELETE', headers: session })
      await response.body.dump()
    },
  }
}

async function post(
  pool: Pool,
  path: string,
  headers: Record<string, string>,
  body: unknown,
): Promise<{ result: Record<string, unknown>; headers: Record<string, unknown> }> {
  const response = await pool.request({ path, method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.body.text()
  const stream = String(response.headers['content-type']).includes('text/event-stream')
  const json = stream ? lastData(text) : text
  let message: { result?: Record<string, unknown>; error?: { code: number; message: string } }
  try {
    message = JSON.parse(json) as typeof message
  } catch {
    throw new Error(`HTTP ${response.statusCode} ${text.slice(0, 120)}`)
  }
  if (message.result !== undefined) return { result: message.result, headers: response.headers }
  throw new Error(`error ${message.error?.code} ${message.error?.message}`)
}

/** The last event of a stream that has ended is its answer. */
function lastData(text: string): string {
  const lines = text.split(/\r?\n/).filter((line) => line.startsWith('data:') && line.length > 6)
  return lines.at(-1)?.slice(5) ?? ''
}

/** Every tool, page by page. */
export async function listTools(
  client: BenchClient,
): Promise<readonly { readonly name: string }[]> {
  const tools: { readonly name: string }[] = []
  let cursor: unknown
  for (let page = 0; page < 200; page += 1) {
    const result = await client.request('tools/list', cursor === undefined ? {} : { cursor })
    tools.push(...(result['tools'] as { readonly name: string }[]))
    cursor = result['nextCursor']
    if (cursor === undefined) break
  }
  return tools
}
