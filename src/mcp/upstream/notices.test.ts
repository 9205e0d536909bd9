import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  inlineServer,
  listen,
  makeCall,
  openPeer,
  reply,
  until,
  type Message,
  type Server,
} from '../../../test/mcp/upstream-peer.ts'
import { serveHttp } from '../../testkit/conforming-peer/http.ts'
import { createResourceWatches } from './resource-watches.ts'

const WATCHED = 'test://watched-resource'
const TOLD = 'notifications/'

async function conformingPeer(transport: string, era: 'modern' | 'legacy'): Promise<Server> {
  if (transport === 'HTTP') {
    const { url, close } = await serveHttp(0, era)
    onTestFinished(close)
    return { transport: 'http', url, headers: {} }
  }
  const main = fileURLToPath(new URL('../../testkit/conforming-peer/main.ts', import.meta.url))
  const args = [main, '--stdio', '--era', era]
  return { transport: 'stdio', command: process.execPath, args, env: {} }
}

describe.each([
  ['HTTP', 'modern'],
  ['HTTP', 'legacy'],
  ['stdio', 'modern'],
  ['stdio', 'legacy'],
] as const)('a conforming peer over %s, %s', (transport, era) => {
  test('tells of changed lists and watched resources; its lists need no time then', async () => {
    const peer = openPeer(await conformingPeer(transport, era))
    const first = await peer.listing()
    expect(first.features).toMatchObject({ completions: true, subscribe: true })
    let changes = 0
    const one: string[] = []
    const two: string[] = []
    peer.onChanged(() => (changes += 1))
    const stopOne = peer.watch(WATCHED, (uri) => one.push(uri))
    const stopTwo = peer.watch(WATCHED, (uri) => two.push(uri))
    let told = false
    while (!told) told = (await peer.listing()).freshForMs === undefined

    const before = changes
    await makeCall(peer, 'test_trigger_tool_change')
    await until('it is told', () => changes > before)
    expect((await peer.listing()).capabilities.map(({ name }) => name)).toContain('test_extra_tool')

    // What is wanted may still be on its way.
    while (one.length === 0) await makeCall(peer, 'test_trigger_resource_change')
    await until('both are told', () => two.length === one.length)
    stopOne()
    stopOne()
    const count = one.length
    await makeCall(peer, 'test_trigger_resource_change')
    await until('the other one is told', () => two.length === count + 1)
    expect(one.length).toBe(count)
    expect(new Set([...one, ...two])).toEqual(new Set([WATCHED]))
    stopTwo()
  })
})

type Listened = { readonly message: Message; readonly response: ServerResponse; closed: boolean }

/** A modern HTTP server with `listChanged` whose subscriptions are for the test to answer. */
async function listening(
  onListen: (one: Listened, all: readonly Listened[]) => void,
  ttlMs = 30_000,
): Promise<{ readonly url: string; readonly all: readonly Listened[] }> {
  const all: Listened[] = []
  const url = await listen((_request, response, body) => {
    const message = JSON.parse(body) as Message
    if (message.method === 'subscriptions/listen') {
      const one: Listened = { message, response, closed: false }
      response.on('close', () => (one.closed = true))
      all.push(one)
      return onListen(one, all)
    }
    const capabilities = {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
    }
    const results: Record<string, object> = {
      'server/discover': { supportedVersions: ['2026-07-28'], capabilities },
      'tools/list': { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] },
      'resources/list': { resources: [] },
      'resources/templates/list': { resourceTemplates: [] },
      'tools/call': { content: [] },
    }
    reply(response, message, {
      result: { resultType: 'complete', ttlMs, cacheScope: 'private', ...results[message.method] },
    })
  })
  return { url, all }
}

function say(one: Listened, method: string, params: object = {}): void {
  const { response, message } = one
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
  const _meta = { 'io.modelcontextprotocol/subscriptionId': message.id }
  const told = { jsonrpc: '2.0', method: `${TOLD}${method}`, params: { ...params, _meta } }
  response.write(`data: ${JSON.stringify(told)}\n\n`)
}

const acknowledge = (one: Listened, more: object = {}): void =>
  say(one, 'subscriptions/acknowledged', {
    notifications: { ...(one.message.params!.notifications as object), ...more },
  })

const http = (url: string): Server => ({ transport: 'http', url, headers: {} })
const LISTS = { toolsListChanged: true, resourcesListChanged: true }

