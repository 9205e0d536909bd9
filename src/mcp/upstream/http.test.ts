import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  listen,
  listenLegacy,
  listenModern,
  makeCall,
  openPeer,
  reply,
  until,
  valueOf,
  type Message,
} from '../../../test/mcp/upstream-peer.ts'

const http = (url: string, headers: Record<string, string> = {}) =>
  ({ transport: 'http', url, headers }) as const

describe('C50: what may have run is unknown, and never sent again', () => {
  test('a: the socket is reset after the act', async () => {
    let paid = 0
    const url = await listenLegacy(({ method }, response, request) => {
      if (method !== 'tools/call') return false
      paid += 1
      if (paid === 1) request.socket.resetAndDestroy()
      else reply(response, { id: 0, method }, {})
      return paid === 1
    })
    const peer = openPeer(http(url))
    const { outcome, sent } = await makeCall(peer, 'pay')
    expect(outcome).toMatchObject({ state: 'unknown', because: 'sent_no_answer' })
    expect([paid, sent.length]).toEqual([1, 1])
  })

  test('b: 404 "session not found" after the act; a new session serves the next call', async () => {
    let paid = 0
    let sessions = 0
    const url = await listenLegacy((message, response) => {
      if (message.method === 'initialize') {
        sessions += 1
        response.setHeader('mcp-session-id', `s${sessions}`)
        return false
      }
      if (message.method !== 'tools/call') return false
      paid += 1
      if (paid > 1) return false
      reply(
        response,
        message,
        { id: null, error: { code: -32001, message: 'Session not found' } },
        404,
      )
      return true
    })
    const peer = openPeer(http(url))
    expect((await makeCall(peer, 'pay')).outcome).toMatchObject({
      state: 'unknown',
      because: 'peer_unclear',
    })
    expect(paid).toBe(1)
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    expect([paid, sessions]).toEqual([2, 2])
  })

  test('a stream that ends before the answer', async () => {
    const url = await listenModern((_message, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(': working\n\n')
    })
    expect((await makeCall(openPeer(http(url)), 'pay')).outcome).toMatchObject({
      state: 'unknown',
      because: 'sent_no_answer',
    })
  })

  test.each([500, 502, 503, 400, 404])('a bare status %i', async (status) => {
    const url = await listenModern(
      (_message, response) => void response.writeHead(status).end('oops'),
    )
    expect((await makeCall(openPeer(http(url)), 'pay')).outcome).toMatchObject({
      state: 'unknown',
      because: 'peer_unclear',
    })
  })
})

test.each([405, 413, 415, 429, 431])('a bare status %i says that nothing ran', async (status) => {
  const url = await listenModern((_message, response) => void response.writeHead(status).end())
  expect((await makeCall(openPeer(http(url)), 'pay')).outcome).toMatchObject({
    state: 'failed',
    ran: 'no',
  })
})

test.each([401, 403])(
  '%i says which setting to change, while connecting and while calling',
  async (status) => {
    const closed = await listen((_request, response) => void response.writeHead(status).end())
    const expected = {
      state: 'failed',
      ran: 'no',
      code: 'credentials_missing',
      detail: expect.stringContaining('set its `headers:` in the configuration') as string,
    }
    expect((await makeCall(openPeer(http(closed)), 'pay')).outcome).toMatchObject(expected)
    const url = await listenModern((_message, response) => void response.writeHead(status).end())
    expect((await makeCall(openPeer(http(url)), 'pay')).outcome).toMatchObject(expected)
  },
)

