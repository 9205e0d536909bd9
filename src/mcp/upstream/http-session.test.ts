import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import {
  listenLegacy,
  makeCall,
  openPeer,
  reply,
  until,
  valueOf,
  type Message,
} from '../../../test/mcp/upstream-peer.ts'

/** How a server may say that it does not know a session. */
type Refusal = readonly [status: number, body: string | { code: number; message: string }]

function refuse(response: ServerResponse, message: Message, [status, body]: Refusal): true {
  if (typeof body === 'string') response.writeHead(status).end(body)
  else reply(response, message, { error: body }, status)
  return true
}

interface Forgetful {
  readonly url: string
  /** The session that is known now; another one is refused. */
  session: number
  readonly asked: string[]
}

/** A server with sessions that it can forget. */
async function forgetful(refusal: Refusal): Promise<Forgetful> {
  const asked: string[] = []
  const server = { url: '', session: 0, asked }
  server.url = await listenLegacy((message, response, request) => {
    const { method, id } = message
    if (method === 'server/discover') return refuse(response, message, [400, 'no'])
    if (method === 'initialize') {
      server.session += 1
      response.setHeader('mcp-session-id', `s${server.session}`)
      return false
    }
    if (id === undefined) return false
    const session = String(request.headers['mcp-session-id'])
    asked.push(`${method} ${session}`)
    if (session !== `s${server.session}`) return refuse(response, message, refusal)
    if (method !== 'resources/read') return false
    reply(response, message, { result: { contents: [] } })
    return true
  })
  return server
}

const http = (url: string) => ({ transport: 'http', url, headers: {} }) as const
const read = { operation: 'read', kind: 'resource', params: '{"uri":"a://b"}' } as const

const SPELLINGS: readonly Refusal[] = [
  [404, ''],
  [404, 'Not Found'],
  [404, { code: -32_001, message: 'Session not found' }],
  [410, 'Gone'],
  [400, 'Invalid or missing session ID'],
  [400, { code: -32_000, message: 'Bad Request: No valid session ID provided' }],
  [400, { code: -32_000, message: 'Bad Request: Server not initialized' }],
  [400, { code: -32_600, message: 'Session has expired: session not found' }],
  [500, { code: -32_603, message: 'Unknown session' }],
]

describe.each(SPELLINGS)('a session that is not known any more: %i %j', (...refusal) => {
  test('is begun anew; a read is made again, an act is not', async () => {
    const server = await forgetful(refusal)
    const peer = openPeer(http(server.url))
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    let changes = 0
    peer.onChanged(() => (changes += 1))

    server.session += 1
    const readOnce = await makeCall(peer, 'a://b', {}, read)
    expect(readOnce.outcome.state).toBe('completed')
    expect(readOnce.sent.length).toBe(1)
    await until('it is told', () => changes > 0)

    server.session += 1
    server.asked.length = 0
    const acted = await makeCall(peer, 'pay')
    expect(acted.outcome).toMatchObject({ state: 'unknown', because: 'peer_unclear' })
    expect(server.asked).toEqual(['tools/call s3'])
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
  })
})

test('lists, and tools that are believed to read only, are asked for again at once', async () => {
  const server = await forgetful([404, ''])
  const peer = openPeer(http(server.url))
  await makeCall(peer, 'pay')
  server.session += 1
  expect((await peer.listing()).capabilities.map(({ name }) => name)).toEqual(['pay'])

  server.session += 1
  const believed = await makeCall(peer, 'pay', {}, { hints: { readOnly: true } })
  expect(valueOf(believed.outcome)).toEqual({ content: [{ type: 'text', text: 'paid' }] })
})

describe('what is said of the request is not said of the session', () => {
  test.each<Refusal>([
    [400, { code: -32_602, message: 'Unknown tool: session not found' }],
    [404, { code: -32_601, message: 'Method not found' }],
    [400, { code: -32_000, message: 'Bad Request: something else' }],
    [403, 'session not found'],
  ])('%i %j', async (...refusal) => {
    const server = await forgetful([404, ''])
    let calls = 0
    let refusing = true
    const url = await listenLegacy((message, response) => {
      if (message.method === 'initialize') {
        calls += 100
        response.setHeader('mcp-session-id', 's')
      }
      if (message.method !== 'tools/call' || !refusing) return false
      calls += 1
      return refuse(response, message, refusal)
    })
    const peer = openPeer(http(url))
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('failed')
    refusing = false
    expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
    expect(calls).toBe(101)
    expect(server.asked).toEqual([])
  })
})

test('an error in words with a status that says nothing stands; the next call has a new session', async () => {
  const server = await forgetful([200, { code: -32_000, message: 'Session not found' }])
  const peer = openPeer(http(server.url))
  await makeCall(peer, 'pay')
  server.session += 1
  expect((await makeCall(peer, 'pay')).outcome).toMatchObject({ state: 'failed', origin: 'peer' })
  expect((await makeCall(peer, 'pay')).outcome.state).toBe('completed')
})

test('a session that is lost takes no other call with it', async () => {
  let release = (): void => {}
  let sessions = 0
  const url = await listenLegacy((message, response) => {
    if (message.method === 'initialize') {
      sessions += 1
      response.setHeader('mcp-session-id', `s${sessions}`)
    }
    if (message.method !== 'tools/call') return false
    if (message.params?.name === 'slow') {
      release = () => reply(response, message, { result: { content: [] } })
      return true
    }
    return refuse(response, message, [404, ''])
  })
  const peer = openPeer(http(url))
  const slow = makeCall(peer, 'slow')
  await until('it is under way', () => sessions === 1 && String(release) !== '() => {}')
  expect((await makeCall(peer, 'pay')).outcome.state).toBe('unknown')
  await peer.listing()
  expect(sessions).toBe(2)
  release()
  expect((await slow).outcome.state).toBe('completed')
})

test.each([
  ['that says nothing of itself', {}, true, 1],
  ['that calls itself idempotent', { idempotent: true }, true, 1],
  ['that an untrusted server calls idempotent', { idempotent: true }, false, 1],
  ['that an untrusted server calls a read', { readOnly: true }, false, 1],
  ['that the operator believes to be a read', { readOnly: true }, true, 2],
] as const)(
  'C50 b: a tool %s, whose session is lost after it ran',
  async (_what, hints, trusted, times) => {
    let ran = 0
    const url = await listenLegacy((message, response) => {
      if (message.method === 'initialize') response.setHeader('mcp-session-id', `s${ran}`)
      if (message.method !== 'tools/call') return false
      ran += 1
      return ran === 1 ? refuse(response, message, [404, 'Session not found']) : false
    })
    const { outcome } = await makeCall(openPeer(http(url)), 'pay', {}, { hints, trusted })
    expect(outcome.state).toBe(times === 1 ? 'unknown' : 'completed')
    expect(ran).toBe(times)
  },
)
