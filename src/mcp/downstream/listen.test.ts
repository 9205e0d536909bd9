/** Streams of news for modern callers: the official client, bare HTTP, bare stdio. */
import { PassThrough } from 'node:stream'
import { createInterface } from 'node:readline'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, test } from 'vitest'
import type { Catalogue, ListKind } from '../../core/ports/catalogue.ts'
import type { Principal } from '../../core/words/principal.ts'
import { serveStdio } from './stdio.ts'
import { createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import {
  dig,
  eventsOf,
  LOCAL,
  MODERN_HEADERS,
  modernMeta,
  openTestDoor,
  postModern,
  TEST_KEY,
  type TestDoorOptions,
  until,
} from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** News that a test gives: of lists by principal, of resources by address. */
function createNews() {
  const lists = new Set<{ principal: Principal | undefined; listener: (kind: ListKind) => void }>()
  const watched = new Map<string, Set<(uri: string) => void>>()
  const over: Partial<Catalogue> = {
    onChanged: (listener, principal) => {
      const one = { principal, listener }
      lists.add(one)
      return () => lists.delete(one)
    },
    watch: (route, listener) => {
      if (route.exposed === 'note://mute') return undefined
      const all = watched.get(route.exposed) ?? new Set()
      watched.set(route.exposed, all)
      all.add(listener)
      return () => {
        all.delete(listener)
        if (all.size === 0) watched.delete(route.exposed)
      }
    },
  }
  return {
    over,
    open: () => lists.size + watched.size,
    changed: (kind: ListKind, id?: string) => {
      for (const { principal, listener } of lists)
        if (id === undefined || principal?.id === id) listener(kind)
    },
    updated: (at: string, uri = at) => {
      for (const listener of watched.get(at) ?? []) listener(uri)
    },
  }
}

const RESOURCES: readonly Scripted[] = [
  { kind: 'resource', exposed: 'note://1' },
  { kind: 'resource', exposed: 'note://1/a' },
  { kind: 'resource', exposed: 'note://mute' },
  { kind: 'resource', exposed: 'note://hers', only: 'eve' },
]

async function open(options: TestDoorOptions = {}) {
  const news = createNews()
  const server = await openTestDoor(createScriptedHouse(RESOURCES, news.over), options)
  closers.push(server.close)
  return { ...server, news }
}

interface Stream {
  readonly status: number
  readonly messages: unknown[]
  /** Everything as it came. */
  text(): string
  readonly ended: Promise<void>
  leave(): void
}

/** Opens a stream and reads it as it comes. */
async function listen(
  url: string,
  notifications: unknown,
  more: {
    readonly id?: unknown
    readonly meta?: object
    readonly headers?: Record<string, string>
  } = {},
): Promise<Stream> {
  const leave = new AbortController()
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...MODERN_HEADERS, 'mcp-method': 'subscriptions/listen', ...more.headers },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: more.id ?? 'sub-1',
      method: 'subscriptions/listen',
      params: { notifications, _meta: modernMeta(more.meta as Record<string, unknown>) },
    }),
    signal: leave.signal,
  })
  const messages: unknown[] = []
  let text = ''
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      const whole = text.slice(0, text.lastIndexOf('\n\n') + 2)
      messages.splice(0, Infinity, ...eventsOf(whole).map((data) => JSON.parse(data) as unknown))
    }
  }
  const ended = read().catch(() => undefined)
  return { status: response.status, messages, text: () => text, ended, leave: () => leave.abort() }
}

const methodsOf = ({ messages }: Stream): unknown[] =>
  messages.map((message) => dig(message, 'method'))

const ALL = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }

test('the official client hears of changed lists and of a resource that was updated', async () => {
  const { url, news } = await open()
  const client = new Client(
    { name: 'v2', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  closers.push(() => client.close())
  const heard: string[] = []
  client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'))
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    heard.push(params.uri)
  })
  const subscription = await client.listen({
    toolsListChanged: true,
    resourceSubscriptions: ['note://1', 'note://nowhere'],
  })
  expect(subscription.honoredFilter).toEqual({
    toolsListChanged: true,
    resourceSubscriptions: ['note://1'],
  })
  news.changed('tool')
  news.updated('note://1')
  await until(() => heard.length === 2)
  expect(heard).toEqual(['tools', 'note://1'])
  await subscription.close()
  await until(() => news.open() === 0)
})

test('acknowledged first, with what is honoured: not what is hidden, unknown, or told by nobody', async () => {
  const { url, news } = await open()
  const uris = ['note://1', 'note://hers', 'note://nowhere', 'note://mute', 'note://1']
  const stream = await listen(url, {
    ...ALL,
    promptsListChanged: false,
    resourceSubscriptions: uris,
    more: 1,
  })
  await until(() => stream.messages.length === 1)
  expect(stream.messages[0]).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: {
      notifications: {
        toolsListChanged: true,
        resourcesListChanged: true,
        resourceSubscriptions: ['note://1'],
      },
      _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub-1' },
    },
  })
  news.changed('prompt')
  news.changed('tool')
  await until(() => stream.messages.length === 2)
  expect(methodsOf(stream)[1]).toBe('notifications/tools/list_changed')
  stream.leave()
})

test.each([7, 'seven', '7'])(
  'the subscription id is the request’s own, type and all: %j',
  async (id) => {
    const { url, news } = await open()
    const stream = await listen(url, ALL, { id })
    await until(() => stream.messages.length === 1)
    news.changed('template')
    await until(() => stream.messages.length === 2)
    for (const message of stream.messages)
      expect(dig(message, 'params', '_meta', 'io.modelcontextprotocol/subscriptionId')).toBe(id)
    expect(methodsOf(stream)[1]).toBe('notifications/resources/list_changed')
    stream.leave()
  },
)