describe('headers', () => {
  test('mirror the body; configured ones travel but cannot override', async () => {
    let seen: Readonly<Record<string, unknown>> = {}
    const url = await listenModern((message, response, headers) => {
      seen = headers
      reply(response, message, { result: { resultType: 'complete', content: [] } })
    })
    const peer = openPeer(
      http(url, { Authorization: 'Bearer t', 'MCP-Method': 'tools/list', Accept: 'text/html' }),
    )
    expect((await makeCall(peer, 'zählen')).outcome.state).toBe('completed')
    expect(seen).toMatchObject({
      authorization: 'Bearer t',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': '=?base64?esOkaGxlbg==?=',
    })
  })

  test('annotated arguments become Mcp-Param headers; a tool with a bad annotation is left out', async () => {
    let seen: Readonly<Record<string, unknown>> = {}
    const schema = (annotation: string) => ({
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': annotation } },
    })
    const url = await listenModern(
      (message, response, headers) => {
        seen = headers
        reply(response, message, { result: { resultType: 'complete', content: [] } })
      },
      [
        { name: 'good', inputSchema: schema('Region') },
        { name: 'bad', inputSchema: schema('no token') },
      ],
    )
    const peer = openPeer(http(url))
    const listing = await peer.listing()
    expect(listing.capabilities.map(({ name }) => name)).toEqual(['good'])
    expect(listing.leftOut).toMatchObject([
      { name: 'bad', reason: expect.stringContaining('x-mcp-header') as string },
    ])
    await makeCall(peer, 'good', { region: 'eu' })
    expect(seen['mcp-param-region']).toBe('eu')
  })

  test('refused headers mean another definition: the list is asked for before the next call', async () => {
    const tool = (annotation: string) => ({
      name: 'pay',
      inputSchema: {
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': annotation } },
      },
    })
    const tools = [tool('Region')]
    let calls = 0
    const url = await listenModern((message, response) => {
      calls += 1
      reply(response, message, { error: { code: -32_020, message: 'Mcp-Param-Area missing' } }, 400)
    }, tools)
    const peer = openPeer(http(url))
    const { fingerprint } = (await peer.listing()).capabilities[0]!
    let changes = 0
    peer.onChanged(() => (changes += 1))
    tools[0] = tool('Area')
    const refused = await makeCall(peer, 'pay', { region: 'eu' }, { fingerprint })
    expect(refused.outcome).toMatchObject({ state: 'failed', ran: 'no', origin: 'peer' })
    await until('it is told', () => changes > 0)
    expect((await makeCall(peer, 'pay', {}, { fingerprint })).outcome).toMatchObject({
      state: 'failed',
      code: 'pin_changed',
    })
    expect(calls).toBe(1)
  })

  test('a session and its revision are carried on every later message and ended on close', async () => {
    const seen: unknown[] = []
    const url = await listen((request, response, body) => {
      seen.push([
        request.method,
        request.headers['mcp-session-id'],
        request.headers['mcp-protocol-version'],
      ])
      if (request.method === 'DELETE') return void response.writeHead(200).end()
      if (request.method === 'GET') return void response.writeHead(405).end()
      const message = JSON.parse(body) as Message
      if (message.method === 'server/discover') return void response.writeHead(400).end()
      if (message.id === undefined) return void response.writeHead(202).end()
      if (message.method === 'initialize') {
        // As the official servers answer: a stream, primed by an empty event.
        response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': 'abc' })
        const result = { protocolVersion: '2025-11-25', capabilities: {} }
        return void response.end(
          `id: 1\ndata: \n\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n\n`,
        )
      }
      reply(response, message, { result: { content: [] } })
    })
    const peer = openPeer(http(url))
    await makeCall(peer, 'pay')
    await peer.close()
    const gets = seen.filter((one) => (one as string[])[0] === 'GET')
    expect(gets).toEqual([['GET', 'abc', '2025-11-25']])
    expect(seen.filter((one) => !gets.includes(one))).toEqual([
      ['POST', undefined, '2026-07-28'],
      ['POST', undefined, undefined],
      ['POST', 'abc', '2025-11-25'],
      ['POST', 'abc', '2025-11-25'],
      ['DELETE', 'abc', '2025-11-25'],
    ])
  })
})

describe('C42: event streams in the shapes of the field', () => {
  const file = new URL(
    '../../../test/cases/C42-sse-comments-retry-multiline-crlf.json',
    import.meta.url,
  )
  const { given } = JSON.parse(readFileSync(file, 'utf8')) as { given: { body: string } }
  test.each([
    ['as given', given.body],
    ['LF only', given.body.replaceAll('\r\n', '\n')],
    ['no space after data:', given.body.replaceAll('data: ', 'data:')],
    ['no event field', given.body.replace('event: message\r\n', '')],
    ['unknown field', given.body.replace('id: 7', 'foo: bar')],
    ['empty data event before the answer', `data:\r\n\r\n${given.body}`],
    ['event: ping with data 1', `event: ping\r\ndata: 1\r\n\r\n${given.body}`],
    ['cut into single bytes', given.body],
  ])('%s', async (variant, body) => {
    const url = await listenModern((message, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
      const bytes = Buffer.from(body.replace('"id":2', `"id":${message.id}`))
      if (variant !== 'cut into single bytes') return void response.end(bytes)
      for (const byte of bytes) response.write(Uint8Array.of(byte))
      response.end()
    })
    const { outcome } = await makeCall(openPeer(http(url)), 'pay')
    expect(valueOf(outcome)).toEqual({ content: [{ type: 'text', text: 'ok' }] })
  })
})

