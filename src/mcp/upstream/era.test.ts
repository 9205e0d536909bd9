import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import {
  inlineServer,
  listen,
  makeCall,
  openPeer,
  reply,
  type Message,
} from '../../../test/mcp/upstream-peer.ts'
import type { EraVerdict, EraVerdicts } from '../../core/ports/era-verdicts.ts'

const NOON = Date.parse('2026-11-01T12:00:00.000Z')
const DAY = 24 * 60 * 60 * 1000

/** Verdicts as a store keeps them. */
function memory(): EraVerdicts & { readonly all: () => readonly EraVerdict[] } {
  const kept = new Map<string, EraVerdict>()
  return {
    read: (endpoint) => kept.get(endpoint),
    write: (endpoint, verdict) => void kept.set(endpoint, verdict),
    forget: (endpoint) => void kept.delete(endpoint),
    all: () => [...kept.values()],
  }
}

/** `older` takes nothing that says it is of 2026-07-28. */
type Speaks = 'modern' | 'legacy' | 'older' | 'trouble'

/** A server that can be updated while it runs; notes what it is asked. */
async function updatable(first: Speaks): Promise<{
  readonly url: string
  readonly seen: string[]
  now(speaks: Speaks): void
}> {
  let speaks = first
  const seen: string[] = []
  const url = await listen((request, response, body) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const message = JSON.parse(body) as Message
    seen.push(message.method)
    const isModern = request.headers['mcp-protocol-version'] === '2026-07-28'
    if (speaks === 'trouble') return void response.writeHead(503).end()
    if (speaks === 'modern') return answerModern(message, isModern, response)
    const foreign = speaks === 'older' ? isModern : message.method === 'server/discover'
    if (foreign) return void response.writeHead(400).end()
    if (message.id === undefined) return void response.writeHead(202).end()
    const result =
      message.method === 'initialize'
        ? { protocolVersion: '2025-06-18', capabilities: speaks === 'older' ? { tools: {} } : {} }
        : { content: [], tools: [{ name: 'old', inputSchema: { type: 'object' } }] }
    reply(response, message, { result })
  })
  return { url, seen, now: (next) => void (speaks = next) }
}

function answerModern(message: Message, isModern: boolean, response: ServerResponse): void {
  if (!isModern) {
    const data = { supported: ['2026-07-28'], requested: '2025-06-18' }
    return reply(response, message, { error: { code: -32022, message: 'no', data } }, 400)
  }
  const found = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
  const result = message.method === 'server/discover' ? found : { content: [], tools: [] }
  reply(response, message, {
    result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result },
  })
}

/** A process of ours that begins anew: what it asks the server for one call. */
async function oneCall(
  server: Awaited<ReturnType<typeof updatable>>,
  verdicts: EraVerdicts,
  now = NOON,
): Promise<readonly string[]> {
  const peer = openPeer(
    { transport: 'http', url: server.url, headers: {} },
    { verdicts, now: () => now },
  )
  server.seen.splice(0)
  expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
  await peer.close()
  return server.seen.splice(0)
}

const ASKED = ['server/discover', 'initialize', 'notifications/initialized', 'tools/call']
const ASSUMED = ASKED.slice(1)

