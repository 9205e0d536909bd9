/** What sessions are told: lists that changed, resources that were updated; over HTTP and after a restart. */
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, test } from 'vitest'
import type { SessionStore } from '../../core/ports/sessions.ts'
import { createMemorySessions } from './memory-sessions.ts'
import { completed, type Scripted } from './testing/scripted-house.ts'
import { serveHttp } from './testing/serve-http.ts'
import { callOnSession, openSession } from './testing/session-caller.ts'
import { dig, LOCAL, openTestDoor, TEST_KEY, until } from './testing/test-door.ts'
import { createToldHouse } from './testing/told-house.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const NOTES: readonly Scripted[] = [
  { kind: 'resource', exposed: 'note://one', run: () => completed({ contents: [] }) },
  { kind: 'resource', exposed: 'note://hers', only: 'alice' },
  { kind: 'resource', exposed: 'silent://one' },
]

async function open(limits: Parameters<typeof openTestDoor>[1] = {}) {
  const house = createToldHouse(NOTES)
  const server = await openTestDoor(house, {
    limits: { coalesceMs: 5, drainMs: 50, ...limits.limits },
  })
  closers.push(server.close)
  return { house, ...server }
}

const subscribe = (uri: string, id = 1) => ({ id, method: 'resources/subscribe', params: { uri } })
const INITIALIZED = { method: 'notifications/initialized' }

describe('lists', () => {
  test('the v1 client hears of a change, and of many at once once', async () => {
    const { url, house } = await open({ limits: { coalesceMs: 20 } })
    const client = new ClientV1({ name: 'v1', version: '1' })
    let heard = 0
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      heard += 1
    })
    await client.connect(new TransportV1(new URL(url)) as unknown as Transport)
    closers.push(() => client.close())
    expect(client.getServerCapabilities()).toMatchObject({
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
    })
    for (let count = 0; count < 20; count += 1) house.change('tool')
    await until(() => heard === 1)
    house.change('tool')
    await until(() => heard === 2)
  })

  test('those that changed while nobody listened are told when somebody does, once each', async () => {
    const { url, house } = await open({ limits: { coalesceMs: 0 } })
    const caller = await openSession(url)
    await caller.post(INITIALIZED)
    for (const kind of ['tool', 'resource', 'template', 'prompt'] as const) {
      house.change(kind)
      // Each one by itself, so that what makes them one is the stream.
      await caller.post({ id: 1, method: 'ping' })
      house.change(kind)
      await caller.post({ id: 2, method: 'ping' })
    }
    const own = await caller.events()
    await own.next()
    const methods = [await own.next(), await own.next(), await own.next()].map(({ message }) =>
      dig(message, 'method'),
    )

    expect(new Set(methods)).toEqual(
      new Set([
        'notifications/prompts/list_changed',
        'notifications/resources/list_changed',
        'notifications/tools/list_changed',
      ]),
    )
    await own.cancel()
  })

  test('a principal is told of what it may see only', async () => {
    const { url, house } = await open()
    const hers = await openSession(url, { headers: { 'x-test-principal': 'alice' } })
    const his = await openSession(url, { headers: { 'x-test-principal': 'bob' } })
    const [toHer, toHim] = [await hers.events(), await his.events()]
    await Promise.all([toHer.next(), toHim.next()])
    house.change('tool', 'alice')
    expect(dig((await toHer.next()).message, 'method')).toBe('notifications/tools/list_changed')
    house.change('prompt')

    expect(dig((await toHim.next()).message, 'method')).toBe('notifications/prompts/list_changed')
    await Promise.all([toHer.cancel(), toHim.cancel()])
  })
})

