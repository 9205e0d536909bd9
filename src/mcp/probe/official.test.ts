/** Servers nobody here wrote, and the conforming peer: what is and what is not held against them. */
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { McpServer as OldServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeStream } from 'node:stream/web'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { serveHttp } from '../../testkit/conforming-peer/http.ts'
import type { Era } from '../../testkit/conforming-peer/server.ts'
import type { ProbeTarget } from './probe-server.ts'
import type { ProbeReport } from './report.ts'
import { brokenRules, runProbe } from './run-probe.fixture.ts'

const PEER = join(import.meta.dirname, '../../testkit/conforming-peer/main.ts')
const SESSIONS = ['2025-11-25', '2025-06-18', '2025-03-26']

const node = (...args: readonly string[]): ProbeTarget => ({
  transport: 'stdio',
  command: process.execPath,
  args,
  env: {},
})

const spoken = ({ revisions }: ProbeReport): readonly string[] =>
  revisions.filter((one) => one.spoken).map(({ revision }) => revision)

const errors = ({ findings }: ProbeReport): readonly string[] =>
  findings
    .filter(({ severity }) => severity === 'error')
    .map(({ rule, place }) => `${rule} ${place}`)

describe('the conforming peer breaks no rule', () => {
  const advice = ['deprecated.logging', 'list.cursor-invented']
  const eras: readonly { era: Era; speaks: readonly string[]; also: readonly string[] }[] = [
    { era: 'modern', speaks: ['2026-07-28'], also: [] },
    { era: 'dual', speaks: ['2026-07-28', ...SESSIONS], also: [] },
    { era: 'legacy', speaks: SESSIONS, also: ['era.sessions-only'] },
  ]

  test.each(eras)('over HTTP: $era', async ({ era, speaks, also }) => {
    const peer = await serveHttp(0, era)
    onTestFinished(() => peer.close())
    const report = await runProbe(peer.url)
    expect(errors(report)).toEqual([])
    expect(brokenRules(report)).toEqual([...advice, ...also].toSorted())
    expect(spoken(report)).toEqual(speaks)
    expect(report.callsItself).toMatchObject({ name: 'conforming-peer', version: '1.0.0' })
    expect(report.lists[0]).toMatchObject({ method: 'tools/list', pages: 1 })
    expect(report.lists[0]?.items).toBeGreaterThan(25)
  })

  test.each(eras)('on standard streams: $era', async ({ era, speaks, also }) => {
    const report = await runProbe(node(PEER, '--stdio', '--era', era))
    expect(errors(report)).toEqual([])
    // The SDK binds a process to the revision of its first request: a warning, and true.
    const bound = era === 'legacy' ? [] : ['version.carried']
    expect(brokenRules(report)).toEqual([...advice, ...bound, ...also].toSorted())
    expect(spoken(report)).toEqual(era === 'modern' ? speaks : [...speaks, '2024-11-05'])
  })
})

test('a server of the official SDK, version 2', async () => {
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: 'two', version: '2.0.0' })
      const inputSchema = z.object({ text: z.string() })
      const config = { description: 'Says it again.', inputSchema }
      server.registerTool('echo', config, ({ text }) => ({ content: [{ type: 'text', text }] }))
      return server
    },
    { legacy: 'reject' },
  )
  onTestFinished(() => handler.close())
  const url = await serve(async (incoming, outgoing) => {
    const body = incoming.method === 'POST'
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method ?? 'POST',
      headers: incoming.headers as Record<string, string>,
      ...(body ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' } : {}),
    })
    const response = await handler.fetch(request)
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    if (response.body === null) outgoing.end()
    else await pipeline(Readable.fromWeb(response.body as NodeStream), outgoing).catch(() => {})
  })
  const report = await runProbe(url)
  expect(spoken(report)).toEqual(['2026-07-28'])
  // Nobody checks Origin for it, and it does not look at cursors.
  expect(errors(report)).toEqual(['http.origin undefined'])
  expect(report.models.summary.map(({ api, refuses }) => `${api} ${refuses}`)).toContain(
    'anthropic 0',
  )
})

test('a server of the official SDK, version 1, over HTTP with sessions', async () => {
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const url = await serve(async (request, response) => {
    const known = transports.get(String(request.headers['mcp-session-id']))
    if (known !== undefined) return known.handleRequest(request, response)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void transports.set(id, transport),
    })
    const server = new OldServer({ name: 'one', version: '1.0.0' })
    const echo = ({ text }: { text: string }) => ({ content: [{ type: 'text' as const, text }] })
    server.registerTool('echo', { description: 'Echoes.', inputSchema: { text: z.string() } }, echo)
    // Its own types do not bear our strictness.
    await server.connect(transport as Parameters<typeof server.connect>[0])
    return transport.handleRequest(request, response)
  })
  const report = await runProbe(url)
  expect(spoken(report)).toEqual(SESSIONS)
  // A transport made anew for each unknown session says 400 where 404 would make clients begin anew.
  expect(errors(report).map((one) => one.split(' ')[0])).toEqual(['session.unknown', 'http.origin'])
  expect(brokenRules(report)).toContain('tool.unknown-form')
})

test.each(['everything', 'filesystem', 'memory'])('the reference server %s', async (name) => {
  const main = createRequire(import.meta.url).resolve(
    `@modelcontextprotocol/server-${name}/dist/index.js`,
  )
  const report = await runProbe(node(main, ...(name === 'filesystem' ? [import.meta.dirname] : [])))
  expect(spoken(report)).toEqual([...SESSIONS, '2024-11-05'])
  expect(errors(report)).toEqual([])
  expect(brokenRules(report)).toContain('tool.unknown-form')
  expect(brokenRules(report)).toContain('era.sessions-only')
})

/** An HTTP server on a free port, closed with the test. */
async function serve(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<string> {
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}
