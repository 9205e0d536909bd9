/**
 * A call for want of a login: a question with an address for callers that can open one, and the command to run for all others; at
 * stdio hosts and over HTTP, in both eras. Who could list nothing lists by itself after a login in another terminal.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dig, modernMeta, postModern } from '../../src/mcp/downstream/testing/test-door.ts'
import {
  comity,
  comityJson,
  createHome,
  startUp,
  until,
  type Home,
  type Up,
} from '../journeys/comity-process.fixture.ts'
import { killOwner, startPipe, textOf, type PipeHost } from '../journeys/shared-process.fixture.ts'
import { browse } from './browser.fixture.ts'
import { serveGuarded, type Era, type GuardedServer, type Guards } from './mcp-server.fixture.ts'
import { connectTo, logIn, toolsOf } from './processes.fixture.ts'
import { serveProvider, type Provider } from './provider.fixture.ts'

const COMMAND = 'run: comity login docs'
const OPENS = { elicitation: { form: {}, url: {} } }

let home: Home
let provider: Provider
const closers: (() => unknown)[] = []

beforeEach(async () => {
  home = createHome()
  closers.push(() => home.remove())
  provider = await serveProvider()
  closers.push(() => provider.close())
})
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function serve(guards: Guards, era: Era = 'modern'): Promise<GuardedServer> {
  const server = await serveGuarded(provider, guards, era)
  closers.push(() => server.close())
  home.configure({
    mcpServers: { docs: { url: server.url } },
    store: 'sqlite:./comity.db',
    policy: { rules: [{ match: ['*/*'], effect: 'allow' }] },
  })
  return server
}

async function up(): Promise<Up> {
  const running = await startUp(home)
  closers.push(() => running.stop())
  return running
}

/** A stdio host; whatever process it started is ended with it. */
function host(...args: string[]): PipeHost {
  const pipe = startPipe(home, ...args)
  closers.push(async () => {
    await pipe.kill()
    killOwner(home)
  })
  return pipe
}

function callOf(can: object, more: object = {}): Readonly<Record<string, unknown>> {
  const _meta = modernMeta({ 'io.modelcontextprotocol/clientCapabilities': can })
  return { name: 'docs_read', arguments: {}, _meta, ...more }
}

interface Asked {
  readonly method: string
  readonly params: { readonly mode: string; readonly url: string; readonly message: string }
}

/** The one question of an answer, and the round that goes back. */
function questionIn(answer: unknown): { readonly asked: Asked; readonly round: object } {
  expect(dig(answer, 'result', 'resultType')).toBe('input_required')
  const requests = dig(answer, 'result', 'inputRequests') as Record<string, Asked>
  const [[key, asked] = []] = Object.entries(requests)
  if (key === undefined || asked === undefined) throw new Error(JSON.stringify(answer))
  const requestState = dig(answer, 'result', 'requestState')
  return { asked, round: { requestState, inputResponses: { [key]: { action: 'accept' } } } }
}

