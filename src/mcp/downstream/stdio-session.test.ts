/** Sessions over real pipes: callers are asked, told, and may batch where their revision does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterEach, expect, test } from 'vitest'
import { dig, until } from './testing/test-door.ts'

const SCRIPT = new URL('./testing/session-stdio.ts', import.meta.url).pathname
const LAUNCH = { command: process.execPath, args: [SCRIPT] }
const ALL = { elicitation: {}, sampling: {}, roots: {} }

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const textOf = (message: unknown) => dig(message, 'result', 'content', 0, 'text')

test('the v1 client is asked, and told of changes and updates', async () => {
  const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: ALL })
  const heard: string[] = []
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
  await client.connect(new StdioV1(LAUNCH))
  closers.push(() => client.close())
  const texts = []
  for (const kind of ['form', 'sampling', 'roots']) {
    texts.push(textOf({ result: await client.callTool({ name: `ask_${kind}` }) }))
  }
  await client.callTool({ name: 'change' })
  await client.subscribeResource({ uri: 'note://one' })
  await client.callTool({ name: 'update' })
  await until(() => heard.length === 2)

  expect(texts).toEqual([
    expect.stringContaining('"language":"zh"'),
    expect.stringContaining('"Paris"'),
    expect.stringContaining('"file:///a"'),
  ])
  expect(new Set(heard)).toEqual(new Set(['tools', 'note://one']))
})

test('the v2 client in its legacy mode is asked', async () => {
  const client = new ClientV2(
    { name: 'v2', version: '1' },
    { versionNegotiation: { mode: 'legacy' }, capabilities: { elicitation: {} } },
  )
  client.setRequestHandler('elicitation/create', async () => ({ action: 'decline' as const }))
  await client.connect(new StdioV2(LAUNCH))
  closers.push(() => client.close())
  const result = await client.callTool({ name: 'ask_form' })

  expect(textOf({ result })).toContain('"action":"decline"')
})

test('nothing is told before the caller says that it is ready', async () => {
  const pipe = await openPipe('2025-11-25')
  pipe.send({ id: 1, method: 'tools/call', params: { name: 'change' } })
  expect(await pipe.next()).toMatchObject({ id: 1 })
  pipe.send({ method: 'notifications/initialized' })
  pipe.send({ id: 2, method: 'tools/call', params: { name: 'change' } })

  expect(await pipe.next()).toMatchObject({ id: 2 })
  expect(await pipe.next()).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/tools/list_changed',
  })
})

test('a question ends with the input: the call is told that nobody answers, and the process ends', async () => {
  const pipe = await openPipe('2025-11-25')
  pipe.send({ id: 1, method: 'tools/call', params: { name: 'ask_form' } })
  expect(await pipe.next()).toMatchObject({ method: 'elicitation/create' })
  pipe.child.stdin.end()

  expect(textOf(await pipe.next())).toContain('"action":"cancel"')
  expect(await pipe.exited).toEqual([0, null])
})

test('2025-03-26 sends several messages in one line and gets the answers in one', async () => {
  const pipe = await openPipe('2025-03-26')
  const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })
  pipe.raw(JSON.stringify([ping(1), { jsonrpc: '2.0', method: 'x' }, ping(2)]))
  expect(await pipe.next()).toEqual([
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 2, result: {} },
  ])
  pipe.raw('[]')
  expect(dig(await pipe.next(), 'error', 'code')).toBe(-32600)
  pipe.raw(JSON.stringify([1, 2, 3, 4, 5].map(ping)))
  expect(dig(await pipe.next(), 'error', 'code')).toBe(-32600)
})

async function openPipe(revision: string) {
  const child = spawn(LAUNCH.command, LAUNCH.args)
  const exited = once(child, 'exit')
  closers.push(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const pipe = {
    child,
    exited,
    raw: (line: string) => child.stdin.write(`${line}\n`),
    send: (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    next: async (): Promise<unknown> => {
      const { value, done } = await lines.next()
      if (done === true) throw new Error('the output ended')
      return JSON.parse(value)
    },
  }
  const params = { protocolVersion: revision, capabilities: ALL }
  pipe.send({ id: 0, method: 'initialize', params })
  await pipe.next()
  return pipe
}
