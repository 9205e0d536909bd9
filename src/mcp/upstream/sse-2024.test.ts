import type { ServerResponse } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { ListRootsResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  listen,
  makeCall,
  openPeer,
  reply,
  until,
  type Message,
} from '../../../test/mcp/upstream-peer.ts'
import { encodeJson, readValue } from '../wire/spans.ts'
import { createAnyHttpLink } from './any-http.ts'
import type { HttpOptions } from './http.ts'
import type { Link, LinkFailure, LinkRequest } from './link.ts'
import { createSseLink } from './sse-2024.ts'

type Make = typeof createAnyHttpLink

const INITIALIZE = encodeJson({
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '0' },
})

async function openLink(url: string, make: Make = createAnyHttpLink, options: HttpOptions = {}) {
  const heard: string[] = []
  const link = make({ url, headers: { 'X-Key': 'k' } }, ({ method }) => heard.push(method), options)
  onTestFinished(() => link.close())
  const answer = await ask(link, 'initialize', { params: INITIALIZE })
  link.agree({ era: 'legacy', revision: '2024-11-05' })
  await link.notify('notifications/initialized')
  return { link, heard, answer }
}

function ask(link: Link, method: string, more: Partial<LinkRequest> = {}) {
  return link.request({
    id: link.nextId(),
    method,
    params: encodeJson({}),
    followRedirect: false,
    signal: AbortSignal.timeout(15_000),
    ...more,
  })
}

async function failureOf(promise: Promise<unknown>): Promise<LinkFailure> {
  return promise.then(
    () => expect.fail('it was answered'),
    (error: LinkFailure) => error,
  )
}

/** An official v1 server of that transport: `/sse` and `/messages`. */
async function serveOfficial(
  build: (server: McpServer, stream: ServerResponse) => void,
): Promise<string> {
  const transports = new Map<string, SSEServerTransport>()
  const url = await listen((request, response, body) => {
    if (request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response)
      transports.set(transport.sessionId, transport)
      const server = new McpServer({ name: 'old', version: '1' }, { capabilities: { logging: {} } })
      build(server, response)
      void server.connect(transport)
      return
    }
    const at = new URL(request.url ?? '', 'http://localhost')
    const transport = transports.get(at.searchParams.get('sessionId') ?? '')
    if (at.pathname !== '/messages') return void response.writeHead(404).end('Cannot POST /sse')
    if (transport === undefined) return void response.writeHead(404).end('Session not found')
    void transport.handlePostMessage(request, response, JSON.parse(body))
  })
  return `${url}/sse`
}

/** One that is written out: what is posted goes to `handle` with the stream. */
function listenOld(
  handle: (message: Message, stream: ServerResponse, response: ServerResponse) => void,
  endpoint = '/messages?session=1',
): Promise<string> {
  let stream: ServerResponse | undefined
  return listen((request, response, body) => {
    if (request.method === 'GET') {
      stream = response
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return void response.write(`event: endpoint\ndata: ${endpoint}\n\n`)
    }
    if (request.url !== '/messages?session=1') return void response.writeHead(405).end()
    const message = JSON.parse(body) as Message
    if (message.method !== 'initialize') return handle(message, stream!, response)
    response.writeHead(202).end('Accepted')
    send(stream!, { id: message.id, result: { protocolVersion: '2024-11-05', capabilities: {} } })
  })
}

