/** Streams of a session: the one for news, and those of calls that are come back to. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, test } from 'vitest'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import { asks } from './testing/questions.ts'
import { readEvents } from './testing/read-events.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import { callOnSession, openSession } from './testing/session-caller.ts'
import {
  dig,
  openTestDoor,
  readResponse,
  until,
  type TestDoorOptions,
} from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function open(tools: readonly Scripted[], limits: TestDoorOptions['limits'] = {}) {
  const house = createScriptedHouse(tools)
  const server = await openTestDoor(house, { limits: { drainMs: 50, ...limits } })
  closers.push(server.close)
  return { house, ...server }
}

const CALL = (id: number, name: string) => ({
  id,
  method: 'tools/call',
  params: { name, _meta: { progressToken: 't' } },
})

/** A tool that counts to one, waits, counts to two, and answers. */
function counts(gate: Promise<unknown>, text = 'counted'): Scripted {
  return {
    kind: 'tool',
    exposed: 'counts',
    run: async (_call, exchange) => {
      const progress = (value: number) =>
        exchange.emit({
          kind: 'progress',
          native: mcpNative(encodeJson({ progressToken: 1, progress: value }), '2025-11-25'),
        })
      await progress(1)
      await gate
      await progress(2)
      return completed({ content: [{ type: 'text', text }] })
    },
  }
}

const progressOf = (message: unknown) => dig(message, 'params', 'progress')
const textOf = (message: unknown) => dig(message, 'result', 'content', 0, 'text')

describe('a call whose stream broke', () => {
  test('goes on, and its caller gets what it missed and the rest, in order', async () => {
    const gate = Promise.withResolvers<void>()
    const { url, house } = await open([counts(gate.promise)])
    const caller = await openSession(url)
    const leave = new AbortController()
    const events = readEvents(await caller.begin(CALL(1, 'counts'), leave.signal))
    const [primer, first] = [await events.next(), await events.next()]
    expect([primer.data, progressOf(first.message)]).toEqual(['', 1])
    leave.abort()
    gate.resolve()
    await until(() => house.calls.length === 1)

    // From the priming event on, and once more from the first one on: each time what came after.
    const all = await (await caller.events(primer.id)).rest()
    const later = await (await caller.events(first.id)).rest()

    const shown = (list: typeof all) =>
      list
        .filter(({ data }) => data !== '')
        .map(({ message }) => progressOf(message) ?? textOf(message))
    expect(shown(all)).toEqual([1, 2, 'counted'])
    expect(shown(later)).toEqual([2, 'counted'])
    expect(dig(all.at(-1)?.message, 'id')).toBe(1)
  })

  test('is answered on the connection that came back while it ran', async () => {
    const gate = Promise.withResolvers<void>()
    const { url } = await open([counts(gate.promise)])
    const caller = await openSession(url)
    const leave = new AbortController()
    const events = readEvents(await caller.begin(CALL(1, 'counts'), leave.signal))
    const first = (await events.next()).id
    leave.abort()
    const resumed = await caller.events(first)
    expect((await resumed.next()).data).toBe('')
    expect(progressOf((await resumed.next()).message)).toBe(1)
    gate.resolve()

    const rest = await resumed.rest()
    expect([progressOf(rest[0]?.message), textOf(rest[1]?.message)]).toEqual([2, 'counted'])
  })

  test('is asked on the connection that came back, once', async () => {
    const { url } = await open([asks('form')])
    const caller = await openSession(url, { capabilities: { elicitation: {} } })
    const leave = new AbortController()
    const events = readEvents(await caller.begin(CALL(1, 'ask_form'), leave.signal))
    const primer = await events.next()
    const question = await events.next()
    leave.abort()
    const resumed = await caller.events(primer.id)
    await resumed.next()
    const again = await resumed.next()
    expect(again).toEqual(question)
    await caller.post({ id: dig(again.message, 'id'), result: { action: 'decline' } })

    expect(textOf((await resumed.next()).message)).toMatch(/"action":"decline"/)
  })

  test('is asked on the session’s own stream when that is where the caller is', async () => {
    const gate = Promise.withResolvers<void>()
    const form = asks('form')
    const late: Scripted = {
      ...form,
      run: async (...args) => {
        await gate.promise
        return form.run?.(...args) ?? completed({})
      },
    }
    const { url } = await open([late], { resumableAfterMs: 5 })
    const caller = await openSession(url, { capabilities: { elicitation: {} } })
    const own = await caller.events()
    await own.next()
    const leave = new AbortController()
    const events = readEvents(await caller.begin(CALL(1, 'ask_form'), leave.signal))
    const primer = await events.next()
    leave.abort()
    // The connection is seen to be gone before the question comes.
    await until(async () => (await caller.post({ id: 2, method: 'ping' })).status === 200)
    await new Promise((resolve) => setImmediate(resolve))
    gate.resolve()
    const question = await own.next()
    await caller.post({ id: dig(question.message, 'id'), result: { action: 'cancel' } })
    const rest = await (await caller.events(primer.id)).rest()

    expect(dig(question.message, 'method')).toBe('elicitation/create')
    expect(rest.map(({ message }) => textOf(message)).at(-1)).toMatch(/"action":"cancel"/)
    expect(rest.filter(({ data }) => data.includes('elicitation/create'))).toEqual([])
    await own.cancel()
  })

  test('an answer too large to be kept is said to be lost, not left out', async () => {
    const gate = Promise.withResolvers<void>()
    const { url } = await open([counts(gate.promise, 'x'.repeat(100_000))], {
      maxReplayBytes: 20_000,
    })
    const caller = await openSession(url)
    const leave = new AbortController()
    const events = readEvents(await caller.begin(CALL(1, 'counts'), leave.signal))
    const primer = await events.next()
    leave.abort()
    const resumed = await caller.events(primer.id)
    await resumed.cancel()
    gate.resolve()
    const rest = await (await caller.events(primer.id)).rest()

    expect(rest.at(-1)?.message).toMatchObject({ id: 1, error: { code: -32603 } })
  })
})

