import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  StreamableHTTPServerTransport,
  type EventStore,
} from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen, reply, until, type Message } from '../../../test/mcp/upstream-peer.ts'
import { encodeJson, readValue } from '../wire/spans.ts'
import { createHttpLink, type HttpOptions } from './http.ts'
import type { Link, LinkFailure, LinkRequest } from './link.ts'

const LEGACY = { era: 'legacy', revision: '2025-11-25' } as const

interface Opened {
  readonly link: Link
  readonly heard: string[]
}

/** A link whose session is agreed on. */
async function openLink(url: string, options: HttpOptions = {}): Promise<Opened> {
  const heard: string[] = []
  const link = createHttpLink({ url, headers: {} }, ({ method }) => heard.push(method), options)
  onTestFinished(() => link.close())
  await ask(link, 'initialize', {
    params: encodeJson({
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '0' },
    }),
  })
  link.agree(LEGACY)
  await link.notify('notifications/initialized')
  return { link, heard }
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

const pay = (link: Link, more: Partial<LinkRequest> = {}) => ask(link, 'tools/call', more)

async function failureOf(promise: Promise<unknown>): Promise<LinkFailure> {
  return promise.then(
    () => expect.fail('it was answered'),
    (error: LinkFailure) => error,
  )
}

function events(response: ServerResponse) {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
  return {
    mark: (id: string, retry: number) => response.write(`id: ${id}\nretry: ${retry}\ndata: \n\n`),
    send: (body: object, id?: string) =>
      response.write(
        `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify({ jsonrpc: '2.0', ...body })}\n\n`,
      ),
  }
}

/** In the middle of a stream even a reset is no end of the call. */
const cut = (response: ServerResponse): void => {
  setTimeout(() => response.destroy(), 20)
}

type Handle = (message: Message, response: ServerResponse, request: IncomingMessage) => void

/** A server of 2025-11-25 with session `s`; requests but `initialize` and GETs are for the test. */
function listenSession(
  onMessage: Handle,
  onGet: (response: ServerResponse, lastEventId: string | undefined) => void,
): Promise<string> {
  return listen((request, response, body) => {
    if (request.method === 'DELETE') return void response.writeHead(200).end()
    if (request.method === 'GET') {
      return onGet(response, request.headers['last-event-id'] as string | undefined)
    }
    const message = JSON.parse(body) as Message
    if (message.method === 'initialize') {
      response.setHeader('mcp-session-id', 's')
      return reply(response, message, {
        result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} },
      })
    }
    if (message.method === 'notifications/initialized') return void response.writeHead(202).end()
    onMessage(message, response, request)
  })
}

