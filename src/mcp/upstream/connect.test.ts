import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  inlineServer,
  listen,
  makeCall,
  openPeer,
  reply,
  type Message,
  type Server,
} from '../../../test/mcp/upstream-peer.ts'

const DISCOVER = `{ resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private', instructions: 'Be kind.', _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'modern', version: '2' } } }`

describe('C28: servers that refuse the probe oddly are reached by initialize', () => {
  test.each([
    ['s1', `refuse(m, -32602, 'initialize first')`],
    ['s2', ''],
    ['s3', 'refuse(m, -32601)'],
    ['s4', `refuse(m, -32000, 'unknown')`],
    [
      'a modern code that names only old revisions',
      `refuse(m, -32022, 'no', { supported: ['2025-06-18'], requested: '2026-07-28' })`,
    ],
    ['a result that is something else', 'answer(m, {})'],
    ['noise', `raw('who are you?\\n')`],
  ])('stdio %s', async (_, onProbe) => {
    const peer = openPeer(
      inlineServer(`
        let ready = false
        serve({
          'server/discover': (m) => { ${onProbe} },
          'notifications/initialized': () => { ready = true },
          'tools/call': (m) => answer(m, { content: [], ready }),
        })
      `),
      { probeMs: 300 },
    )
    const { outcome, sent } = await makeCall(peer, 'pay')
    expect(outcome).toMatchObject({ state: 'completed' })
    expect(sent).toMatchObject([{ revision: '2025-06-18', ours: {}, theirs: { tools: {} } }])
    expect(peer.report()).toEqual({
      state: 'ready',
      transport: 'stdio',
      revision: '2025-06-18',
      callsItself: 'inline 1',
    })
  })

  test('stdio: a server that ends itself on the probe is started once more', async () => {
    const peer = openPeer(inlineServer(`serve({ 'server/discover': () => process.exit(1) })`))
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
  })

  test.each<[string, number, string, string]>([
    [
      'h1',
      400,
      'application/json',
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Unsupported protocol version: 2026-07-28"}}',
    ],
    ['h2', 400, 'text/plain', ''],
    ['h3', 404, 'text/plain', 'not found'],
    [
      'h4',
      200,
      'application/json',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}',
    ],
    ['405', 405, 'text/plain', ''],
    ['500', 500, 'text/html', '<h1>oops</h1>'],
  ])('HTTP %s', async (_, status, type, body) => {
    const seen: string[] = []
    const url = await listen((request, response, text) => {
      const message = JSON.parse(text) as Message
      seen.push(message.method)
      if (message.method === 'server/discover') {
        expect(request.headers['mcp-method']).toBe('server/discover')
        response.writeHead(status, { 'content-type': type })
        return void response.end(body)
      }
      if (message.id === undefined) return void response.writeHead(202).end()
      const result =
        message.method === 'initialize'
          ? { protocolVersion: '2025-06-18', capabilities: {} }
          : { content: [] }
      reply(response, message, { result })
    })
    const peer = openPeer({ transport: 'http', url, headers: {} })
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    expect(seen).toEqual([
      'server/discover',
      'initialize',
      'notifications/initialized',
      'tools/call',
      'tools/call',
    ])
  })

  test('a lock to 2026-07-28 gives a plain error instead', async () => {
    const peer = openPeer(inlineServer('serve({})'), { revision: '2026-07-28' })
    await expect(peer.listing()).rejects.toThrow(
      /locks `revision: 2026-07-28`.*error -32601.*remove the lock/,
    )
  })

  test('the case file still says eight servers', () => {
    const file = new URL(
      '../../../test/cases/C28-era-legacy-server-odd-refusals.json',
      import.meta.url,
    )
    const { given } = JSON.parse(readFileSync(file, 'utf8')) as { given: { peers: object } }
    expect(Object.keys(given.peers)).toEqual(['s1', 's2', 's3', 's4', 'h1', 'h2', 'h3', 'h4'])
  })
})

