/**
 * Questions across the eras through a whole gateway: a 2026 peer's rounds, byte for byte and once only, and a 2025 peer's
 * live questions to a 2026 caller.
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, onTestFinished, test } from 'vitest'
import { createHost, type CreatedHost } from '../../src/gateway/create-host.ts'
import { dig, modernMeta, postModern } from '../../src/mcp/downstream/testing/test-door.ts'
import { createHome, type Home } from './comity-process.fixture.ts'

const ASKING = new URL('./asking-peer.fixture.ts', import.meta.url).pathname

/** Escaped as no writer of ours would. */
const STATE = String.raw`"caf\u00e9 \/ \ud83d\ude00 \u0041"`
const ASKS =
  '{"resultType":"input_required","inputRequests":{"language":{"method":"elicitation/create","params":{"mode":"form",' +
  '"message":"Which language?","requestedSchema":{"type":"object","properties":{"language":{"type":"string"}}}}}},' +
  `"requestState":${STATE}}`

interface RoundPeer {
  readonly url: string
  /** Bodies of calls that brought answers, as they came. */
  readonly runs: string[]
  stop(): Promise<void>
  restart(): Promise<void>
}

/** A 2026-07-28 server whose tools `export` (a write) and `look` (a read) ask once. */
async function startRoundPeer(): Promise<RoundPeer> {
  const runs: string[] = []
  const answer = (body: string): string => {
    const { id, method } = JSON.parse(body) as { id: unknown; method: string }
    const reply = (result: string): string =>
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
    switch (method) {
      case 'server/discover':
        return reply(
          '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":60000,"cacheScope":"public"}',
        )
      case 'tools/list':
        return reply(
          '{"resultType":"complete","tools":[{"name":"export","inputSchema":{"type":"object"}},' +
            '{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],"ttlMs":60000,"cacheScope":"public"}',
        )
      default: {
        if (!body.includes('"inputResponses"')) return reply(ASKS)
        runs.push(body)
        return reply('{"resultType":"complete","content":[{"type":"text","text":"exported"}]}')
      }
    }
  }
  let server: Server | undefined
  const begin = async (port: number): Promise<number> => {
    server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += String(chunk)))
      request.on('end', () => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(answer(body))
      })
    })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const stop = async (): Promise<void> => {
    server?.closeAllConnections()
    server?.close()
    if (server?.listening === true) await once(server, 'close')
  }
  const port = await begin(0)
  onTestFinished(stop)
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    runs,
    stop,
    restart: async () => void (await begin(port)),
  }
}

function createTestHome(mcpServers: Readonly<Record<string, unknown>>): Home {
  const home = createHome({ mcpServers, names: 'as-is', policy: { preset: 'personal' } })
  home.configure({
    mcpServers,
    names: 'as-is',
    store: `sqlite:${home.path('comity.db')}`,
    policy: { rules: [{ match: ['*/*'], effect: 'allow' }] },
  })
  onTestFinished(home.remove)
  return home
}

async function openGateway(home: Home): Promise<{ url: string; host: CreatedHost }> {
  const host = await createHost({ config: home.config, environment: home.env })
  onTestFinished(() => host.close())
  return { host, url: `${await host.serve({ port: 0 })}/mcp` }
}

const CAN = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } }
const CALL = { name: 'export', arguments: { id: 1 }, _meta: modernMeta(CAN) }
const inputResponses = { language: { action: 'accept', content: { language: 'en' } } }

test('R060: the same round sent twice at once, and again after a restart, runs once; the peer’s state goes back byte for byte', async () => {
  const peer = await startRoundPeer()
  const home = createTestHome({ rounds: { url: peer.url } })
  const before = await openGateway(home)
  const first = await postModern(before.url, 'tools/call', CALL)
  const requestState = dig(first.body, 'result', 'requestState')
  expect(dig(first.body, 'result', 'resultType')).toBe('input_required')
  expect(first.text).not.toMatch(/caf(?:é|\\u00e9)/u)

  const retry = { ...CALL, requestState, inputResponses }
  const both = await Promise.all([
    postModern(before.url, 'tools/call', retry),
    postModern(before.url, 'tools/call', retry),
  ])
  const texts = both.map(({ body }) => String(dig(body, 'result', 'content', 0, 'text')))
  expect(texts.filter((text) => text === 'exported')).toHaveLength(1)
  expect(texts.find((text) => text !== 'exported')).toContain('not sent')
  expect(peer.runs).toHaveLength(1)
  expect(peer.runs[0]).toContain(`"requestState":${STATE}`)
  await before.host.close()

  const after = await openGateway(home)
  const late = await postModern(after.url, 'tools/call', retry)
  expect(dig(late.body, 'result')).toMatchObject({
    isError: true,
    _meta: { 'comity/outcome': { ran: 'unknown' } },
  })
  expect(peer.runs).toHaveLength(1)
})