describe('resources', () => {
  test('the v1 client subscribes, hears of updates, and no more once it unsubscribed', async () => {
    const { url, house } = await open()
    const client = new ClientV1({ name: 'v1', version: '1' })
    const heard: string[] = []
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      heard.push(params.uri)
    })
    await client.connect(new TransportV1(new URL(url)) as unknown as Transport)
    closers.push(() => client.close())
    await client.subscribeResource({ uri: 'note://one' })
    house.update('note://one')
    await until(() => heard.length === 1)
    await client.unsubscribeResource({ uri: 'note://one' })

    expect(heard).toEqual(['note://one'])
    expect(house.watched()).toEqual([])
  })

  test('one that is hidden or unknown is not found, one that never tells is said to', async () => {
    const { url, house } = await open({})
    const caller = await openSession(url)
    const codes = []
    for (const uri of ['note://none', 'note://hers', 'silent://one']) {
      codes.push(dig((await caller.post(subscribe(uri))).body, 'error', 'code'))
    }

    expect(codes).toEqual([-32002, -32002, -32602])
    expect(house.watched()).toEqual([])
  })

  test('twice is once, beyond the bound is refused, and the end of the session is the end of watching', async () => {
    const { url, house } = await open({ limits: { maxSubscriptions: 1 } })
    const caller = await openSession(url, { headers: { 'x-test-principal': 'alice' } })
    await caller.post(subscribe('note://one'))
    await caller.post(subscribe('note://one'))
    expect(dig((await caller.post(subscribe('note://hers'))).body, 'error', 'code')).toBe(-32603)
    expect(house.watched()).toEqual(['note://one'])
    await caller.end()

    expect(house.watched()).toEqual([])
  })
})

describe('another process with the same store', () => {
  async function serve(store: SessionStore, authenticated = LOCAL) {
    const house = createToldHouse(NOTES)
    const server = await serveHttp(house, {
      port: 0,
      serverInfo: { name: 'test-door', version: '1.0.0' },
      sealingKey: TEST_KEY,
      clock: { now: Date.now },
      limits: { coalesceMs: 5, drainMs: 50 },
      sessions: store,
      authenticate: async () => ({ principal: authenticated }),
    })
    closers.push(server.close)
    return { house, ...server }
  }

  test('goes on with sessions, their level and their subscriptions', async () => {
    const store = createMemorySessions()
    const before = await serve(store)
    const caller = await openSession(before.url, { capabilities: { roots: {} } })
    await caller.post(subscribe('note://one'))
    await caller.post({ id: 2, method: 'logging/setLevel', params: { level: 'error' } })
    const after = await serve(store)
    const later = callOnSession(after.url, caller.headers)
    await later.post({ id: 3, method: 'resources/read', params: { uri: 'note://one' } })
    expect(after.house.watched()).toEqual([])
    const own = await later.events()
    await own.next()
    await until(() => after.house.watched().length === 1)
    after.house.update('note://one')

    expect((await own.next()).message).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'note://one' },
    })
    expect(after.house.calls[0]?.native.value()).toMatchObject({
      _meta: { 'io.modelcontextprotocol/logLevel': 'error' },
    })
    await own.cancel()
  })

  test('a session belongs to its principal there too, and an ended one is nobody’s', async () => {
    const store = createMemorySessions()
    const before = await serve(store)
    const [kept, ended] = [await openSession(before.url), await openSession(before.url)]
    await ended.end()
    const eve = await serve(store, { ...LOCAL, id: 'eve' })
    const after = await serve(store)
    const ping = { id: 1, method: 'ping' }

    expect((await callOnSession(eve.url, kept.headers).post(ping)).status).toBe(404)
    expect((await callOnSession(after.url, ended.headers).post(ping)).status).toBe(404)
    expect((await callOnSession(after.url, kept.headers).post(ping)).status).toBe(200)
  })

  test('a store that cannot be written opens no session and says so', async () => {
    const { ComityError } = await import('../../core/words/errors.ts')
    const full: SessionStore = {
      ...createMemorySessions(),
      save: () => Promise.reject(new ComityError('store_unwritable', 'the disk is full')),
    }
    const { url } = await serve(full)

    await expect(openSession(url)).rejects.toThrow('no session was opened: 503')
  })
})