describe('modern servers', () => {
  test('are found by discover and never initialized', async () => {
    const peer = openPeer(
      inlineServer(
        `serve({ 'server/discover': (m) => answer(m, ${DISCOVER}), initialize: () => process.exit(1), 'tools/call': (m) => answer(m, { resultType: 'complete', content: [], meta: m.params._meta }) })`,
      ),
    )
    const listing = await peer.listing()
    expect(listing.instructions).toBe('Be kind.')
    const { outcome, sent } = await makeCall(peer, 'pay', {}, { can: { form: true } })
    const ours = { elicitation: { form: {} } }
    expect(sent).toMatchObject([{ revision: '2026-07-28', ours, theirs: { tools: {} } }])
    expect(outcome).toMatchObject({ state: 'completed' })
    expect('native' in outcome && outcome.native?.value()).toMatchObject({
      meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': ours,
        'io.modelcontextprotocol/clientInfo': { name: 'comity-test', version: '0.0.0' },
      },
    })
    expect(peer.report()).toMatchObject({ revision: '2026-07-28', callsItself: 'modern 2' })
  })

  test('that start slowly may answer the probe after initialize was tried', async () => {
    const peer = openPeer(
      inlineServer(`
        let probe
        serve({
          'server/discover': (m) => { probe = m },
          initialize: (m) => { refuse(m, -32022, 'no', { supported: ['2026-07-28'] }); answer(probe, ${DISCOVER}) },
        })
      `),
      { probeMs: 100 },
    )
    await peer.listing()
    expect(peer.report().revision).toBe('2026-07-28')
  })

  test.each([-32020, -32021])(
    'that refuse the probe with %i are not spoken to as old ones',
    async (code) => {
      const peer = openPeer(
        inlineServer(
          `serve({ 'server/discover': (m) => refuse(m, ${code}), initialize: () => process.exit(9) })`,
        ),
      )
      await expect(peer.listing()).rejects.toThrow(
        `speaks 2026-07-28 but refuses to be asked what it offers: error ${code}`,
      )
    },
  )
})

test('a refusal of the very revision that it then offers is asked once more, and only once', async () => {
  const refusal = { error: { code: -32022, message: 'no', data: { supported: ['2026-07-28'] } } }
  const seen: string[] = []
  const serve = (refusals: number): Promise<string> =>
    listen((_, response, text) => {
      const message = JSON.parse(text) as Message
      seen.push(message.method)
      if (seen.length <= refusals) return reply(response, message, refusal, 400)
      const offers = { supportedVersions: ['2026-07-28'], capabilities: {} }
      const result = message.method === 'server/discover' ? offers : { content: [] }
      reply(response, message, {
        result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result },
      })
    })
  const once = openPeer({ transport: 'http', url: await serve(1), headers: {} })
  expect((await makeCall(once, 'pay')).outcome.state).toBe('completed')
  expect(seen.splice(0)).toEqual(['server/discover', 'server/discover', 'tools/call'])

  const always = openPeer({ transport: 'http', url: await serve(9), headers: {} })
  await expect(always.listing()).rejects.toThrow(
    /refuses 2026-07-28 and offers it in the same answer, twice/u,
  )
  expect(seen).toEqual(['server/discover', 'server/discover'])
})

test('no revision in common is said with both sides', async () => {
  const peer = openPeer(
    inlineServer(
      `serve({ 'server/discover': (m) => refuse(m, -32022, 'no', { supported: ['2031-01-01'] }) })`,
    ),
  )
  await expect(peer.listing()).rejects.toThrow(
    /no revision in common: it supports 2031-01-01; we speak 2026-07-28, 2025-11-25/,
  )
})

test('an initialize that agrees on nothing known is refused', async () => {
  const peer = openPeer(
    inlineServer(`serve({ initialize: (m) => answer(m, { protocolVersion: '1999-01-01' }) })`),
  )
  await expect(peer.listing()).rejects.toThrow(/answered initialize with 1999-01-01/)
})

test('a lock to an old revision skips the probe and refuses any other', async () => {
  const probed = `serve({ 'server/discover': () => process.exit(1) })`
  const good = openPeer(inlineServer(probed), { revision: '2025-06-18' })
  await good.listing()
  expect(good.report().revision).toBe('2025-06-18')
  const bad = openPeer(inlineServer(probed), { revision: '2025-11-25' })
  await expect(bad.listing()).rejects.toThrow(
    'locks `revision: 2025-11-25`, but the server answered 2025-06-18',
  )
})

test('what was found is remembered: after a crash an old server is not probed again', async () => {
  const peer = openPeer(
    inlineServer(
      `serve({ 'server/discover': () => {}, 'tools/call': (m) => m.params.arguments.die ? process.exit(1) : answer(m, { content: [] }) })`,
    ),
    { probeMs: 1500 },
  )
  await peer.listing()
  await makeCall(peer, 'pay', { die: true })
  const from = performance.now()
  expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
  expect(performance.now() - from).toBeLessThan(1200)
})

test('a server that never says anything fails within its start time, with what to see', async () => {
  const peer = openPeer(
    inlineServer(`console.error('waiting for a database'); process.stdin.resume()`),
    {
      probeMs: 100,
      startMs: 400,
    },
  )
  await expect(peer.listing()).rejects.toThrow(
    /did not answer within 400 ms; it printed: waiting for a database/,
  )
})

test('nobody there: known not to have run', async () => {
  const server: Server = { transport: 'http', url: 'http://127.0.0.1:1/mcp', headers: {} }
  expect((await makeCall(openPeer(server), 'pay')).outcome).toMatchObject({
    state: 'failed',
    origin: 'transport',
    ran: 'no',
    code: 'peer_unreachable',
    detail: expect.stringContaining('ECONNREFUSED') as string,
  })
})