describe('the end of a session', () => {
  test.each([
    ['2025-11-25', 60_000],
    ['2025-06-18', 60_000],
    ['2025-06-18', 5],
  ])(
    'stops a call of %s that was not shown, which says how that went (%i ms)',
    async (revision, streamAfterMs) => {
      const stopped: Scripted = {
        kind: 'tool',
        exposed: 'waits',
        run: async (_call, exchange) => {
          if (!exchange.signal.aborted) await once(exchange.signal, 'abort')
          return completed({ content: [{ type: 'text', text: String(exchange.stopReason()) }] })
        },
      }
      const { url, house } = await open([stopped], {
        streamAfterMs,
        resumableAfterMs: streamAfterMs,
      })
      const caller = await openSession(url, { revision })
      const running = caller.begin(CALL(1, 'waits'))
      await until(() => house.calls.length === 1)
      // Its headers are there once the stream has begun.
      if (streamAfterMs < 100) await running
      expect(await caller.end()).toBe(204)

      expect(textOf((await readResponse(await running)).body)).toBe('caller_canceled')
    },
  )
})

describe('event ids', () => {
  test('are of one session; another one’s, and what is none, open nothing', async () => {
    const gate = Promise.withResolvers<void>()
    const { url } = await open([counts(gate.promise)])
    const [one, other] = [await openSession(url), await openSession(url)]
    const events = readEvents(await one.begin(CALL(1, 'counts')))
    const primer = await events.next()
    // One of before a restart is said to be lost; one of another session is nobody's here.
    for (const wrong of [
      primer.id,
      'nonsense',
      `${primer.id}x.y.z`,
      'c.1',
      `c${'A'.repeat(16)}.1`,
    ]) {
      expect((await other.listen(wrong)).status).toBe(400)
    }
    gate.resolve()
    const stolen = callOnSession(url, { ...one.headers, 'x-test-principal': 'eve' })
    expect((await stolen.listen(primer.id)).status).toBe(404)
    await events.rest()
  })

  test('no two events of a session have one in common', async () => {
    const { url } = await open([counts(Promise.resolve())])
    const caller = await openSession(url)
    const answers = await Promise.all(
      [1, 2, 3].map(async (id) => readEvents(await caller.begin(CALL(id, 'counts'))).rest()),
    )
    const messages = answers.flat().filter(({ data }) => data !== '')

    expect(messages).toHaveLength(9)
    expect(new Set(messages.map(({ id }) => id)).size).toBe(9)
  })

  test('older revisions get no event without content, which they would take for a message', async () => {
    const { url } = await open([counts(Promise.resolve())])
    const caller = await openSession(url, { revision: '2025-06-18' })
    const events = await readEvents(await caller.begin(CALL(1, 'counts'))).rest()

    expect(events.map(({ message }) => progressOf(message) ?? textOf(message))).toEqual([
      1,
      2,
      'counted',
    ])
  })
})

