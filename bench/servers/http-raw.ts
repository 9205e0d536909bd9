/**
 * An echo server by hand, both eras, cheap: what is measured is the gateway, not a server's SDK.
 *
 * PORT; TOOLS: filler tools beside the two echoes. Serves the same at every path, so that one process stands for many peers.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'

interface Message {
  readonly id?: string | number
  readonly method: string
  readonly params?: {
    readonly name?: string
    readonly arguments?: { readonly text?: string }
    readonly protocolVersion?: string
    readonly _meta?: Readonly<Record<string, unknown>>
  }
}

const TEXT = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
const FILLER = {
  type: 'object',
  properties: {
    key: { type: 'string', description: 'record key' },
    fields: { type: 'array', items: { type: 'string' } },
    limit: { type: 'integer', minimum: 1, maximum: 100 },
  },
  required: ['key'],
}
const tools = [
  // What a trusted server says it only reads; and what may have effects.
  {
    name: 'look',
    description: 'Echoes the text',
    inputSchema: TEXT,
    annotations: { readOnlyHint: true },
  },
  { name: 'act', description: 'Echoes the text back', inputSchema: TEXT },
  ...Array.from({ length: Number(process.env['TOOLS'] ?? 0) }, (_, index) => ({
    name: `tool_${String(index).padStart(3, '0')}`,
    description: `Filler tool number ${index}: looks a record up by its key and returns the fields asked for`,
    inputSchema: FILLER,
  })),
]
const INFO = { name: 'echo', version: '1' }
const MODERN_FIELDS = { resultType: 'complete', ttlMs: 3_600_000, cacheScope: 'public' }
const LIST = JSON.stringify({ tools })
const MODERN_LIST = JSON.stringify({ tools, ...MODERN_FIELDS })
const DISCOVERED = JSON.stringify({
  ...MODERN_FIELDS,
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  serverInfo: INFO,
})

createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  if (request.method !== 'POST') return send(response, request.method === 'DELETE' ? 200 : 405, '')
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => answer(response, JSON.parse(Buffer.concat(chunks).toString()) as Message))
}).listen(Number(process.env['PORT']), '127.0.0.1')

function answer(response: ServerResponse, { id, method, params }: Message): void {
  if (id === undefined) return send(response, 202, '')
  const modern = params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined
  const reply = (result: string, headers?: Record<string, string>): void =>
    send(response, 200, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`, headers)
  switch (method) {
    case 'initialize': {
      const { protocolVersion } = params ?? {}
      const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: INFO }
      return reply(JSON.stringify(result), { 'mcp-session-id': randomUUID() })
    }
    case 'server/discover':
      return reply(DISCOVERED)
    case 'ping':
      return reply('{}')
    case 'tools/list':
      return reply(modern ? MODERN_LIST : LIST)
    case 'tools/call': {
      const content = [{ type: 'text', text: params?.arguments?.text ?? params?.name }]
      return reply(JSON.stringify(modern ? { content, resultType: 'complete' } : { content }))
    }
    default: {
      const error = { code: -32601, message: 'Method not found' }
      return send(response, modern ? 404 : 200, JSON.stringify({ jsonrpc: '2.0', id, error }))
    }
  }
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): void {
  const length = Buffer.byteLength(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': length,
    ...headers,
  })
  response.end(body)
}
