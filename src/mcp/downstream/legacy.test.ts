/** The legacy era over HTTP: sessions, what they are bound to, and the methods that only they have. */
import { afterEach, describe, expect, test } from 'vitest'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import {
  dig,
  initialize,
  openTestDoor,
  readResponse,
  until,
  type TestDoorOptions,
} from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function open(capabilities: readonly Scripted[] = [], options: TestDoorOptions = {}) {
  const house = createScriptedHouse(capabilities)
  const server = await openTestDoor(house, options)
  closers.push(server.close)
  return { house, ...server }
}

async function openSession(url: string, extra: Record<string, string> = {}) {
  const { session, headers } = await initialize(url)
  return { ...headers, 'mcp-session-id': session, ...extra }
}

async function post(url: string, headers: Record<string, string>, message: object) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })
  return readResponse(await fetch(url, { method: 'POST', headers, body }))
}

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

describe('initialize', () => {
  test.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
    ['nonsense', '2025-11-25'],
  ])('asked for %s agrees on %s', async (asked, agreed) => {
    const { url } = await open()
    const { headers, body } = await post(url, HEADERS, {
      method: 'initialize',
      params: { protocolVersion: asked, capabilities: {}, clientInfo: { name: 't', version: '1' } },
    })

    expect(dig(body, 'result')).toEqual({
      protocolVersion: agreed,
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true },
        prompts: { listChanged: true },
        logging: {},
      },
      serverInfo: { name: 'test-door', version: '1.0.0' },
      instructions: 'Handle with care.',
    })
    expect(headers.get('mcp-session-id')).toMatch(/^[\w-]{32}$/)
  })

  test('without a version it is refused and opens nothing', async () => {
    const { url } = await open()
    const { headers, body } = await post(url, HEADERS, { method: 'initialize', params: {} })

    expect(dig(body, 'error', 'code')).toBe(-32602)
    expect(headers.get('mcp-session-id')).toBeNull()
  })

  test('twice in one session is refused', async () => {
    const { url } = await open()
    const headers = await openSession(url)
    const { body } = await post(url, headers, {
      method: 'initialize',
      params: { protocolVersion: '2025-11-25' },
    })

    expect(dig(body, 'error', 'code')).toBe(-32600)
  })
})

describe('sessions', () => {
  test('a missing one is 400, an unknown one 404, an ended one 404', async () => {
    const { url } = await open()
    const headers = await openSession(url)
    const list = { method: 'tools/list' }
    const { 'mcp-session-id': _session, ...bare } = headers

    expect((await post(url, bare, list)).status).toBe(400)
    expect((await post(url, { ...headers, 'mcp-session-id': 'x'.repeat(32) }, list)).status).toBe(
      404,
    )
    expect((await post(url, headers, list)).status).toBe(200)
    expect((await fetch(url, { method: 'DELETE', headers })).status).toBe(204)
    expect((await post(url, headers, list)).status).toBe(404)
    expect((await fetch(url, { method: 'DELETE', headers })).status).toBe(404)
  })

  test('another principal does not find it, nor can it end it', async () => {
    const { url } = await open()
    const headers = await openSession(url)
    const stolen = { ...headers, 'x-test-principal': 'eve' }

    expect((await post(url, stolen, { method: 'ping' })).status).toBe(404)
    expect((await fetch(url, { method: 'DELETE', headers: stolen })).status).toBe(404)
    expect((await post(url, headers, { method: 'ping' })).status).toBe(200)
  })

  test('one unused for too long is gone; use keeps it', async () => {
    let now = 0
    const { url } = await open([], { now: () => now, limits: { sessionIdleMs: 1000 } })
    const headers = await openSession(url)
    now += 900
    expect((await post(url, headers, { method: 'ping' })).status).toBe(200)
    now += 900
    expect((await post(url, headers, { method: 'ping' })).status).toBe(200)
    now += 1001
    expect((await post(url, headers, { method: 'ping' })).status).toBe(404)
  })

  test('when all places are taken the one unused for longest makes room, unless all are at work', async () => {
    const gate = Promise.withResolvers<void>()
    const slow: Scripted = {
      kind: 'tool',
      exposed: 'slow',
      run: async () => {
        await gate.promise
        return completed({ content: [] })
      },
    }
    const { url, house } = await open([slow], { limits: { maxSessions: 2 } })
    const [first, second] = [await openSession(url), await openSession(url)]
    await post(url, first, { method: 'ping' })
    const third = await openSession(url)
    const ping = { method: 'ping' }

    expect((await post(url, second, ping)).status).toBe(404)
    expect((await post(url, first, ping)).status).toBe(200)
    const call = { method: 'tools/call', params: { name: 'slow' } }
    const running = [post(url, first, call), post(url, third, call)]
    await until(() => house.calls.length === 2)
    const refused = await post(url, HEADERS, {
      method: 'initialize',
      params: { protocolVersion: '2025-11-25' },
    })

    expect(refused.status).toBe(503)
    gate.resolve()
    for (const answer of await Promise.all(running)) expect(answer.status).toBe(200)
  })

  test('a version header that is not served is 400', async () => {
    const { url } = await open()
    const headers = await openSession(url, { 'mcp-protocol-version': '2024-11-05' })

    expect((await post(url, headers, { method: 'tools/list' })).status).toBe(400)
  })
})

