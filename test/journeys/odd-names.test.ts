/** Names that no model API takes, called by their aliases through a host on stdio, at a server over HTTP. */
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import given from '../cases/C01-names-dots-slashes-unicode.json' with { type: 'json' }
import { comity, comityCommand, createHome, type Home } from './comity-process.fixture.ts'

interface Called {
  readonly name: string
  readonly headers: Readonly<Record<string, unknown>>
}

/** A 2026-07-28 server with the tools of the case, in the order it is told to. */
async function serveOffice(called: Called[], order: { reversed: boolean }): Promise<string> {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body) as {
        id?: number
        method: string
        params: { name: string }
      }
      if (method === 'tools/call') called.push({ name: params.name, headers: request.headers })
      const tools = order.reversed ? [...given.given.tools].reverse() : given.given.tools
      const results: Readonly<Record<string, object>> = {
        'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
        'tools/list': { tools },
        'tools/call': { content: [{ type: 'text', text: `ran ${params.name}` }] },
      }
      const base = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { ...base, ...results[method] } }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** @source MCP 2026-07-28, transports, Streamable HTTP, value encoding. */
const decoded = (value: string): string =>
  value.startsWith('=?base64?') ? Buffer.from(value.slice(9, -2), 'base64').toString() : value

/** Each alias with what calling it said. */
async function callAll(home: Home): Promise<ReadonlyMap<string, string>> {
  const client = new Client(
    { name: 'host', version: '0' },
    { versionNegotiation: { mode: 'auto' } },
  )
  const { command, args, cwd } = comityCommand(home, 'mcp', '--standalone')
  const env = { ...home.env }
  await client.connect(
    new StdioClientTransport({ command, args: [...args], cwd, env, stderr: 'pipe' }),
  )
  try {
    const { tools } = await client.listTools()
    const said = new Map<string, string>()
    for (const { name } of tools) {
      const { content } = await client.callTool({ name, arguments: {} })
      said.set(name, (content as { text: string }[])[0]?.text ?? '')
    }
    return said
  } finally {
    await client.close()
  }
}

test('C01, C68: each alias reaches its own tool by its own name, in body and headers; the ledger has that name; a restart changes nothing', async () => {
  const originals = given.given.tools.map(({ name }) => name)
  const called: Called[] = []
  const order = { reversed: false }
  const home = createHome()
  onTestFinished(() => home.remove())
  home.configure({ mcpServers: { office: { url: await serveOffice(called, order) } } })

  const first = await callAll(home)
  expect(first.size).toBe(7)
  for (const alias of first.keys()) expect(alias).toMatch(/^[A-Za-z0-9_-]{1,64}$/u)
  expect([...first.values()].toSorted()).toEqual(originals.map((name) => `ran ${name}`).toSorted())
  expect(called.map(({ name }) => name).toSorted()).toEqual(originals.toSorted())
  for (const { name, headers: sent } of called) {
    expect(sent['mcp-method']).toBe('tools/call')
    expect(decoded(String(sent['mcp-name']))).toBe(name)
  }

  order.reversed = true
  expect(Object.fromEntries(await callAll(home))).toEqual(Object.fromEntries(first))
  const ledger = await comity(home, 'ledger', '--json', '--limit', '500')
  for (const name of originals) expect(ledger.stdout).toContain(JSON.stringify(name))
}, 90_000)