test('news of the same thing in a burst are one; nobody is told of what only others see', async () => {
  const { url, news } = await open()
  const mine = await listen(url, { ...ALL, resourceSubscriptions: ['note://1'] })
  const hers = await listen(url, ALL, { headers: { 'x-test-principal': 'eve' } })
  await until(() => mine.messages.length === 1 && hers.messages.length === 1)
  for (let times = 0; times < 100; times += 1) {
    news.changed('tool', 'eve')
    news.updated('note://1')
    news.updated('note://1', 'note://1/a')
    // Below what is watched and not known to this caller: told as what it did subscribe to.
    news.updated('note://1', 'note://1/hidden')
  }
  await until(() => mine.messages.length === 3 && hers.messages.length === 2)
  const told = mine.messages.slice(1).map((message) => dig(message, 'params', 'uri'))
  expect(new Set(told)).toEqual(new Set(['note://1', 'note://1/a']))
  expect(methodsOf(hers)[1]).toBe('notifications/tools/list_changed')
  mine.leave()
  hers.leave()
})

test('a caller that leaves is watched for no more', async () => {
  const { url, news } = await open()
  const stream = await listen(url, { ...ALL, resourceSubscriptions: ['note://1'] })
  await until(() => stream.messages.length === 1)
  expect(news.open()).toBe(2)
  stream.leave()
  await until(() => news.open() === 0)
})

test('a door that closes ends its streams at once, with their result', async () => {
  const { url, close, news } = await open({ limits: { drainMs: 60_000 } })
  const stream = await listen(url, ALL, { id: 5 })
  await until(() => stream.messages.length === 1)
  await close()
  await stream.ended
  expect(stream.messages.at(-1)).toMatchObject({
    id: 5,
    result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 5 } },
  })
  expect(news.open()).toBe(0)
})

test('comments keep a quiet stream alive', async () => {
  const { url } = await open({ limits: { keepAliveMs: 20 } })
  const stream = await listen(url, ALL)
  await until(() => /\n:\n\n:\n\n/u.test(stream.text()))
  stream.leave()
})

test('streams are bounded for each principal', async () => {
  const { url } = await open({ limits: { maxListenersEach: 1 } })
  const first = await listen(url, ALL)
  await until(() => first.messages.length === 1)
  const { status, body } = await postModern(url, 'subscriptions/listen', { notifications: ALL })
  expect(status).toBe(429)
  expect(dig(body, 'error', 'message')).toContain('too many subscriptions')
  const hers = await listen(url, ALL, { headers: { 'x-test-principal': 'eve' } })
  await until(() => hers.messages.length === 1)
  first.leave()
  hers.leave()
})

describe('a filter is refused', () => {
  test.each<[string, unknown, number]>([
    ['when there is none', undefined, -32602],
    ['when it is no object', [], -32602],
    ['with addresses that are no strings', { resourceSubscriptions: [1] }, -32602],
    ['with a switch that is no boolean', { toolsListChanged: 'yes' }, -32602],
    ['with tasks that the caller did not declare', { taskIds: ['t'] }, -32021],
  ])('%s', async (_name, notifications, code) => {
    const { url } = await open()
    const { body } = await postModern(url, 'subscriptions/listen', { notifications })
    expect(dig(body, 'error', 'code')).toBe(code)
  })

  test('tasks of a caller that declared them are left out of what is honoured', async () => {
    const { url } = await open()
    const extensions = { 'io.modelcontextprotocol/tasks': {} }
    const stream = await listen(
      url,
      { toolsListChanged: true, taskIds: ['t'] },
      { meta: { 'io.modelcontextprotocol/clientCapabilities': { extensions } } },
    )
    await until(() => stream.messages.length === 1)
    expect(dig(stream.messages[0], 'params', 'notifications')).toEqual({ toolsListChanged: true })
    stream.leave()
  })
})

describe('on stdio', () => {
  function openPipe() {
    const news = createNews()
    const input = new PassThrough()
    const output = new PassThrough()
    const lines: unknown[] = []
    createInterface({ input: output }).on('line', (line) => lines.push(JSON.parse(line)))
    const door = serveStdio(createScriptedHouse(RESOURCES, news.over), {
      principal: LOCAL,
      input,
      output,
      serverInfo: { name: 't', version: '1' },
      sealingKey: TEST_KEY,
      clock: { now: Date.now },
      limits: { drainMs: 60_000 },
    })
    closers.push(() => {
      input.end()
      return door.done
    })
    const send = (message: object): void => {
      input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    }
    const subscribe = (id: unknown, notifications: object): void =>
      send({ id, method: 'subscriptions/listen', params: { notifications, _meta: modernMeta() } })
    return { news, lines, send, subscribe, input, done: door.done }
  }

  test('several streams share the pipe, told apart by their ids; a cancelled one is over without an answer', async () => {
    const { lines, news, send, subscribe } = openPipe()
    subscribe(1, { toolsListChanged: true })
    subscribe(2, { toolsListChanged: true })
    await until(() => lines.length === 2)
    send({ method: 'notifications/cancelled', params: { requestId: 1 } })
    await until(() => news.open() === 1)
    news.changed('tool')
    await until(() => lines.length === 3)
    expect(lines[2]).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
      params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 2 } },
    })
  })

  test('the end of input ends the streams', async () => {
    const { lines, news, subscribe, input, done } = openPipe()
    subscribe(1, { toolsListChanged: true })
    await until(() => lines.length === 1)
    input.end()
    await done
    expect(news.open()).toBe(0)
    expect(lines.at(-1)).toMatchObject({ id: 1, result: { resultType: 'complete' } })
  })
})