describe('a server that lists without a login and wants one for calls', () => {
  test('a caller of 2026-07-28 over HTTP opens the address, and its retry passes', async () => {
    const server = await serve('calls')
    const { url } = await up()
    const first = await postModern(`${url}/mcp`, 'tools/call', callOf(OPENS))
    const { asked, round } = questionIn(first.body)
    expect(asked).toMatchObject({
      method: 'elicitation/create',
      params: { mode: 'url', message: expect.stringContaining(COMMAND) },
    })
    expect(asked.params.url.startsWith(`${provider.issuer}/auth?`)).toBe(true)
    expect((await browse(asked.params.url)).status).toBe(200)
    const again = await postModern(`${url}/mcp`, 'tools/call', callOf(OPENS, round))
    expect(again.text).toContain('read ran')
    expect(server.ran()).toBe(1)
    expect(provider.asked().filter((what) => what !== 'discover')).toEqual([
      'register',
      'authorize',
      'token authorization_code',
    ])
  })

  test('who answers without having opened it is asked again, and nothing ran', async () => {
    const server = await serve('calls')
    const { url } = await up()
    const first = await postModern(`${url}/mcp`, 'tools/call', callOf(OPENS))
    const { asked, round } = questionIn(first.body)
    const again = await postModern(`${url}/mcp`, 'tools/call', callOf(OPENS, round))
    const second = questionIn(again.body)
    // The same login is open: another address would make the first worthless.
    expect(second.asked.params.url).toBe(asked.params.url)
    expect(server.ran()).toBe(0)
    await browse(asked.params.url)
    const third = await postModern(`${url}/mcp`, 'tools/call', callOf(OPENS, second.round))
    expect(third.text).toContain('read ran')
  })

  test.each([[[]], [['--standalone']]])(
    'a stdio host of 2026-07-28 (comity mcp %j) is asked the same; one that opens nothing is told the command',
    async (args) => {
      const server = await serve('calls')
      const pipe = host(...args)
      const words = await pipe.ask('tools/call', callOf({}))
      expect(words.result?.['isError']).toBe(true)
      expect(textOf(words)).toContain(COMMAND)
      const { asked, round } = questionIn(await pipe.ask('tools/call', callOf(OPENS)))
      await browse(asked.params.url)
      expect(textOf(await pipe.ask('tools/call', callOf(OPENS, round)))).toBe('read ran')
      expect(server.ran()).toBe(1)
    },
  )

  test('a stdio host of 2025-11-25 that opens addresses is given one with its error, and calls anew', async () => {
    await serve('calls')
    const pipe = host()
    const clientInfo = { name: 'bare', version: '0' }
    const protocolVersion = '2025-11-25'
    await pipe.ask('initialize', { protocolVersion, capabilities: OPENS, clientInfo })
    pipe.send({ method: 'notifications/initialized' })
    const call = { name: 'docs_read', arguments: {} }
    const { error } = await pipe.ask('tools/call', call)
    expect(error).toMatchObject({
      code: -32_042,
      message: expect.stringContaining(COMMAND),
      data: { elicitations: [{ mode: 'url', elicitationId: expect.stringMatching(/./u) }] },
    })
    await browse(String(dig(error, 'data', 'elicitations', 0, 'url')))
    expect(textOf(await pipe.ask('tools/call', call))).toBe('read ran')
  })

  test('a stdio host of 2025-11-25 that opens nothing is told the command, and another terminal suffices', async () => {
    await serve('calls')
    const pipe = host()
    await pipe.initialize()
    const call = { name: 'docs_read', arguments: {} }
    const words = await pipe.ask('tools/call', call)
    expect(words.result?.['isError']).toBe(true)
    expect(textOf(words)).toContain(COMMAND)
    expect((await logIn(home, 'docs')).code).toBe(0)
    expect(textOf(await pipe.ask('tools/call', call))).toBe('read ran')
  })

  test('comity call says the command', async () => {
    await serve('calls')
    const ended = await comity(home, 'call', 'docs_read')
    expect(ended.code).not.toBe(0)
    expect(ended.stdout + ended.stderr).toContain(COMMAND)
  })

  test('a scope that is missing is asked for in the same way, with those that were granted', async () => {
    const server = await serve('calls')
    const { url } = await up()
    const read = await postModern(`${url}/mcp`, 'tools/call', callOf(OPENS))
    await browse(questionIn(read.body).asked.params.url)
    const write = { ...callOf(OPENS), name: 'docs_write' }
    const first = await postModern(`${url}/mcp`, 'tools/call', write)
    const { asked, round } = questionIn(first.body)
    expect(asked.params.message).toContain('comity login docs --scope files:write')
    expect(new URL(asked.params.url).searchParams.get('scope')?.split(' ')).toEqual(
      expect.arrayContaining(['files:read', 'files:write']),
    )
    await browse(asked.params.url)
    const again = await postModern(`${url}/mcp`, 'tools/call', { ...write, ...round })
    expect(again.text).toContain('write ran')
    expect(
      server.served.filter(({ tool }) => tool === 'write').map(({ status }) => status),
    ).toEqual([403, 200])
  })
})

test.each<[Guards, Era]>([
  ['everything', 'modern'],
  ['everything', 'session'],
  ['lists', 'modern'],
  ['lists', 'session'],
])(
  'a catalogue that is kept from before, %s guarded, %s: a call by it is asked for a login too',
  async (guards, era) => {
    await serve(guards, era)
    expect((await logIn(home, 'docs')).code).toBe(0)
    const before = await up()
    const client = await connectTo(before.url)
    await until('it is listed', async () => (await toolsOf(client)).length > 0 || undefined)
    await client.close()
    await before.stop()
    expect((await comity(home, 'logout', 'docs')).code).toBe(0)

    const { url } = await up()
    const words = await postModern(`${url}/mcp`, 'tools/call', callOf({}))
    expect(words.text).toContain(COMMAND)
    const { asked, round } = questionIn(
      (await postModern(`${url}/mcp`, 'tools/call', callOf(OPENS))).body,
    )
    await browse(asked.params.url)
    const again = await postModern(`${url}/mcp`, 'tools/call', callOf(OPENS, round))
    expect(again.text).toContain('read ran')
  },
)

describe.each<[Guards, Era]>([
  ['everything', 'modern'],
  ['everything', 'session'],
  ['lists', 'modern'],
  ['lists', 'session'],
])('nothing can be listed, %s guarded, %s', (guards, era) => {
  test('ls and status name the command, and a login in another terminal is heard of within two seconds', async () => {
    const server = await serve(guards, era)
    const pipe = host()
    await pipe.initialize()
    const { error } = await pipe.ask('tools/list')
    expect(error?.message).toContain(COMMAND)
    expect(await comityJson(home, 'ls')).toMatchObject({
      exit: 1,
      peers: [{ peer: 'docs', state: 'failed', detail: expect.stringContaining(COMMAND) }],
    })
    expect((await comity(home, 'ls')).stdout).toContain(COMMAND)
    expect((await comity(home, 'status')).stdout).toContain(COMMAND)

    const changes = (): number =>
      pipe.messages().filter(({ method }) => method === 'notifications/tools/list_changed').length
    const before = changes()
    // It is tried again by itself, ever less often: what is heard of below is not that.
    const refused = (): number => server.served.filter(({ status }) => status === 401).length
    const tried = refused()
    await until('it was tried again', () => refused() > tried || undefined)
    expect((await logIn(home, 'docs')).code).toBe(0)
    const begun = performance.now()
    await until('the change is told', () => changes() > before || undefined)
    expect(performance.now() - begun).toBeLessThan(2_500)
    const tools = dig(await pipe.ask('tools/list'), 'result', 'tools') as { name: string }[]
    expect(tools.map(({ name }) => name)).toEqual(['docs_read', 'docs_write'])
    expect(await comityJson(home, 'ls')).toMatchObject({ exit: 0, peers: [{ state: 'ready' }] })
  })
})
