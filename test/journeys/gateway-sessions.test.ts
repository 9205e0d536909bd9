/** Sessions of older callers at a true gateway: asked and told through to a peer, and found again after kill -9. */
import { writeFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readEvents } from '../../src/mcp/downstream/testing/read-events.ts'
import { openSession } from '../../src/mcp/downstream/testing/session-caller.ts'
import { dig } from '../../src/mcp/downstream/testing/test-door.ts'
import {
  comity,
  comityCommand,
  createHome,
  freePort,
  type Home,
  startUp,
  type Up,
  until,
} from './comity-process.fixture.ts'

const PEER = new URL('./asking-peer.fixture.ts', import.meta.url).pathname

let home: Home
const running: Up[] = []
const closers: (() => Promise<unknown>)[] = []

beforeEach(() => {
  home = createHome()
  home.configure({
    names: 'as-is',
    mcpServers: {
      asking: { command: process.execPath, args: [PEER, home.folder] },
    },
  })
})

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
  await Promise.all(running.splice(0).map((one) => one.stop('SIGKILL')))
  home.remove()
})

async function up(port: number): Promise<Up> {
  const started = await startUp(home, '--port', String(port))
  running.push(started)
  return started
}

/** A v1 client that answers everything, and says what it heard. */
function createClient() {
  const heard: string[] = []
  const client = new Client(
    { name: 'v1', version: '1' },
    { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
  )
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: 'accept',
    content: { language: 'zh' },
  }))
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant',
    content: { type: 'text', text: 'Paris' },
    model: 'm',
  }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///a' }] }))
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.push('tools'))
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    heard.push(params.uri)
  })
  closers.push(() => client.close())
  return { client, heard }
}

async function saysOf(client: Client, name: string): Promise<unknown> {
  const text = dig(await client.callTool({ name }), 'content', 0, 'text')
  return typeof text === 'string' ? JSON.parse(text) : text
}

const ANSWERS = {
  ask_language: { action: 'accept', content: { language: 'zh' } },
  ask_model: { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm' },
  ask_roots: { roots: [{ uri: 'file:///a' }] },
}

test('a caller with a session is asked by the peer, told of its lists and resources, and goes on after kill -9', async () => {
  const port = await freePort()
  const first = await up(port)
  const { client, heard } = createClient()
  const transport = new StreamableHTTPClientTransport(new URL(`${first.url}/mcp`), {
    reconnectionOptions: {
      initialReconnectionDelay: 50,
      maxReconnectionDelay: 200,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 500,
    },
  })
  await client.connect(transport as unknown as Transport)
  const { sessionId } = transport
  for (const [name, answer] of Object.entries(ANSWERS)) {
    expect(await saysOf(client, name)).toEqual(answer)
  }
  await client.subscribeResource({ uri: 'note://one' })
  await client.setLoggingLevel('warning')
  await saysOf(client, 'touch')
  await saysOf(client, 'grow')
  await until('both are heard', () => new Set(heard).size === 2 || undefined)

  await first.stop('SIGKILL')
  heard.length = 0
  await up(port)
  expect(await saysOf(client, 'ask_language')).toEqual(ANSWERS.ask_language)
  expect(transport.sessionId).toBe(sessionId)
  // The peer is a new process: it is subscribed to again once the session's stream is back.
  await until('the subscription is taken up', async () => {
    const uris = await saysOf(client, 'touch')
    return (Array.isArray(uris) && uris.includes('note://one')) || undefined
  })
  await until('the update is heard', () => heard.includes('note://one') || undefined)
}, 120_000)

test('a call whose gateway was killed is said to be lost to whoever comes back for it', async () => {
  const port = await freePort()
  const first = await up(port)
  const caller = await openSession(`${first.url}/mcp`)
  const call = { id: 'a call', method: 'tools/call', params: { name: 'wait' } }
  const events = readEvents(await caller.begin(call))
  const { id } = await events.next()
  await first.stop('SIGKILL')
  await events.rest().catch(() => undefined)
  writeFileSync(home.path('release'), '')
  await up(port)
  const [lost] = await (await caller.events(id)).rest()

  expect(lost?.message).toMatchObject({ id: 'a call', error: { code: -32603 } })
  expect((await caller.post({ id: 2, method: 'ping' })).status).toBe(200)
  expect(await caller.end()).toBe(204)
}, 120_000)

test.each([
  ['by one process alone', ['mcp', '--standalone']],
  ['through the shared process', ['mcp']],
])(
  'over stdio it is the same, %s: asked, told',
  async (_how, line) => {
    const { client, heard } = createClient()
    closers.unshift(() => comity(home, 'stop'))
    const { command, args, env, cwd } = comityCommand(home, ...line)
    await client.connect(
      new StdioClientTransport({ command, args: [...args], env: { ...env }, cwd }),
    )
    for (const [name, answer] of Object.entries(ANSWERS)) {
      expect(await saysOf(client, name)).toEqual(answer)
    }
    await client.subscribeResource({ uri: 'note://one' })
    await saysOf(client, 'touch')
    await saysOf(client, 'grow')
    await until('both are heard', () => new Set(heard).size === 2 || undefined)
  },
  120_000,
)