describe('what a server was found to speak', () => {
  test('is stored with its date, and a restart does not ask again', async () => {
    const server = await updatable('legacy')
    const verdicts = memory()
    expect(await oneCall(server, verdicts)).toEqual(ASKED)
    const at = '2026-11-01T12:00:00.000Z'
    expect(verdicts.all()).toEqual([{ era: 'legacy', revision: '2025-06-18', at }])
    expect(await oneCall(server, verdicts, NOON + DAY)).toEqual(ASSUMED)
  })

  test('a session era is asked again after a week: it may have been updated', async () => {
    const server = await updatable('legacy')
    const verdicts = memory()
    await oneCall(server, verdicts)
    server.now('modern')
    expect(await oneCall(server, verdicts, NOON + 8 * DAY)).toEqual([
      'server/discover',
      'tools/call',
    ])
    expect(verdicts.all()).toMatchObject([{ era: 'modern', revision: '2026-07-28' }])
  })

  test('a server that refuses initialize by now is asked once more, in the same attempt', async () => {
    const server = await updatable('legacy')
    const verdicts = memory()
    await oneCall(server, verdicts)
    server.now('modern')
    expect(await oneCall(server, verdicts)).toEqual(['initialize', 'server/discover', 'tools/call'])
    expect(verdicts.all()).toMatchObject([{ era: 'modern' }])
    expect(await oneCall(server, verdicts)).toEqual(['server/discover', 'tools/call'])
  })

  test('a modern server that speaks sessions only by now is reached by initialize', async () => {
    const server = await updatable('modern')
    const verdicts = memory()
    expect(await oneCall(server, verdicts)).toEqual(['server/discover', 'tools/call'])
    server.now('legacy')
    expect(await oneCall(server, verdicts)).toEqual(ASKED)
    expect(verdicts.all()).toMatchObject([{ era: 'legacy' }])
  })

  test('a revision that is refused while connected is asked for anew before the next call', async () => {
    let refuses = false
    const seen: string[] = []
    const url = await listen((_, response, body) => {
      const message = JSON.parse(body) as Message
      seen.push(message.method)
      if (refuses && message.method === 'tools/call') {
        refuses = false
        return reply(response, message, { error: { code: -32022, message: 'not any more' } }, 400)
      }
      answerModern(message, true, response)
    })
    const verdicts = memory()
    const peer = openPeer({ transport: 'http', url, headers: {} }, { verdicts })
    await makeCall(peer, 'pay')
    refuses = true
    const { outcome } = await makeCall(peer, 'pay')
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'peer_error' })
    expect(verdicts.all()).toEqual([])
    seen.splice(0)
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    expect(seen).toEqual(['server/discover', 'tools/call'])
    expect(verdicts.all()).toMatchObject([{ era: 'modern' }])
  })
})

describe('a server without sessions that is replaced while it is used', () => {
  test('is reached by initialize at the call after the one that it did not understand', async () => {
    const server = await updatable('modern')
    const verdicts = memory()
    const peer = openPeer({ transport: 'http', url: server.url, headers: {} }, { verdicts })
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    server.now('older')
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('unknown')
    server.seen.splice(0)
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    expect(server.seen).toEqual(ASKED)
    expect(verdicts.all()).toMatchObject([{ era: 'legacy' }])
  })

  test('also when nobody calls it, by the list that cannot be read', async () => {
    const server = await updatable('modern')
    const peer = openPeer({ transport: 'http', url: server.url, headers: {} })
    await peer.listing()
    server.now('trouble')
    await expect(peer.listing()).rejects.toThrow(/503/u)
    server.now('older')
    expect((await peer.listing()).capabilities.map(({ name }) => name)).toEqual(['old'])
    expect(peer.report()).toMatchObject({ state: 'ready', revision: '2025-06-18' })
  })
})

describe('an inconclusive probe is never stored', () => {
  test.each([
    ['silence', ''],
    ['a process that ends', 'process.exit(1)'],
  ])('%s', async (_, onProbe) => {
    const verdicts = memory()
    const peer = openPeer(inlineServer(`serve({ 'server/discover': () => { ${onProbe} } })`), {
      verdicts,
      probeMs: 100,
    })
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    expect(verdicts.all()).toEqual([])
  })

  test('a server in trouble', async () => {
    let first = true
    const url = await listen((request, response, body) => {
      if (request.method !== 'POST') return void response.writeHead(405).end()
      const message = JSON.parse(body) as Message
      if (first) {
        first = false
        return void response.writeHead(503).end()
      }
      if (message.id === undefined) return void response.writeHead(202).end()
      const result = { protocolVersion: '2025-06-18', capabilities: {}, content: [] }
      reply(response, message, { result })
    })
    const verdicts = memory()
    const peer = openPeer({ transport: 'http', url, headers: {} }, { verdicts })
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    expect(verdicts.all()).toEqual([])
  })

  test('a server that cannot be reached', async () => {
    const server = await updatable('legacy')
    const verdicts = memory()
    await oneCall(server, verdicts)
    const before = verdicts.all()
    server.now('trouble')
    const peer = openPeer(
      { transport: 'http', url: server.url, headers: {} },
      { verdicts, now: () => NOON },
    )
    await expect(peer.listing()).rejects.toThrow(/503/u)
    expect(verdicts.all()).toEqual(before)
  })
})