describe('the subscription of a modern server', () => {
  test('asks for what is wanted; a new one is acknowledged before the old one is closed', async () => {
    const { url, all } = await listening((one) => {
      if (all.length === 1) acknowledge(one)
    })
    const peer = openPeer(http(url))
    await peer.listing()
    await until('it listens', () => all.length === 1)
    expect(all[0]!.message.params!.notifications).toEqual(LISTS)
    const seen: string[] = []
    peer.watch('b://2', (uri) => seen.push(`2 ${uri}`))
    peer.watch('b://1', (uri) => seen.push(`1 ${uri}`))
    await until('it listens anew', () => all.length === 2)
    expect(all[1]!.message.params!.notifications).toEqual({
      ...LISTS,
      resourceSubscriptions: ['b://1', 'b://2'],
    })
    expect(all[0]!.closed).toBe(false)
    acknowledge(all[1]!)
    await until('the old one is closed', () => all[0]!.closed)
    expect(all[1]!.closed).toBe(false)
    say(all[1]!, 'resources/updated', { uri: 'b://2/below' })
    say(all[1]!, 'resources/updated', { uri: 'b://22' })
    say(all[1]!, 'resources/updated', { uri: 'b://1' })
    await until('they are told', () => seen.length === 2)
    expect(seen).toEqual(['2 b://2/below', '1 b://1'])
  })

  test('is replaced once at a time: what is wanted meanwhile is asked for afterwards', async () => {
    const { url, all } = await listening((one) => {
      if (all.length !== 2) acknowledge(one)
    })
    const peer = openPeer(http(url))
    await peer.listing()
    await until('it listens', () => all.length === 1)
    const seen: string[] = []
    peer.watch('b://1', (uri) => seen.push(uri))
    await until('it listens anew', () => all.length === 2)
    peer.watch('b://2', (uri) => seen.push(uri))
    peer.watch('b://3', () => {})()
    await makeCall(peer, 'pay')
    expect(all.length).toBe(2)
    // Nothing was acknowledged, but it brings what was asked for.
    say(all[1]!, 'resources/updated', { uri: 'b://1' })
    await until('it listens to all', () => all.length === 3)
    expect(all[2]!.message.params!.notifications).toMatchObject({
      resourceSubscriptions: ['b://1', 'b://2'],
    })
    await until('only the last is open', () => all[0]!.closed && all[1]!.closed)
    expect([all[2]!.closed, seen]).toEqual([false, ['b://1']])
  })

  test('is opened again after it ended, and everything counts as changed then', async () => {
    const { url, all } = await listening((one) => acknowledge(one))
    const peer = openPeer(http(url))
    await peer.listing()
    const seen: string[] = []
    let changes = 0
    peer.onChanged(() => (changes += 1))
    peer.watch('b://1', (uri) => seen.push(uri))
    await until('it listens', () => all.length >= 1 && !all.at(-1)!.closed)
    await until(
      'to all of it',
      () => 'resourceSubscriptions' in (all.at(-1)!.message.params!.notifications as object),
    )
    const count = all.length
    changes = 0
    const last = all.at(-1)!
    const result = { resultType: 'complete' }
    last.response.end(
      `data: ${JSON.stringify({ jsonrpc: '2.0', id: last.message.id, result })}\n\n`,
    )
    await until('it listens again', () => all.length === count + 1)
    await until('it is told', () => changes > 0 && seen.length === 1)
    expect(all.at(-1)!.message.id).not.toBe(last.message.id)
    expect(seen).toEqual(['b://1'])
  })

  test('a server that declares it and does not know it is not asked again; its lists have their time', async () => {
    const { url, all } = await listening(({ message, response }) =>
      reply(response, message, { error: { code: -32601, message: 'no' } }, 404),
    )
    const peer = openPeer(http(url))
    await peer.listing()
    await until('it was asked', () => all.length === 1)
    await makeCall(peer, 'pay')
    expect((await peer.listing()).freshForMs).toBe(30_000)
    expect(all.length).toBe(1)
  })

  test('what was not acknowledged is not counted on', async () => {
    const { url, all } = await listening((one) =>
      acknowledge(one, { resourcesListChanged: undefined }),
    )
    const peer = openPeer(http(url))
    await peer.listing()
    await until('it listens', () => all.length === 1)
    await makeCall(peer, 'pay')
    expect((await peer.listing()).freshForMs).toBe(30_000)
  })
})