describe('an event stream that ends before the answer', () => {
  test('is asked for again where it stopped, after the pause it named; the call is sent once', async () => {
    let calls = 0
    let called: Message | undefined
    let endedAt = 0
    const gets: [string | undefined, number][] = []
    const url = await listenSession(
      (message, response) => {
        calls += 1
        called = message
        events(response).mark('a-1', 200)
        endedAt = performance.now()
        response.end()
      },
      (response, lastEventId) => {
        gets.push([lastEventId, performance.now() - endedAt])
        endedAt = performance.now()
        const stream = events(response)
        if (gets.length === 1) stream.mark('a-2', 100)
        if (gets.length === 2) {
          stream.send(
            { method: 'notifications/message', params: { level: 'info', data: 1 } },
            'a-3',
          )
          return cut(response)
        }
        if (gets.length === 3) stream.send({ id: called!.id, result: { content: [] } })
        response.end()
      },
    )
    const { link } = await openLink(url)
    const logs: string[] = []
    const answer = await pay(link, { onNotification: ({ method }) => void logs.push(method) })
    expect(answer.kind).toBe('result')
    expect(calls).toBe(1)
    expect(logs).toEqual(['notifications/message'])
    expect(gets.map(([id]) => id)).toEqual(['a-1', 'a-2', 'a-3'])
    expect(gets[0]![1]).toBeGreaterThanOrEqual(195)
    expect(gets[1]![1]).toBeGreaterThanOrEqual(95)
  })

  test.each([
    ['no event id was given', false, 200],
    ['the server has no streams to go on with', true, 405],
  ])('stays broken when %s', async (_what, marked, status) => {
    let gets = 0
    const url = await listenSession(
      (_message, response) => {
        const stream = events(response)
        if (marked) stream.mark('a-1', 50)
        else stream.send({ method: 'notifications/message', params: { level: 'info', data: 1 } })
        response.end()
      },
      (response) => {
        gets += 1
        response.writeHead(status).end()
      },
    )
    const { link } = await openLink(url)
    expect(await failureOf(pay(link))).toMatchObject({ reason: 'broken', sent: true })
    expect(gets).toBe(marked ? 1 : 0)
  })

  test('may hold several messages in one event, as in 2025-03-26', async () => {
    const url = await listenSession(
      ({ id }, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const log = { jsonrpc: '2.0', method: 'notifications/message', params: { data: 1 } }
        const batch = [log, { jsonrpc: '2.0', id, result: { content: [] } }]
        response.end(`data: ${JSON.stringify(batch)}\n\n`)
      },
      (response) => void response.writeHead(405).end(),
    )
    const { link } = await openLink(url)
    const logs: string[] = []
    const answer = await pay(link, { onNotification: ({ method }) => void logs.push(method) })
    expect([answer.kind, logs]).toEqual(['result', ['notifications/message']])
  })

  test('can be canceled while nothing is open', async () => {
    const canceled: unknown[] = []
    const url = await listenSession(
      ({ method, params }, response) => {
        if (method === 'notifications/cancelled') {
          canceled.push(params?.requestId)
          return void response.writeHead(202).end()
        }
        events(response).mark('a-1', 60_000)
        response.end()
      },
      (response) => void response.writeHead(405).end(),
    )
    const { link } = await openLink(url)
    const stop = new AbortController()
    const failed = failureOf(
      pay(link, { signal: stop.signal, onSend: () => setTimeout(() => stop.abort(), 100) }),
    )
    expect(await failed).toMatchObject({ reason: 'aborted', sent: true })
    await until('the server was told', () => canceled.length === 1)
  })

  test('an official server that closes the stream in mid-call is polled until it answers', async () => {
    let ran = 0
    const url = await serveOfficial((server) => {
      server.registerTool('slow', { description: 'closes its stream' }, async (extra) => {
        ran += 1
        await extra.sendNotification({
          method: 'notifications/message',
          params: { level: 'info', data: 'before' },
        })
        extra.closeSSEStream?.()
        await extra.sendNotification({
          method: 'notifications/message',
          params: { level: 'info', data: 'after' },
        })
        return { content: [{ type: 'text', text: 'done' }] }
      })
    })
    const { link } = await openLink(url)
    const logs: unknown[] = []
    const answer = await pay(link, {
      params: encodeJson({ name: 'slow', arguments: {} }),
      onNotification: ({ bytes }) =>
        void logs.push((readValue(bytes) as { params: { data: unknown } }).params.data),
    })
    expect(answer.kind === 'result' && readValue(answer.bytes, answer.result.value)).toEqual({
      content: [{ type: 'text', text: 'done' }],
    })
    expect(logs).toEqual(['before', 'after'])
    expect(ran).toBe(1)
  })
})