describe('the session’s own stream', () => {
  test('begins with an id to come back with; a second one is refused until that is lost', async () => {
    const { url } = await open([])
    const caller = await openSession(url)
    const own = await caller.events()
    const primer = await own.next()
    expect([primer.data, own.retryMs()]).toEqual(['', 2000])
    expect((await caller.listen()).status).toBe(409)
    const next = await caller.events(primer.id)

    expect((await next.next()).data).toBe('')
    expect(await own.rest()).toEqual([])
    expect((await caller.listen()).status).toBe(409)
    await next.cancel()
    await until(async () => {
      const response = await caller.listen()
      await response.body?.cancel()
      return response.status === 200
    })
  })

  test('is kept alive by comments, is not buffered, and is no request in flight', async () => {
    const { url, port } = await open([], { keepAliveMs: 10, maxInFlight: 1 })
    const caller = await openSession(url)
    const socket = connect(port, '127.0.0.1')
    closers.push(async () => socket.destroy())
    const lines = ['Host: 127.0.0.1', 'Accept: text/event-stream', 'Connection: close']
    const { 'mcp-session-id': id } = caller.headers
    socket.write(`GET /mcp HTTP/1.1\r\n${lines.join('\r\n')}\r\nMcp-Session-Id: ${id}\r\n\r\n`)
    let text = ''
    socket.on('data', (chunk) => {
      text += String(chunk)
    })
    await until(() => text.split('\n:\n').length > 3)

    expect(text).toMatch(/x-accel-buffering: no/i)
    expect((await caller.post({ id: 1, method: 'ping' })).status).toBe(200)
    expect(await caller.end()).toBe(204)
    await once(socket, 'close')
  })

  test.each([
    [
      'without a session',
      405,
      (headers: Record<string, string>) => ({ ...headers, 'mcp-session-id': undefined }),
    ],
    [
      'on one that is not there',
      404,
      (headers: Record<string, string>) => ({ ...headers, 'mcp-session-id': 'x' }),
    ],
    [
      'for something else',
      406,
      (headers: Record<string, string>) => ({ ...headers, accept: 'application/json' }),
    ],
    [
      'of the modern era',
      405,
      (headers: Record<string, string>) => ({ ...headers, 'mcp-protocol-version': '2026-07-28' }),
    ],
  ])('is not opened %s: %i', async (_when, status, change) => {
    const { url } = await open([])
    const { headers } = await openSession(url)
    const { 'content-type': _type, ...rest } = headers
    const changed = Object.entries(change({ ...rest, accept: 'text/event-stream' }))
    const sent = changed.filter((entry): entry is [string, string] => entry[1] !== undefined)
    const response = await fetch(url, { headers: Object.fromEntries(sent) })

    expect(response.status).toBe(status)
    await response.body?.cancel()
  })
})