test('over a pipe a subscription that the server cancels is asked for anew; messages of no subscription of ours count for what they say', async () => {
  const server = inlineServer(`
    const tell = (method, params, id) => send({ method: 'notifications/' + method, params: { ...params, ...(id === undefined ? {} : { _meta: { 'io.modelcontextprotocol/subscriptionId': id } }) } })
    let listened = 0
    const complete = { resultType: 'complete', ttlMs: 30000, cacheScope: 'private' }
    serve({
      'server/discover': (m) => answer(m, { ...complete, supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } } }),
      'tools/list': (m) => answer(m, { ...complete, tools: [{ name: 'listened-' + listened, inputSchema: {} }] }),
      'subscriptions/listen': (m) => {
        listened += 1
        tell('subscriptions/acknowledged', { notifications: m.params.notifications }, m.id)
        if (listened === 1) tell('cancelled', { requestId: m.id })
        else tell('tools/list_changed', {}, 4711)
      },
    })`)
  const peer = openPeer(server)
  let changes = 0
  peer.onChanged(() => (changes += 1))
  await peer.listing()
  await until('it is told', () => changes > 0)
  let names: readonly string[] = []
  while (names[0] !== 'listened-2') {
    names = (await peer.listing()).capabilities.map(({ name }) => name)
  }
  expect((await peer.listing()).freshForMs).toBe(undefined)
  expect(peer.counts()).toMatchObject({ stray: 0, noise: 0 })
})

test('whoever watches waits for no call: a server that ended is started and subscribed to again', async () => {
  const server = inlineServer(`
    serve({
      initialize: (m) => answer(m, { protocolVersion: '2025-11-25', capabilities: { resources: { subscribe: true } }, serverInfo: {} }),
      'resources/list': (m) => answer(m, { resources: [] }),
      'resources/subscribe': (m) => {
        answer(m, {})
        send({ method: 'notifications/resources/updated', params: { uri: m.params.uri + '/' + process.pid } })
        setTimeout(() => process.exit(1), 50)
      },
    })`)
  const peer = openPeer(server, { probeMs: 100 })
  const pids = new Set<string>()
  peer.watch('a://b', (uri) => pids.add(uri))
  await until(
    'two processes told',
    () => [...pids].filter((uri) => uri !== 'a://b').length >= 2,
    15_000,
  )
})

test('a session that the server lost is found out by its own stream, and subscribed to anew', async () => {
  const subscribed: unknown[] = []
  let sessions = 0
  let stream: ServerResponse | undefined
  const url = await listen((request: IncomingMessage, response, body) => {
    const session = request.headers['mcp-session-id']
    if (request.method === 'DELETE') return void response.writeHead(200).end()
    if (session !== undefined && session !== `s${sessions}`)
      return void response.writeHead(404).end()
    if (request.method === 'GET') {
      stream = response
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return void response.write('retry: 100\n\n')
    }
    const message = JSON.parse(body) as Message
    if (message.id === undefined) return void response.writeHead(202).end()
    if (message.method === 'server/discover') return void response.writeHead(400).end()
    if (message.method === 'initialize') {
      sessions += 1
      response.setHeader('mcp-session-id', `s${sessions}`)
    }
    if (message.method === 'resources/subscribe') subscribed.push([session, message.params!.uri])
    const capabilities = { resources: { subscribe: true } }
    reply(response, message, {
      result: { protocolVersion: '2025-11-25', capabilities, resources: [], resourceTemplates: [] },
    })
  })
  const peer = openPeer(http(url))
  peer.watch('a://b', () => {})
  await until('it is subscribed', () => subscribed.length === 1 && stream !== undefined)
  // The server restarts: it knows no session any more.
  sessions += 1
  stream!.destroy()
  await until('it is subscribed again', () => subscribed.length === 2)
  expect(subscribed).toEqual([
    ['s1', 'a://b'],
    ['s3', 'a://b'],
  ])
})

test('only whole segments below a watched resource are its own', () => {
  const told: string[] = []
  const watches = createResourceWatches(() => {})
  watches.add('a://b/c', (uri) => told.push(`c ${uri}`))
  watches.add('a://b/', (uri) => told.push(`b ${uri}`))
  for (const uri of ['a://b/c', 'a://b/cd', 'a://b/c/d', 'a://b/c#x', 'a://b', 'a://b/c?q']) {
    watches.updated(uri)
  }
  expect(told).toEqual([
    'c a://b/c',
    'b a://b/c',
    'b a://b/cd',
    'c a://b/c/d',
    'b a://b/c/d',
    'c a://b/c#x',
    'b a://b/c#x',
    'c a://b/c?q',
    'b a://b/c?q',
  ])
})
