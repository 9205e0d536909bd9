/** C35, as a client: HTTP servers that answer in forms of their own. */
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import {
  listen,
  listenLegacy,
  makeCall,
  openPeer,
  reply,
  valueOf,
  type Message,
} from '../../../test/mcp/upstream-peer.ts'

const json = (response: ServerResponse, status: number, body: string): boolean => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  return true
}

const NOTIFIED: readonly [string, (response: ServerResponse) => boolean][] = [
  ['a result', (r) => json(r, 200, '{"jsonrpc":"2.0","result":{}}')],
  ['an id that is null', (r) => json(r, 200, '{"jsonrpc":"2.0","id":null}')],
  ['204', (r) => Boolean(r.writeHead(204).end())],
  ['202 with a body', (r) => Boolean(r.writeHead(202).end('ok'))],
  ['200 and JSON of no bytes', (r) => json(r, 200, '')],
  ['500', (r) => Boolean(r.writeHead(500).end())],
]

describe('C35: a notification that is answered with', () => {
  test.each(NOTIFIED)('%s neither breaks nor stalls the connection', async (_what, odd) => {
    const seen: string[] = []
    const url = await listenLegacy(({ id, method }, response) => {
      seen.push(method)
      return id === undefined ? odd(response) : false
    })
    const peer = openPeer({ transport: 'http', url, headers: {} })
    expect((await peer.listing()).capabilities.map(({ name }) => name)).toEqual(['pay'])
    const { outcome } = await makeCall(peer, 'pay')
    expect(valueOf(outcome)).toEqual({ content: [{ type: 'text', text: 'paid' }] })
    expect(seen.filter((method) => method === 'initialize')).toHaveLength(1)
    expect(seen).toContain('notifications/initialized')
  })

  test('nothing does not stall it either', async () => {
    const url = await listenLegacy(({ id }) => id === undefined)
    const peer = openPeer({ transport: 'http', url, headers: {} })
    const since = performance.now()
    expect((await makeCall(peer, 'pay')).outcome).toMatchObject({ state: 'completed' })
    expect(performance.now() - since).toBeLessThan(8_000)
  })

  test('is each that the case names', () => {
    const text = readFileSync('test/cases/C35-http-notification-answers-and-batch.json', 'utf8')
    const { given } = JSON.parse(text) as { given: Readonly<Record<string, readonly unknown[]>> }
    expect(given['on_notification']).toHaveLength(NOTIFIED.length)
    expect(given['on_request']).toHaveLength(ANSWERED.length)
  })
})

const answer = ({ id }: Message): string => `"id":${id},"result":{"content":[]}`

const ANSWERED: readonly [string, (message: Message) => string, 'read' | 'told'][] = [
  ['an array of one', (m) => `[{"jsonrpc":"2.0",${answer(m)}}]`, 'read'],
  [
    'an error that is null beside the result',
    (m) => `{"jsonrpc":"2.0",${answer(m)},"error":null}`,
    'read',
  ],
  ['no jsonrpc member', (m) => `{${answer(m)}}`, 'told'],
]

describe('C35: a call that is answered with', () => {
  test.each(ANSWERED)(
    '%s never hangs: it is read, or what is wrong is told',
    async (_what, body, how) => {
      const url = await listenLegacy((message, response) =>
        message.method === 'tools/call' ? json(response, 200, body(message)) : false,
      )
      const { outcome } = await makeCall(openPeer({ transport: 'http', url, headers: {} }), 'pay')
      if (how === 'read') expect(valueOf(outcome)).toEqual({ content: [] })
      else {
        expect(outcome).toMatchObject({ state: 'unknown', because: 'peer_unclear' })
        expect('detail' in outcome && outcome.detail).toContain('expected "jsonrpc":"2.0"')
      }
    },
  )
})

test.each([
  'Bad Request: Server not initialized',
  'Bad Request: Mcp-Session-Id header is required',
  'Bad Request: Unsupported protocol version: 2026-07-28 (supported versions: 2025-11-25)',
  'Bad Request: No valid session ID provided',
])(
  'a server of sessions in the place of a modern one, by its words "%s": asked anew, each principal gets a session of its own',
  async (message) => {
    let replaced = false
    let ran = 0
    const sessions = new Set<string>()
    const url = await listen((request, response, body) => {
      if (request.method !== 'POST') return void response.writeHead(405).end()
      const asked = JSON.parse(body) as Message
      const tools = [{ name: 'pay', inputSchema: {} }]
      const say = (result: object): void => reply(response, asked, { result })
      if (asked.id === undefined) return void response.writeHead(202).end()
      if (!replaced) {
        const base = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' }
        const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
        return say({
          ...base,
          ...(asked.method === 'server/discover' ? discovered : { tools, content: [] }),
        })
      }
      if (asked.method === 'initialize') {
        response.setHeader('mcp-session-id', `s${sessions.size + 1}`)
        sessions.add(`s${sessions.size + 1}`)
        return say({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} })
      }
      if (request.headers['mcp-session-id'] === undefined) {
        return reply(response, asked, { id: null, error: { code: -32_000, message } }, 400)
      }
      if (asked.method === 'tools/call') ran += 1
      return say({ tools, content: [] })
    })
    const peer = openPeer({ transport: 'http', url, headers: {} })
    const callAs = async (principal: string): Promise<string> =>
      (await makeCall(peer, 'pay', {}, { principal })).outcome.state
    expect(await callAs('alice')).toBe('completed')
    replaced = true
    expect(await callAs('alice')).toBe('failed')
    expect([await callAs('alice'), await callAs('bob')]).toEqual(['completed', 'completed'])
    expect(ran).toBe(2)
    // The shared one, alice's and bob's.
    expect(sessions.size).toBe(3)
  },
)