describe('R030: without a session', () => {
  const BARE = { ...HEADERS, 'mcp-protocol-version': '2025-06-18' }

  test('requests are served alone, and nothing is remembered', async () => {
    const { url, house } = await open([{ kind: 'tool', exposed: 'tool' }])
    const level = { method: 'logging/setLevel', params: { level: 'error' } }
    const call = { method: 'tools/call', params: { name: 'tool' } }

    expect((await post(url, BARE, { method: 'tools/list' })).body).toHaveProperty('result.tools')
    expect(dig((await post(url, BARE, level)).body, 'error', 'code')).toBe(-32600)
    const { headers } = await post(url, BARE, call)
    expect(headers.get('mcp-session-id')).toBeNull()
    expect(house.calls.map(({ door, native }) => [door, native.value()])).toEqual([
      ['mcp 2025-06-18 http', { name: 'tool' }],
    ])
  })

  test('a principal that was issued a session has to name it, until it ended it; others need not', async () => {
    const { url } = await open()
    const headers = await openSession(url)
    const list = { method: 'tools/list' }

    expect((await post(url, BARE, list)).status).toBe(400)
    expect((await post(url, { ...BARE, 'x-test-principal': 'bob' }, list)).status).toBe(200)
    await fetch(url, { method: 'DELETE', headers })
    expect((await post(url, BARE, list)).status).toBe(200)
  })

  test('a call is canceled by its id when that names one call of its principal, and only then', async () => {
    const seen: string[] = []
    const waits: Scripted = {
      kind: 'tool',
      exposed: 'waits',
      run: async (call, exchange) => {
        seen.push(`${call.principal.id} runs`)
        await new Promise((resolve) => exchange.signal.addEventListener('abort', resolve))
        seen.push(`${call.principal.id} ${exchange.stopReason()}`)
        return completed({ content: [] })
      },
    }
    const { url } = await open([waits], { limits: { drainMs: 50 } })
    const call = { method: 'tools/call', params: { name: 'waits' } }
    const cancel = { id: undefined, method: 'notifications/cancelled', params: { requestId: 1 } }
    const as = (id: string) => ({ ...BARE, 'x-test-principal': id })
    const running = ['alice', 'bob', 'bob'].map((id) => post(url, as(id), call))
    await until(() => seen.length === 3)
    for (const id of ['eve', 'bob', 'alice']) {
      expect((await post(url, as(id), cancel)).status).toBe(202)
    }
    await running[0]

    expect(seen.slice(3)).toEqual(['alice caller_canceled'])
  })
})