test('a round that is known not to have run may be sent again; one that only reads may be repeated', async () => {
  const peer = await startRoundPeer()
  const { url } = await openGateway(createTestHome({ rounds: { url: peer.url } }))
  const first = await postModern(url, 'tools/call', CALL)
  const retry = {
    ...CALL,
    requestState: dig(first.body, 'result', 'requestState'),
    inputResponses,
  }
  await peer.stop()
  const failed = await postModern(url, 'tools/call', retry)
  expect(dig(failed.body, 'result', '_meta', 'comity/outcome')).toMatchObject({
    state: 'failed',
    ran: 'no',
  })
  await peer.restart()
  const second = await postModern(url, 'tools/call', retry)
  expect(dig(second.body, 'result', 'content', 0, 'text')).toBe('exported')

  const look = { ...CALL, name: 'look' }
  const asked = await postModern(url, 'tools/call', look)
  const read = { ...look, requestState: dig(asked.body, 'result', 'requestState'), inputResponses }
  for (let times = 0; times < 2; times += 1) {
    const { body } = await postModern(url, 'tools/call', read)
    expect(dig(body, 'result', 'content', 0, 'text')).toBe('exported')
  }
})

test('a 2025 peer asks a 2026 caller in mid-call: form, sampling and roots, one call each', async () => {
  const asking = { command: process.execPath, args: [ASKING] }
  const { url, host } = await openGateway(createTestHome({ asking }))
  const client = new Client(
    { name: 'v2', version: '1' },
    {
      versionNegotiation: { mode: { pin: '2026-07-28' } },
      capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
    },
  )
  client.setRequestHandler('elicitation/create', async () => ({
    action: 'accept',
    content: { language: 'zh' },
  }))
  client.setRequestHandler('sampling/createMessage', async () => ({
    role: 'assistant',
    model: 'm',
    content: { type: 'text', text: 'Paris' },
  }))
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///home/x' }] }))
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  onTestFinished(() => client.close())

  const say = async (name: string): Promise<unknown> => {
    const { content } = await client.callTool({ name, arguments: {} })
    return JSON.parse(String(dig(content, 0, 'text')))
  }
  expect(await say('ask_language')).toEqual({ action: 'accept', content: { language: 'zh' } })
  expect(await say('ask_model')).toMatchObject({ model: 'm', content: { text: 'Paris' } })
  expect(await say('ask_roots')).toEqual({ roots: [{ uri: 'file:///home/x' }] })
  await host.close()
})

test('a call that waited for an answer when its gateway ended is unknown to the retry, and on record', async () => {
  const home = createTestHome({ asking: { command: process.execPath, args: [ASKING] } })
  const before = await openGateway(home)
  const call = { ...CALL, name: 'ask_language', arguments: {} }
  const first = await postModern(before.url, 'tools/call', call)
  expect(dig(first.body, 'result', 'resultType')).toBe('input_required')
  const callId = dig(first.body, 'result', '_meta', 'comity/asking', 'callId')
  await before.host.close()

  const after = await openGateway(home)
  const retry = {
    ...call,
    requestState: dig(first.body, 'result', 'requestState'),
    inputResponses: { q1: { action: 'accept', content: { language: 'zh' } } },
  }
  const { body } = await postModern(after.url, 'tools/call', retry)
  expect(dig(body, 'result', '_meta', 'comity/outcome')).toEqual({
    state: 'unknown',
    code: 'process_died',
    callId,
    ran: 'unknown',
  })
  const { signal } = new AbortController()
  const { entries } = await after.host.operator.explain(
    { id: String(callId) },
    { signal, event: () => undefined },
  )
  expect(entries.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['opened', 'dispatched', 'asked', 'answered']),
  )
})

test('a 2026 peer’s round reaches a 2025 caller as a request on its session', async () => {
  const peer = await startRoundPeer()
  const { url } = await openGateway(createTestHome({ rounds: { url: peer.url } }))
  const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    expect(params.message).toBe('rounds asks: Which language?')
    return { action: 'accept', content: { language: 'en' } }
  })
  await client.connect(new TransportV1(new URL(url)) as Transport)
  onTestFinished(() => client.close())
  const { content } = await client.callTool({ name: 'export', arguments: {} })
  expect(dig(content, 0, 'text')).toBe('exported')
  expect(dig(JSON.parse(peer.runs[0] ?? ''), 'params', 'inputResponses')).toEqual(inputResponses)
})

test('updates that a 2025 peer tells reach a 2026 subscription', async () => {
  const asking = { command: process.execPath, args: [ASKING] }
  const { url } = await openGateway(createTestHome({ asking }))
  const client = new Client(
    { name: 'v2', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  onTestFinished(() => client.close())
  const updated = Promise.withResolvers<string>()
  const grown = Promise.withResolvers<void>()
  client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
    updated.resolve(params.uri),
  )
  client.setNotificationHandler('notifications/tools/list_changed', () => grown.resolve())
  const subscription = await client.listen({
    toolsListChanged: true,
    resourceSubscriptions: ['note://one'],
  })
  expect(subscription.honoredFilter).toEqual({
    toolsListChanged: true,
    resourceSubscriptions: ['note://one'],
  })
  // The peer is asked to subscribe meanwhile: it tells once it has been.
  const touch = async (): Promise<void> => {
    const { content } = await client.callTool({ name: 'touch', arguments: {} })
    if (String(dig(content, 0, 'text')) === '[]') await touch()
  }
  await touch()
  expect(await updated.promise).toBe('note://one')
  await client.callTool({ name: 'grow', arguments: {} })
  await grown.promise
  await subscription.close()
})
