/**
 * Progress in bursts: twenty calls at once, each with five notifications and its result in one write of the peer. Every caller, of
 * both eras, over HTTP and over a pipe, gets each of them from every kind of peer: in order, on its own stream, none after the result.
 */
import { PassThrough } from 'node:stream'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import type { Host } from '../../src/gateway/compose/host.ts'
import { openHost } from '../../src/gateway/compose/open-host.ts'
import { loadConfig } from '../../src/gateway/config/load-config.ts'
import { serveGateway } from '../../src/gateway/http.ts'
import { serveHostOverStdio } from '../../src/gateway/serve-stdio.ts'
import { eventsOf, MODERN_HEADERS, modernMeta } from '../../src/mcp/downstream/testing/test-door.ts'
import { inlineServer, listen, type Message } from '../mcp/upstream-peer.ts'
import { createHome } from './comity-process.fixture.ts'

const CALLS = 20
const STEPS = 5

/** What a peer writes for one call, all at once. */
function burst(message: Message, modern: boolean): readonly object[] {
  const meta = message.params?.['_meta'] as { readonly progressToken?: unknown } | undefined
  const steps = Array.from({ length: STEPS }, (_, index) => ({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: meta?.progressToken, progress: index + 1, total: STEPS },
  }))
  const result = { content: [{ type: 'text', text: 'done' }] }
  const answer = modern ? { resultType: 'complete', ...result } : result
  return [...steps, { jsonrpc: '2.0', id: message.id, result: answer }]
}

function handshake({ method }: Message, modern: boolean): object | undefined {
  const tools = [{ name: 'work', inputSchema: { type: 'object' } }]
  const more = modern ? { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' } : {}
  if (method === 'tools/list') return { tools, ...more }
  if (modern && method === 'server/discover')
    return { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ...more }
  if (!modern && method === 'initialize') {
    const serverInfo = { name: 'burst', version: '1' }
    return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
  }
  return undefined
}

/** The two functions as an inline server: what is tested is what leaves a process in one write. */
const pipe = (modern: boolean): object => {
  const server = inlineServer(`
    const CALLS = ${CALLS}, STEPS = ${STEPS}
    const burst = ${String(burst)}
    const handshake = ${String(handshake)}
    createInterface({ input: process.stdin }).on('line', (line) => {
      const m = JSON.parse(line)
      if (m.id === undefined) return
      if (m.method === 'tools/call') return raw(burst(m, ${modern}).map((one) => JSON.stringify(one) + '\\n').join(''))
      const result = handshake(m, ${modern})
      if (result === undefined) refuse(m, -32601)
      else answer(m, result)
    })
  `)
  return {
    command: 'command' in server ? server.command : '',
    args: 'args' in server ? server.args : [],
  }
}

const web = (modern: boolean): Promise<string> =>
  listen((request, response, body) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const message = JSON.parse(body) as Message
    if (message.id === undefined) return void response.writeHead(202).end()
    if (message.method === 'tools/call') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const all = burst(message, modern).map((one) => `data: ${JSON.stringify(one)}\n\n`)
      return void response.end(all.join(''))
    }
    const result = handshake(message, modern)
    const error = { code: -32601, message: 'no such method' }
    response.writeHead(200, { 'content-type': 'application/json' })
    const answer = result === undefined ? { error } : { result }
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }))
  })

type Received = readonly {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}[]

/** Makes the twenty calls to one peer. @returns for each call what its caller received for it, in order. */
type Caller = (peer: string) => Promise<readonly Received[]>

const token = (peer: string, index: number): string => `${peer} ${index}`
const INFO = { clientInfo: { name: 'burst', version: '1' }, capabilities: {} }

function callOf(peer: string, index: number, modern: boolean): object {
  const _meta = { ...(modern ? modernMeta() : {}), progressToken: token(peer, index) }
  const params = { name: `${peer}_work`, arguments: {}, _meta }
  return { jsonrpc: '2.0', id: `${peer} ${index}`, method: 'tools/call', params }
}