describe('the stream of no request', () => {
  test('brings notices of change to the owner and what names a call to that call', async () => {
    let stream: ServerResponse | undefined
    const url = await listenSession(
      ({ id }, response) => {
        const { send } = events(stream!)
        send({ method: 'notifications/tools/list_changed' })
        send({ method: 'notifications/progress', params: { progressToken: id, progress: 1 } })
        send({ method: 'notifications/progress', params: { progressToken: 99, progress: 1 } })
        send({ method: 'notifications/message', params: { level: 'info', data: 1 } })
        send({ id, result: { content: [] } })
        response.writeHead(200, { 'content-type': 'text/event-stream' })
      },
      (response) => {
        stream = response
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      },
    )
    const { link, heard } = await openLink(url)
    expect(link.hears!()).toBe(false)
    link.hear!(() => {})
    await until('it is open', () => link.hears!())
    const told: string[] = []
    const answer = await pay(link, { onNotification: ({ method }) => void told.push(method) })
    // A response is at home on the stream of its request, but it can only be this one's.
    expect(answer.kind).toBe('result')
    expect(told).toEqual(['notifications/progress', 'notifications/message'])
    expect(heard).toEqual(['notifications/tools/list_changed'])
    expect(link.counts().stray).toBe(1)
  })

  test('a request of the server goes to the call on whose stream it came, else to whoever takes strays', async () => {
    let stream: ServerResponse | undefined
    const responses: unknown[] = []
    let finish = (): void => {}
    const url = await listenSession(
      (message, response, request) => {
        if (message.method === undefined) {
          responses.push([request.headers['mcp-session-id'], message])
          // In the field this is answered with nearly anything.
          response.writeHead(responses.length === 1 ? 202 : 500).end('ok')
          if (responses.length === 4) finish()
          return
        }
        const own = events(response)
        own.send({ id: 'q1', method: 'elicitation/create', params: {} })
        own.send({ id: 'p', method: 'ping' })
        own.send({ method: 'notifications/message', params: { level: 'info', data: 1 } })
        events(stream!).send({ id: 'q2', method: 'sampling/createMessage', params: {} })
        events(stream!).send({ id: 'q3', method: 'roots/list' })
        finish = () => {
          own.send({ id: message.id, result: { content: [] } })
          response.end()
        }
      },
      (response) => {
        stream = response
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      },
    )
    const { link } = await openLink(url, {
      onStray: ({ method }) =>
        Promise.resolve(
          method === 'roots/list'
            ? { error: { code: -32601, message: 'no' } }
            : { result: encodeJson({ stray: true }) },
        ),
    })
    link.hear!(() => {})
    await until('it is open', () => link.hears!())
    const answer = await pay(link, {
      onRequest: () => Promise.resolve({ result: encodeJson({ action: 'decline' }) }),
    })
    expect(answer.kind).toBe('result')
    const byId = new Map(responses.map((one) => [(one as [unknown, Message])[1].id, one]))
    expect(new Set(byId.keys())).toEqual(new Set(['p', 'q1', 'q2', 'q3']))
    expect(byId.get('q1')).toEqual([
      's',
      { jsonrpc: '2.0', id: 'q1', result: { action: 'decline' } },
    ])
    expect(byId.get('q2')).toEqual(['s', { jsonrpc: '2.0', id: 'q2', result: { stray: true } }])
    expect(byId.get('q3')).toMatchObject(['s', { error: { code: -32601 } }])
  })

  test('is opened again where it stopped, and what was missed is told', async () => {
    const gets: (string | undefined)[] = []
    let last: ServerResponse | undefined
    const url = await listenSession(
      (message, response) => reply(response, message, { result: {} }),
      (response, lastEventId) => {
        gets.push(lastEventId)
        if (gets.length === 2) return void response.writeHead(503).end()
        events(response).mark(`g-${gets.length}`, 100)
        last = response
        if (gets.length === 1) setTimeout(() => response.destroy(), 30)
      },
    )
    const { link, heard } = await openLink(url)
    let gaps = 0
    link.hear!(() => (gaps += 1))
    await until('it is open again', () => gets.length === 3 && link.hears!())
    expect(gets).toEqual([undefined, 'g-1', 'g-1'])
    // One when it could not be had at once, one when it was there again.
    expect(gaps).toBe(2)
    events(last!).send({ method: 'notifications/resources/list_changed' })
    await until('it is heard', () => heard.length === 1)
  })

  test.each([405, 404, 400, 501, 401])(
    'a server without one (%i) is not asked again',
    async (status) => {
      let gets = 0
      const url = await listenSession(
        (message, response) => reply(response, message, { result: { content: [] } }),
        (response) => {
          gets += 1
          response.writeHead(status).end('no')
        },
      )
      const { link } = await openLink(url)
      link.hear!(() => expect.fail('nothing was missed'))
      await until('it was asked', () => gets === 1)
      expect((await pay(link)).kind).toBe('result')
      expect([gets, link.hears!()]).toEqual([1, false])
    },
  )

  test.each([
    [404, ''],
    [400, 'Invalid or missing session ID'],
  ])('%i %s on a stream that was open once says that the session is gone', async (...refusal) => {
    let gets = 0
    const url = await listenSession(
      (message, response) => reply(response, message, { result: { content: [] } }),
      (response) => {
        gets += 1
        if (gets > 1) return void response.writeHead(refusal[0]).end(refusal[1])
        events(response).mark('g-1', 100)
        setTimeout(() => response.end(), 30)
      },
    )
    const { link } = await openLink(url)
    link.hear!(() => {})
    expect(await link.ended).toMatchObject({ sessionLost: true })
    expect(await failureOf(pay(link))).toMatchObject({ sent: false, sessionLost: true })
  })

  test('an official server tells of changes over it', async () => {
    let server: McpServer | undefined
    const url = await serveOfficial((made) => {
      server = made
      made.registerTool('one', {}, () => ({ content: [] }))
    })
    const { link, heard } = await openLink(url)
    link.hear!(() => {})
    await until('it is open', () => link.hears!())
    server!.registerTool('two', {}, () => ({ content: [] }))
    await until('it is heard', () => heard.includes('notifications/tools/list_changed'))
  })
})