describe('methods', () => {
  test.each([
    'server/discover',
    'resources/subscribe',
    'completion/complete',
    'no/such',
    'toString',
  ])('%s is -32601 in a body of 200, as session clients read it', async (method) => {
    const { url } = await open()
    const { status, body } = await post(url, await openSession(url), { method })

    expect([status, dig(body, 'error', 'code')]).toEqual([200, -32601])
  })

  test('ping is empty, a level is kept and said to peers, a wrong one refused', async () => {
    const { url, house } = await open([{ kind: 'tool', exposed: 'tool' }])
    const headers = await openSession(url)

    expect(dig((await post(url, headers, { method: 'ping' })).body, 'result')).toEqual({})
    const loud = { method: 'logging/setLevel', params: { level: 'loud' } }
    expect(dig((await post(url, headers, loud)).body, 'error', 'code')).toBe(-32602)
    const level = { method: 'logging/setLevel', params: { level: 'error' } }
    expect(dig((await post(url, headers, level)).body, 'result')).toEqual({})
    await post(url, headers, { method: 'tools/call', params: { name: 'tool', _meta: { a: 1 } } })
    expect(house.calls[0]?.native.value()).toEqual({
      name: 'tool',
      _meta: { a: 1, 'io.modelcontextprotocol/logLevel': 'error' },
    })
  })

  test('logs come from the level of the session on', async () => {
    const log = (level: string) =>
      mcpNative(encodeJson({ level, data: `a ${level}` }), '2025-11-25')
    const talks: Scripted = {
      kind: 'tool',
      exposed: 'talks',
      run: async (_call, exchange) => {
        await exchange.emit({ kind: 'log', native: log('info') })
        await exchange.emit({ kind: 'log', native: log('error') })
        return completed({ content: [] })
      },
    }
    const { url } = await open([talks])
    const headers = await openSession(url)
    const call = { method: 'tools/call', params: { name: 'talks' } }
    const before = await post(url, headers, call)
    await post(url, headers, { method: 'logging/setLevel', params: { level: 'warning' } })
    const after = await post(url, headers, call)

    expect([before.text.includes('a info'), before.text.includes('a error')]).toEqual([true, true])
    expect([after.text.includes('a info'), after.text.includes('a error')]).toEqual([false, true])
  })

  test('an output schema that is no object is left out of the list', async () => {
    const tools = [{ type: 'array' }, { type: 'object' }].map((outputSchema, index): Scripted => ({
      kind: 'tool',
      exposed: `t${index}`,
      definition: { outputSchema },
    }))
    const { url } = await open(tools)
    const { body } = await post(url, await openSession(url), { method: 'tools/list' })

    expect(dig(body, 'result')).toEqual({
      tools: [
        { name: 't0', inputSchema: { type: 'object' } },
        { name: 't1', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } },
      ],
    })
  })

  test('an id that is still running is refused and leaves the first one alone', async () => {
    const gate = Promise.withResolvers<void>()
    const slow: Scripted = {
      kind: 'tool',
      exposed: 'slow',
      run: async () => {
        await gate.promise
        return completed({ content: [] })
      },
    }
    const { url, house } = await open([slow])
    const headers = await openSession(url)
    const call = { method: 'tools/call', params: { name: 'slow' } }
    const first = post(url, headers, call)
    await until(() => house.calls.length === 1)
    const second = await post(url, headers, call)

    expect(dig(second.body, 'error', 'code')).toBe(-32600)
    gate.resolve()
    expect(dig((await first).body, 'result', 'content')).toEqual([])
  })

  test('a result or error that is posted answers nothing and is 202', async () => {
    const { url } = await open()
    const headers = await openSession(url)
    const body = '{"jsonrpc":"2.0","id":5,"result":{}}'
    const response = await fetch(url, { method: 'POST', headers, body })

    expect([response.status, await response.text()]).toEqual([202, ''])
  })
})