function send(stream: ServerResponse, body: object): void {
  stream.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...body })}\n\n`)
}

describe.each<[string, Make]>([
  ['found out by the refused POST', createAnyHttpLink],
  ['configured', createSseLink],
])('an official server of 2024-11-05, %s', (_how, make) => {
  test('answers on its stream, with progress, changes and requests of its own', async () => {
    let server: McpServer | undefined
    const url = await serveOfficial((made) => {
      server = made
      made.registerTool('ask', {}, async (extra) => {
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken: extra._meta!.progressToken!, progress: 1 },
        })
        const roots = await made.server.request({ method: 'roots/list' }, ListRootsResultSchema)
        return { content: [{ type: 'text', text: JSON.stringify(roots) }] }
      })
    })
    const { link, heard, answer } = await openLink(url, make, {
      onStray: () => Promise.resolve({ result: encodeJson({ roots: [] }) }),
    })
    expect(answer).toMatchObject({ kind: 'result' })
    const id = link.nextId()
    const events: string[] = []
    const called = await ask(link, 'tools/call', {
      id,
      params: encodeJson({ name: 'ask', arguments: {}, _meta: { progressToken: id } }),
      onNotification: ({ method }) => void events.push(method),
    })
    expect(called.kind === 'result' && readValue(called.bytes, called.result.value)).toEqual({
      content: [{ type: 'text', text: '{"roots":[]}' }],
    })
    expect(events).toEqual(['notifications/progress'])
    server!.registerTool('two', {}, () => ({ content: [] }))
    await until('it is heard', () => heard.includes('notifications/tools/list_changed'))
  })
})

describe('R047: the transport of 2024-11-05', () => {
  test('what was under way when the stream ends has no answer; the link has ended', async () => {
    const url = await listenOld((message, stream, response) => {
      response.writeHead(202).end()
      if (message.id !== undefined) stream.destroy()
    })
    const { link } = await openLink(url)
    const both = await Promise.all([failureOf(ask(link, 'tools/call')), failureOf(ask(link, 'x'))])
    expect(both).toMatchObject([
      { reason: 'broken', sent: true },
      { reason: 'broken', sent: true },
    ])
    expect(await link.ended).toMatchObject({ reason: 'broken' })
    expect(await failureOf(ask(link, 'tools/call'))).toMatchObject({ sent: false })
  })

  test('an answer in the response of the POST counts as well', async () => {
    const url = await listenOld((message, _stream, response) => {
      if (message.id === undefined) return void response.writeHead(202).end()
      reply(response, message, { result: { content: [] } })
    })
    const { link } = await openLink(url)
    expect((await ask(link, 'tools/call')).kind).toBe('result')
  })

  test('a POST that is refused because the session is not known ends the link', async () => {
    const url = await listenOld((message, _stream, response) => {
      if (message.id === undefined) return void response.writeHead(202).end()
      response.writeHead(404).end('Session not found')
    })
    const { link } = await openLink(url)
    expect(await failureOf(ask(link, 'tools/call'))).toMatchObject({
      reason: 'unclear',
      sent: true,
      sessionLost: true,
    })
    expect(await link.ended).toMatchObject({ sessionLost: true })
  })

  test('cancel is said by a notification', async () => {
    const canceled: unknown[] = []
    const url = await listenOld(({ method, params }, _stream, response) => {
      if (method === 'notifications/cancelled') canceled.push(params?.requestId)
      response.writeHead(202).end()
    })
    const { link } = await openLink(url)
    const stop = new AbortController()
    const onSend = (): void => void setTimeout(() => stop.abort(), 50)
    expect(
      await failureOf(ask(link, 'tools/call', { id: 7, signal: stop.signal, onSend })),
    ).toMatchObject({ reason: 'aborted', sent: true })
    await until('the server was told', () => canceled.length === 1)
    expect(canceled).toEqual([7])
  })

  test('credentials go to no other origin: an endpoint elsewhere is refused', async () => {
    let posted = 0
    const other = await listen((_request, response) => {
      posted += 1
      response.writeHead(202).end()
    })
    const url = await listenOld(() => {}, `${other}/messages`)
    const link = createSseLink({ url, headers: {} }, () => {})
    onTestFinished(() => link.close())
    expect(await failureOf(ask(link, 'initialize', { params: INITIALIZE }))).toMatchObject({
      reason: 'unreadable',
      sent: false,
      message: expect.stringContaining('another origin') as string,
    })
    expect(posted).toBe(0)
  })

  test('a peer is found out to speak it, tells of changes, and is reached anew after a break', async () => {
    const servers: McpServer[] = []
    const streams: ServerResponse[] = []
    const url = await serveOfficial((made, stream) => {
      servers.push(made)
      streams.push(stream)
      made.registerTool('pay', {}, () => ({ content: [] }))
      made.registerTool('drop', {}, () => {
        stream.destroy()
        return { content: [] }
      })
    })
    const peer = openPeer({ transport: 'http', url, headers: {} })
    const { capabilities, freshForMs } = await peer.listing()
    expect(capabilities.map(({ name }) => name)).toEqual(['pay', 'drop'])
    expect([freshForMs, peer.report().state]).toEqual([undefined, 'ready'])
    let changes = 0
    peer.onChanged(() => (changes += 1))
    servers[0]!.registerTool('two', {}, () => ({ content: [] }))
    await until('it is told', () => changes === 1)

    const dropped = await makeCall(peer, 'drop')
    expect(dropped.outcome).toMatchObject({ state: 'unknown', because: 'sent_no_answer' })
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    expect(streams.length).toBe(2)
    expect(peer.deprecated()).toMatchObject([{ feature: 'HTTP+SSE transport', count: 1 }])
  })

  test('a server that answers a POST with that stream is found out as well', async () => {
    let stream: ServerResponse | undefined
    const url = await listen((request, response, body) => {
      if (request.url === '/') {
        if (request.method === 'GET') stream = response
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        return void response.write('event: endpoint\ndata: /messages\n\n')
      }
      response.writeHead(202).end()
      const message = JSON.parse(body) as Message
      if (message.id === undefined) return
      const result = { protocolVersion: '2024-11-05', capabilities: {} }
      send(stream!, { id: message.id, result })
    })
    const { link } = await openLink(url)
    expect((await ask(link, 'tools/call')).kind).toBe('result')
  })

  test('a server that has neither says what it said to the first one', async () => {
    const url = await listen((_request, response) => void response.writeHead(405).end())
    const link = createAnyHttpLink({ url, headers: {} }, () => {})
    onTestFinished(() => link.close())
    expect(await failureOf(ask(link, 'initialize', { params: INITIALIZE }))).toMatchObject({
      reason: 'refused',
      status: 405,
    })
  })
})

test.each([
  ['is not answered', () => undefined],
  ['is answered with a body that does not end', (r: ServerResponse) => r.writeHead(202).write('A')],
])('a request whose POST %s until the work is done is waited for', async (_what, begin) => {
  const url = await listenOld(({ id }, stream, response) => {
    if (id === undefined) return void response.writeHead(202).end()
    begin(response)
    setTimeout(() => {
      send(stream, { id, result: { content: [] } })
      response.end()
    }, 600)
  })
  const { link } = await openLink(url, createSseLink, { takeMs: 200 })
  expect((await ask(link, 'tools/call')).kind).toBe('result')
})

test.each([
  ['another origin', 'http://127.0.0.2:9/messages?session=1'],
  ['another scheme', 'javascript:alert(1)'],
  ['a path longer than any', `/messages?session=${'1'.repeat(9_000)}`],
])('an endpoint of %s is not posted to', async (_what, endpoint) => {
  let posted = 0
  const url = await listenOld(() => void (posted += 1), endpoint)
  const link = createSseLink({ url, headers: { 'X-Key': 'k' } }, () => undefined)
  onTestFinished(() => link.close())
  expect(await failureOf(link.open(AbortSignal.timeout(15_000)))).toMatchObject({ sent: false })
  expect(posted).toBe(0)
})

test('a second endpoint changes nothing', async () => {
  const url = await listenOld(({ id }, stream, response) => {
    response.writeHead(202).end()
    if (id === undefined) return void stream.write('event: endpoint\ndata: /elsewhere\n\n')
    send(stream, { id, result: { content: [] } })
  })
  const { link } = await openLink(url, createSseLink)
  expect((await ask(link, 'tools/call')).kind).toBe('result')
})

test('an answer on the stream that is no JSON ends its request at once', async () => {
  const url = await listenOld(({ id }, stream, response) => {
    response.writeHead(202).end()
    if (id !== undefined) stream.write(`data: {"jsonrpc":"2.0","id":${id},"result":{"x":NaN}}\n\n`)
  })
  const { link } = await openLink(url, createSseLink)
  const failure = await failureOf(ask(link, 'tools/call'))
  expect(failure).toMatchObject({ reason: 'unreadable', sent: true })
})