describe('streams', () => {
  test('progress and logs come in order before the outcome; other ids are dropped', async () => {
    const url = await listenModern((message, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const meta = message.params?._meta as { progressToken: number }
      const event = (body: object) =>
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...body })}\n\n`)
      for (let progress = 1; progress <= 100; progress += 1) {
        event({
          method: 'notifications/progress',
          params: { progressToken: meta.progressToken, progress },
        })
      }
      event({ method: 'notifications/message', params: { level: 'info', data: 1 } })
      event({ id: 424242, result: {} })
      event({ id: String(message.id), result: { resultType: 'complete', content: [] } })
      event({
        method: 'notifications/progress',
        params: { progressToken: meta.progressToken, progress: 101 },
      })
    })
    const peer = openPeer(http(url))
    const params = '{"name":"x","_meta":{"progressToken":1}}'
    const { outcome, events } = await makeCall(
      peer,
      'pay',
      {},
      {
        params,
        onEvent: () => new Promise((resolve) => setImmediate(resolve)),
      },
    )
    expect(outcome.state).toBe('completed')
    expect(events).toHaveLength(101)
    expect(peer.counts()).toMatchObject({ stray: 1, nonConforming: 1 })
  })

  test('canceling a modern call closes its stream, which is the cancel', async () => {
    let closed = false
    const url = await listenModern((_message, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(': hold\n\n')
      response.on('close', () => {
        closed = true
      })
    })
    const stop = new AbortController()
    const { outcome } = await makeCall(
      openPeer(http(url)),
      'pay',
      {},
      {
        signal: stop.signal,
        onSend: () => setTimeout(() => stop.abort(), 50),
      },
    )
    expect(outcome).toMatchObject({ state: 'unknown', because: 'cancel_unconfirmed' })
    await until('the server saw the end', () => closed)
  })

  test('canceling a legacy call is said by a notification', async () => {
    const canceled: unknown[] = []
    const url = await listenLegacy(({ method, params }) => {
      if (method === 'notifications/cancelled') canceled.push(params?.requestId)
      return method === 'tools/call'
    })
    const stop = new AbortController()
    const { sent } = await makeCall(
      openPeer(http(url)),
      'pay',
      {},
      {
        signal: stop.signal,
        onSend: () => setTimeout(() => stop.abort(), 50),
      },
    )
    await until('the server was told', () => canceled.length === 1)
    expect(canceled).toEqual([Number(sent[0]!.wireId)])
  })
})

describe('redirects', () => {
  test('within the origin 308 keeps the method and is followed, and remembered', async () => {
    const paths: string[] = []
    const url = await listen((request, response, body) => {
      paths.push(request.url ?? '')
      if (request.url === '/mcp') return void response.writeHead(308, { location: '/mcp/' }).end()
      const message = JSON.parse(body) as Message
      const result =
        message.method === 'server/discover'
          ? { supportedVersions: ['2026-07-28'], capabilities: {} }
          : { content: [] }
      reply(response, message, { result: { resultType: 'complete', ...result } })
    })
    const peer = openPeer(http(`${url}/mcp`))
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    expect(paths).toEqual(['/mcp', '/mcp/', '/mcp/'])
  })

  test.each([
    [307, { state: 'failed', ran: 'no' }],
    [308, { state: 'failed', ran: 'no' }],
    [300, { state: 'unknown', because: 'peer_unclear' }],
    [301, { state: 'unknown', because: 'peer_unclear' }],
    [302, { state: 'unknown', because: 'peer_unclear' }],
    [303, { state: 'unknown', because: 'peer_unclear' }],
  ])('a call answered %i is sent once, wherever it points', async (status, expected) => {
    let calls = 0
    const url = await listenModern((_message, response) => {
      calls += 1
      response.writeHead(status, { location: '/else' }).end()
    })
    const { outcome } = await makeCall(openPeer(http(url)), 'pay')
    expect(outcome).toMatchObject(expected)
    expect(outcome).toHaveProperty('detail', expect.stringContaining('set `url:`'))
    expect(calls).toBe(1)
  })

  test('housekeeping is redirected once, not for ever', async () => {
    const paths: string[] = []
    const url = await listen((request, response) => {
      paths.push(request.url ?? '')
      response.writeHead(307, { location: `${request.url}x` }).end()
    })
    const { outcome } = await makeCall(openPeer(http(`${url}/a`)), 'pay')
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'peer_unreachable' })
    // The probe and the older greeting, each followed once.
    expect(paths).toEqual(['/a', '/ax', '/ax', '/axx'])
  })

  test('to another origin the credentials do not go', async () => {
    let visits = 0
    const other = await listen((_request, response) => {
      visits += 1
      response.writeHead(200).end()
    })
    const url = await listen(
      (_request, response) => void response.writeHead(307, { location: `${other}/mcp` }).end(),
    )
    const { outcome } = await makeCall(openPeer(http(url, { Authorization: 'Bearer t' })), 'pay')
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no' })
    expect(visits).toBe(0)
  })
})

describe('multi round trips', () => {
  const ask = {
    resultType: 'input_required',
    inputRequests: {
      who: {
        method: 'elicitation/create',
        params: { message: 'Who pays?', requestedSchema: { type: 'object' } },
      },
    },
    requestState: 'state-ж"',
  }

  test('questions come out with their handle; the retry carries the answers and the very state', async () => {
    const bodies: Message[] = []
    const url = await listenModern((message, response) => {
      bodies.push(message)
      const result =
        message.params?.inputResponses === undefined ? ask : { resultType: 'complete', content: [] }
      reply(response, message, { result })
    })
    const peer = openPeer(http(url))
    const params =
      '{"name":"x","arguments":{"n":1},"requestState":"forged","inputResponses":{"a":{}}}'
    const first = await makeCall(
      peer,
      'pay',
      {},
      { params: params.replace(/,"requestState.*(?=})/, ''), can: { form: true } },
    )
    if (first.outcome.state !== 'input_required') throw new Error(JSON.stringify(first.outcome))
    expect(first.outcome.questions).toMatchObject([{ kind: 'form', key: 'who', text: 'Who pays?' }])

    const { handle } = first.outcome
    const answers = [{ key: 'who', action: 'accept', data: { name: 'me' } }] as const
    const second = await makeCall(
      peer,
      'pay',
      {},
      {
        params,
        can: { form: true },
        continuation: { callId: 'c-1', handle, answers },
      },
    )
    expect(second.outcome.state).toBe('completed')
    expect(bodies[1]?.params).toMatchObject({
      requestState: 'state-ж"',
      inputResponses: { who: { action: 'accept', content: { name: 'me' } } },
      arguments: { n: 1 },
    })
    expect(bodies[0]?.id).not.toBe(bodies[1]?.id)
  })

  test('without a continuation the caller cannot hand a state of its own to the peer', async () => {
    const url = await listenModern((message, response) =>
      reply(response, message, {
        result: { resultType: 'complete', keys: Object.keys(message.params ?? {}) },
      }),
    )
    const params = '{"name":"x","requestState":"forged","inputResponses":{}}'
    const { outcome } = await makeCall(openPeer(http(url)), 'pay', {}, { params })
    expect(valueOf(outcome)).toMatchObject({ keys: ['name', '_meta'] })
  })

  test.each([
    ['a kind that was not declared', ask, {}],
    ['neither questions nor state', { resultType: 'input_required' }, { form: true }],
    ['a state that is no string', { ...ask, requestState: 7 }, { form: true }],
    ['an unknown kind', { ...ask, inputRequests: { a: { method: 'x/y' } } }, { form: true }],
  ])('%s breaks the protocol', async (_, result, can) => {
    const url = await listenModern((message, response) => reply(response, message, { result }))
    expect((await makeCall(openPeer(http(url)), 'pay', {}, { can })).outcome).toMatchObject({
      state: 'failed',
      code: 'protocol_violation',
    })
  })
})

test('a notification answered by a stream that stays open does not hold the connection up', async () => {
  const url = await listenLegacy(({ method }, response) => {
    if (method !== 'notifications/initialized') return false
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hold\n\n')
    return true
  })
  const from = performance.now()
  expect((await makeCall(openPeer(http(url)), 'pay')).outcome.state).toBe('completed')
  expect(performance.now() - from).toBeLessThan(5000)
})