test('under a lock nothing is assumed and nothing stored', async () => {
  const server = await updatable('legacy')
  const verdicts = memory()
  const peer = openPeer(
    { transport: 'http', url: server.url, headers: {} },
    { verdicts, revision: '2025-06-18' },
  )
  expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
  expect(server.seen).toEqual(ASSUMED)
  expect(verdicts.all()).toEqual([])
})

describe('a lock on capabilities', () => {
  test('a server that drifts from it is not used, and the difference is said', async () => {
    const peer = openPeer(inlineServer(`serve({ 'server/discover': (m) => refuse(m, -32601) })`), {
      capabilities: { tools: false, resources: true, prompts: false },
    })
    const difference =
      /tools \(locked to false, the server declares it\), resources \(locked to true, the server does not\)/u
    await expect(peer.listing()).rejects.toThrow(difference)
    expect(peer.report()).toMatchObject({
      state: 'failed',
      detail: expect.stringMatching(difference),
    })
    const { outcome, sent } = await makeCall(peer, 'pay')
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'peer_unreachable' })
    expect(sent).toEqual([])
  })

  test('a modern server that drifts while it is used is used no more', async () => {
    let capabilities: object = { tools: {} }
    const url = await listen((_, response, body) => {
      const message = JSON.parse(body) as Message
      const found = { supportedVersions: ['2026-07-28'], capabilities }
      const result = message.method === 'server/discover' ? found : { tools: [], content: [] }
      const cache = { ttlMs: 0, cacheScope: 'private' }
      reply(response, message, { result: { resultType: 'complete', ...cache, ...result } })
    })
    const peer = openPeer(
      { transport: 'http', url, headers: {} },
      { capabilities: { tools: true, prompts: false }, shortestTtlMs: 0 },
    )
    await peer.listing()
    await peer.listing()
    capabilities = { tools: {}, prompts: {} }
    const difference = /prompts \(locked to false, the server declares it\)/u
    await expect(peer.listing()).rejects.toThrow(difference)
    await expect(peer.listing()).rejects.toThrow(difference)
    expect(peer.report()).toMatchObject({
      state: 'failed',
      detail: expect.stringMatching(difference),
    })
    capabilities = { tools: {} }
    await peer.restart()
    expect(peer.report().state).toBe('ready')
  })

  test('one that fits is used', async () => {
    const peer = openPeer(inlineServer(`serve({ 'server/discover': (m) => refuse(m, -32601) })`), {
      capabilities: { tools: true, resources: false, sampling: false },
    })
    const { outcome, sent } = await makeCall(peer, 'pay')
    expect(outcome.state).toBe('completed')
    expect(sent).toMatchObject([{ ours: { elicitation: { form: {}, url: {} }, roots: {} } }])
    expect(sent[0]?.ours).not.toHaveProperty('sampling')
  })

  test('a modern server is told of no question that its lock forbids, whatever the caller can bear', async () => {
    const server = await updatable('modern')
    const peer = openPeer(
      { transport: 'http', url: server.url, headers: {} },
      { capabilities: { elicitation: false } },
    )
    const extensions = {
      'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] },
      'io.modelcontextprotocol/tasks': {},
      'x.example/own': {},
    }
    const can = { form: true, url: true, sampling: true, roots: false, extensions }
    const { sent } = await makeCall(peer, 'pay', {}, { can })
    const { 'io.modelcontextprotocol/ui': ui } = extensions
    expect(sent).toMatchObject([
      { ours: { sampling: {}, extensions: { 'io.modelcontextprotocol/ui': ui } } },
    ])
    const { ours } = sent[0] as { readonly ours: { readonly extensions: object } }
    expect(Object.keys(ours)).toEqual(['sampling', 'extensions'])
    expect(Object.keys(ours.extensions)).toEqual(['io.modelcontextprotocol/ui'])
  })
})