/** Each call has a response of its own. */
function httpCaller(url: string, modern: boolean): Caller {
  const post = async (message: object, headers: Record<string, string>): Promise<Response> =>
    fetch(url, { method: 'POST', headers, body: JSON.stringify(message) })
  const plain = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  return async (peer) => {
    let headers: Record<string, string> = {
      ...MODERN_HEADERS,
      'mcp-method': 'tools/call',
      'mcp-name': `${peer}_work`,
    }
    if (!modern) {
      const params = { protocolVersion: '2025-11-25', ...INFO }
      const opened = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, plain)
      await opened.text()
      headers = {
        ...plain,
        'mcp-session-id': String(opened.headers.get('mcp-session-id')),
        'mcp-protocol-version': '2025-11-25',
      }
    }
    return Promise.all(
      Array.from({ length: CALLS }, async (_, index) => {
        const response = await post(callOf(peer, index, modern), headers)
        return eventsOf(await response.text()).map((data) => JSON.parse(data) as Received[number])
      }),
    )
  }
}

/** All calls share the pipe: a call's messages are those with its token or its id. */
function pipeCaller(host: Host, modern: boolean): Caller {
  return async (peer) => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const door = serveHostOverStdio(host, input, output)
    const say = (message: object): void => void input.write(`${JSON.stringify(message)}\n`)
    if (!modern) {
      const params = { protocolVersion: '2025-11-25', ...INFO }
      say({ jsonrpc: '2.0', id: 'start', method: 'initialize', params })
    }
    const received: Received[number][] = []
    const calls = Array.from({ length: CALLS }, (_, index) => callOf(peer, index, modern))
    if (modern) calls.forEach(say)
    let answers = 0
    for await (const line of createInterface({ input: output })) {
      const message = JSON.parse(line) as Received[number]
      received.push(message)
      if (message.id === 'start') {
        say({ jsonrpc: '2.0', method: 'notifications/initialized' })
        calls.forEach(say)
      } else if (message.id !== undefined) answers += 1
      if (answers === CALLS) break
    }
    input.end()
    await door.done
    return calls.map((_, index) =>
      received.filter(
        ({ id, params }) =>
          id === token(peer, index) || params?.['progressToken'] === token(peer, index),
      ),
    )
  }
}

/** How many of the notifications came where they belong. */
function judge(peer: string, calls: readonly Received[]): string {
  const right = calls.map((received, index) => {
    const steps = received.slice(0, -1).map(({ method, params }) => {
      const own = params?.['progressToken'] === token(peer, index)
      return method === 'notifications/progress' && own ? params['progress'] : undefined
    })
    const last = received.at(-1)
    const complete = last?.id === token(peer, index) && 'result' in last
    return complete ? steps.filter((step, at) => step === at + 1).length : 0
  })
  return `${right.reduce((one, other) => one + other, 0)} of ${CALLS * STEPS}`
}

test('none is lost, moved or late: 100 of 100 from every peer to every caller', async () => {
  const home = createHome()
  onTestFinished(home.remove)
  const peers = {
    pipe_2025: pipe(false),
    pipe_2026: pipe(true),
    web_2025: { url: await web(false) },
    web_2026: { url: await web(true) },
  }
  home.configure({ mcpServers: peers, store: `sqlite:${home.path('comity.db')}` })
  const host = await openHost({
    config: loadConfig(home.config, home.env),
    peers: 'all',
    parentEnvironment: home.env,
  })
  onTestFinished(() => host.close())
  const gateway = await serveGateway(host, { host: '127.0.0.1', port: 0 })
  onTestFinished(() => gateway.close())
  const url = `${gateway.url}/mcp`
  const callers: Readonly<Record<string, Caller>> = {
    'HTTP 2026': httpCaller(url, true),
    'HTTP 2025': httpCaller(url, false),
    'pipe 2026': pipeCaller(host, true),
    'pipe 2025': pipeCaller(host, false),
  }
  const table: Record<string, string> = {}
  for (const [name, caller] of Object.entries(callers))
    for (const peer of Object.keys(peers))
      table[`${peer} to ${name}`] = judge(peer, await caller(peer))
  const all = Object.keys(table).map((pair) => [pair, `${CALLS * STEPS} of ${CALLS * STEPS}`])
  expect(table).toEqual(Object.fromEntries(all))
}, 60_000)
