/** The official SDK clients, both majors, against the HTTP door. */
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { afterEach, describe, expect, test } from 'vitest'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import { LOCAL, openTestDoor } from './testing/test-door.ts'

const CAPABILITIES: readonly Scripted[] = [
  {
    kind: 'tool',
    exposed: 'desk_echo',
    definition: {
      description: 'Echoes.',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
    },
    run: (call) => {
      const { text } = call.arguments.value() as { text: string }
      return completed({ content: [{ type: 'text', text }] })
    },
  },
  {
    kind: 'tool',
    exposed: 'desk_counts',
    definition: { inputSchema: { type: 'object' } },
    run: async (_call, exchange) => {
      for (const progress of [1, 2, 3]) {
        const native = mcpNative(
          encodeJson({ progressToken: 'upstream', progress, total: 3 }),
          '2025-11-25',
        )
        await exchange.emit({ kind: 'progress', native })
      }
      return completed({ content: [{ type: 'text', text: 'counted' }] })
    },
  },
  {
    kind: 'resource',
    exposed: 'note://one',
    definition: { name: 'one' },
    run: () => completed({ contents: [{ uri: 'note://one', text: 'first note' }] }),
  },
  { kind: 'template', exposed: 'note://{id}', definition: { name: 'note' } },
  {
    kind: 'prompt',
    exposed: 'desk_greet',
    definition: { description: 'Greets.' },
    run: () =>
      completed({ messages: [{ role: 'user', content: { type: 'text', text: 'Hello there' } }] }),
  },
]

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function openDoor() {
  const house = createScriptedHouse(CAPABILITIES)
  const server = await openTestDoor(house)
  closers.push(server.close)
  return { house, server }
}

describe.each(['modern', 'legacy'] as const)('the v2 client, %s', (era) => {
  test('lists, calls, reads and gets through the door', async () => {
    const { house, server } = await openDoor()
    const mode = era === 'modern' ? { pin: '2026-07-28' } : ('legacy' as const)
    const client = new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new TransportV2(new URL(server.url)))
    closers.push(() => client.close())

    expect(client.getNegotiatedProtocolVersion()).toBe(
      era === 'modern' ? '2026-07-28' : '2025-11-25',
    )
    expect(client.getServerVersion()).toMatchObject({ name: 'test-door' })
    expect(client.getInstructions()).toBe('Handle with care.')
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['desk_echo', 'desk_counts'])
    const result = await client.callTool({ name: 'desk_echo', arguments: { text: 'grüezi' } })
    expect(result.content).toEqual([{ type: 'text', text: 'grüezi' }])
    expect((await client.listResources()).resources).toHaveLength(1)
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1)
    const read = await client.readResource({ uri: 'note://one' })
    expect(read.contents).toMatchObject([{ uri: 'note://one', text: 'first note' }])
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: 'desk_greet' }])
    const prompt = await client.getPrompt({ name: 'desk_greet' })
    expect(prompt.messages).toHaveLength(1)
    expect(house.calls.map(({ door }) => door)[0]).toBe(
      era === 'modern' ? 'mcp 2026-07-28 http' : 'mcp 2025-11-25 http',
    )
  })

  test('gets every progress notification under its own token, in order, before the result', async () => {
    const { server } = await openDoor()
    const mode = era === 'modern' ? { pin: '2026-07-28' } : ('legacy' as const)
    const client = new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new TransportV2(new URL(server.url)))
    closers.push(() => client.close())

    const seen: number[] = []
    await client.callTool(
      { name: 'desk_counts' },
      { onprogress: ({ progress }) => seen.push(progress) },
    )

    expect(seen).toEqual([1, 2, 3])
  })

  test('an unknown tool is the JSON-RPC error -32602', async () => {
    const { house, server } = await openDoor()
    const mode = era === 'modern' ? { pin: '2026-07-28' } : ('legacy' as const)
    const client = new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new TransportV2(new URL(server.url)))
    closers.push(() => client.close())

    await expect(client.callTool({ name: 'desk_nothing' })).rejects.toMatchObject({ code: -32602 })
    expect(house.calls).toEqual([])
  })
})

test('the v2 client on auto finds the modern era', async () => {
  const { server } = await openDoor()
  const client = new ClientV2(
    { name: 'v2', version: '1' },
    { versionNegotiation: { mode: 'auto' } },
  )
  await client.connect(new TransportV2(new URL(server.url)))
  closers.push(() => client.close())

  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
  expect(client.getDiscoverResult()?.supportedVersions).toEqual([
    '2026-07-28',
    '2025-11-25',
    '2025-06-18',
    '2025-03-26',
  ])
})

test('R029: the v1 client lists, calls, reads, gets and ends its session', async () => {
  const { house, server } = await openDoor()
  const client = new ClientV1({ name: 'v1', version: '1' })
  const transport = new TransportV1(new URL(server.url))
  // The SDK's own class misses `exactOptionalPropertyTypes` against its own interface.
  await client.connect(transport as unknown as Transport)
  closers.push(() => client.close())

  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['desk_echo', 'desk_counts'])
  const result = await client.callTool({ name: 'desk_echo', arguments: { text: 'x' } })
  expect(result['content']).toEqual([{ type: 'text', text: 'x' }])
  expect(result).not.toHaveProperty('resultType')
  expect((await client.readResource({ uri: 'note://one' })).contents).toHaveLength(1)
  expect((await client.getPrompt({ name: 'desk_greet' })).messages).toHaveLength(1)
  await client.ping()
  await client.setLoggingLevel('warning')
  const { sessionId } = transport
  await transport.terminateSession()
  const late = new TransportV1(new URL(server.url), sessionId === undefined ? {} : { sessionId })
  late.setProtocolVersion('2025-11-25')
  await late.start()
  await expect(late.send({ jsonrpc: '2.0', id: 9, method: 'ping' })).rejects.toThrow(/404|session/i)
  await late.close()
  expect(house.calls.map(({ principal }) => principal.id)).toEqual([LOCAL.id, LOCAL.id, LOCAL.id])
})