describe('a call of a session that was canceled', () => {
  test.each(['application/json', 'text/event-stream'])(
    'is listened to for its late answer (%s)',
    async (type) => {
      let answer = (): void => {}
      const canceled: unknown[] = []
      const url = await listenSession(
        (message, response) => {
          if (message.method === 'notifications/cancelled') {
            canceled.push(message.params?.requestId)
            return void response.writeHead(202).end()
          }
          if (type === 'text/event-stream') {
            response.writeHead(200, { 'content-type': type }).flushHeaders()
          }
          const body = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [] } })
          answer = () => {
            if (!response.headersSent) response.writeHead(200, { 'content-type': type })
            response.end(type === 'text/event-stream' ? `data: ${body}\n\n` : body)
          }
        },
        (response) => void response.writeHead(405).end(),
      )
      const { link } = await openLink(url)
      const stop = new AbortController()
      const late: string[] = []
      const failed = failureOf(
        pay(link, {
          signal: stop.signal,
          onSend: () => setTimeout(() => stop.abort(), 50),
          onLate: ({ kind }) => late.push(kind),
        }),
      )
      expect(await failed).toMatchObject({ reason: 'aborted', sent: true })
      await until('the server was told', () => canceled.length === 1)
      expect(late).toEqual([])
      answer()
      await until('it is heard', () => late.length === 1)
      expect([late, link.counts().stray]).toEqual([['result'], 0])
    },
  )
})

describe('a session that was not used for a while', () => {
  test.each([
    ['is lost', 404, { sent: false, sessionLost: true }, ['ping']],
    ['knows no ping', 400, undefined, ['ping', 'tools/call']],
    ['is one', 200, undefined, ['ping', 'tools/call']],
  ])('that %s is found out before an act leaves', async (_what, status, failure, expected) => {
    const asked: string[] = []
    const url = await listenSession(
      (message, response) => {
        asked.push(message.method)
        if (message.method !== 'ping') return reply(response, message, { result: { content: [] } })
        if (status === 200) return reply(response, message, { result: {} })
        const error = { code: -32_601, message: 'no' }
        return status === 404
          ? void response.writeHead(404).end()
          : reply(response, message, { error }, status)
      },
      (response) => void response.writeHead(405).end(),
    )
    const { link } = await openLink(url, { doubtAfterMs: -1 })
    if (failure === undefined) expect((await pay(link)).kind).toBe('result')
    else expect(await failureOf(pay(link))).toMatchObject(failure)
    expect(asked).toEqual(expected)
  })
})

/** One session of an official v1 server with an event store. @returns its url. */
async function serveOfficial(build: (server: McpServer) => void): Promise<string> {
  const server = new McpServer({ name: 'v1', version: '1' }, { capabilities: { logging: {} } })
  build(server)
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    eventStore: memoryStore(),
    retryInterval: 100,
  })
  // The SDK's own types disagree under exactOptionalPropertyTypes.
  await server.connect(transport as Parameters<McpServer['connect']>[0])
  onTestFinished(() => server.close())
  return listen((request, response, body) => {
    const parsed: unknown = body === '' ? undefined : JSON.parse(body)
    void transport.handleRequest(request, response, parsed)
  })
}

function memoryStore(): EventStore {
  const kept: { id: string; stream: string; message: JSONRPCMessage }[] = []
  return {
    storeEvent(stream, message) {
      const id = `${stream}_${kept.length + 1}`
      kept.push({ id, stream, message })
      return Promise.resolve(id)
    },
    async replayEventsAfter(lastEventId, { send }) {
      const from = kept.findIndex(({ id }) => id === lastEventId)
      const stream = kept[from]?.stream ?? ''
      for (const event of kept.slice(from + 1)) {
        if (event.stream === stream && 'jsonrpc' in event.message)
          await send(event.id, event.message)
      }
      return stream
    },
  }
}
