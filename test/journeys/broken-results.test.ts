/** A tool that does not keep to its own output schema, through a whole gateway. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createHost } from '../../src/gateway/create-host.ts'
import { dig, postModern } from '../../src/mcp/downstream/testing/test-door.ts'
import given from '../cases/C45-results-iserror-with-outputschema.json' with { type: 'json' }
import { createHome } from './comity-process.fixture.ts'

/** Answers the replies of the case, one after another. */
async function startPeer(): Promise<string> {
  const { tool, replies } = given.given
  let calls = 0
  const resultOf = (method: string): object => {
    if (method === 'server/discover')
      return { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
    return method === 'tools/list' ? { tools: [tool] } : (replies[calls++] ?? {})
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      const { id, method } = JSON.parse(body) as { id: unknown; method: string }
      const result = {
        resultType: 'complete',
        ttlMs: 60_000,
        cacheScope: 'public',
        ...resultOf(method),
      }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

test('C45: what the caller reads of five answers, and what is kept of the broken ones', async () => {
  const home = createHome()
  home.configure({
    mcpServers: { calc: { url: await startPeer() } },
    store: `sqlite:${home.path('comity.db')}`,
    policy: { rules: [{ match: ['*/*'], effect: 'allow' }] },
  })
  onTestFinished(home.remove)
  const host = await createHost({ config: home.config, environment: home.env })
  onTestFinished(() => host.close())
  const url = `${await host.serve({ port: 0 })}/mcp`
  const results: unknown[] = []
  for (let times = 0; times < 5; times += 1)
    results.push(dig((await postModern(url, 'tools/call', { name: 'calc_sum' })).body, 'result'))

  for (const own of [0, 1])
    expect(results[own]).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'db offline' }],
    })
  const textOf = (at: number): string => String(dig(results[at], 'content', 0, 'text'))
  expect(textOf(2)).toContain('breaks its own schema: it has no structuredContent')
  expect(textOf(2)).toContain('{"total":3}')
  expect(textOf(3)).toContain('breaks its own schema: structuredContent/total')
  for (const broken of [2, 3])
    expect(results[broken]).toMatchObject({
      isError: true,
      _meta: { 'comity/outcome': { state: 'failed', code: 'protocol_violation', ran: 'yes' } },
    })
  expect(results[4]).toMatchObject({ structuredContent: { total: 3 } })
  expect(results[4]).not.toHaveProperty('isError')

  const callId = String(dig(results[2], '_meta', 'comity/outcome', 'callId'))
  const { signal } = new AbortController()
  const explained = await host.operator.explain({ id: callId }, { signal, event: () => undefined })
  // Its bytes are kept beside the record, as those of any result.
  expect(explained).toMatchObject({
    call: { outcome: { code: 'protocol_violation', result: { bytes: expect.any(Number) } } },
  })
})