describe('polling', () => {
  test('a call that takes long is not held: its stream ends, and the caller comes back for the answer', async () => {
    const gate = Promise.withResolvers<void>()
    const { url } = await open([counts(gate.promise)], { pollAfterMs: 40, resumableAfterMs: 5 })
    const caller = await openSession(url)
    const first = readEvents(await caller.begin(CALL(1, 'counts')))
    const before = await first.rest()
    const again = await (await caller.events(before.at(-1)?.id)).rest()
    gate.resolve()
    const last = await (await caller.events(again.at(-1)?.id)).rest()

    expect(before.map(({ message }) => progressOf(message))).toEqual([undefined, 1])
    expect(again.map(({ data }) => data)).toEqual([''])
    expect(textOf(last.at(-1)?.message)).toBe('counted')
  })

  test('the v1 client does so by itself, and is asked meanwhile', async () => {
    const { url } = await open([asks('form')], { pollAfterMs: 20, resumableAfterMs: 1, retryMs: 5 })
    const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: { elicitation: {} } })
    let returns = 0
    const counting: typeof fetch = (at, init) => {
      if (new Headers(init?.headers).has('last-event-id')) returns += 1
      return fetch(at, init)
    }
    client.setRequestHandler(ElicitRequestSchema, async () => {
      await until(() => returns >= 2)
      return { action: 'accept', content: { language: 'zh' } }
    })
    const transport = new TransportV1(new URL(url), { fetch: counting })
    await client.connect(transport as unknown as Transport)
    closers.push(() => client.close())
    const result = await client.callTool({ name: 'ask_form' })

    expect(textOf({ result })).toMatch(/"language":"zh"/)
  })
})

test('the v1 client goes on with a call from another process’s resumption token', async () => {
  const gate = Promise.withResolvers<void>()
  const { url } = await open([counts(gate.promise)])
  const before = new ClientV1({ name: 'v1', version: '1' })
  const transport = new TransportV1(new URL(url))
  await before.connect(transport as unknown as Transport)
  let token: string | undefined
  const request = { method: 'tools/call', params: { name: 'counts' } } as const
  const lost = before.request(request, CallToolResultSchema, {
    onresumptiontoken: (next) => {
      token = next
    },
  })
  lost.catch(() => undefined)
  await until(() => token !== undefined)
  const { sessionId } = transport
  if (sessionId === undefined || token === undefined) throw new Error('no session')
  await before.close()
  const after = new ClientV1({ name: 'v1', version: '1' })
  const resumed = new TransportV1(new URL(url), { sessionId })
  resumed.setProtocolVersion('2025-11-25')
  await after.connect(resumed as unknown as Transport)
  closers.push(() => after.close())
  const result = after.request(request, CallToolResultSchema, { resumptionToken: token })
  gate.resolve()

  expect((await result).content).toEqual([{ type: 'text', text: 'counted' }])
})

test('callers that come back are kept their answers within one bound for all: the oldest ended ones go first', async () => {
  const { url } = await open([counts(Promise.resolve(), 'x'.repeat(3000))], {
    maxReplayBytes: 20_000,
  })
  const caller = await openSession(url)
  const primers: (string | undefined)[] = []
  for (let id = 1; id <= 10; id += 1) {
    const [primer] = await readEvents(await caller.begin(CALL(id, 'counts'))).rest()
    primers.push(primer?.id)
  }
  const answers = []
  for (const primer of primers) {
    const rest = await (await caller.events(primer)).rest()
    answers.push(textOf(rest.at(-1)?.message) === undefined ? 'lost' : 'kept')
  }

  expect(answers[0]).toBe('lost')
  expect(answers.at(-1)).toBe('kept')
  expect(answers.filter((answer) => answer === 'kept').length).toBeLessThanOrEqual(7)
})
