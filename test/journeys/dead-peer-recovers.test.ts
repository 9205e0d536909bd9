/** C55, on: a peer that was down comes back, dies in mid-call and comes back again, beside one that never answers; and `lists: strict`. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import {
  comityJson,
  createHome,
  type Home,
  linesOf,
  scripted,
  startUp,
  until,
} from './comity-process.fixture.ts'

const tools = ['echo', 'die'].map((name) => ({ name, inputSchema: { type: 'object' } }))

/** Accepts connections and says nothing on them. */
async function listenMute(): Promise<string> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

async function open(config: (home: Home) => object): Promise<{ home: Home; client: Client }> {
  const home = createHome()
  onTestFinished(home.remove)
  home.configure({ ...config(home) })
  const up = await startUp(home)
  onTestFinished(async () => void (await up.stop()))
  const client = new Client({ name: 'caller', version: '0' })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', up.url)))
  onTestFinished(() => client.close())
  return { home, client }
}

const namesOf = async (client: Client): Promise<readonly string[]> =>
  (await client.listTools()).tools.map(({ name }) => name)

test('C55: one that comes back is told of and listed; when it dies in a call, that call is unknown and the next is served', async () => {
  const mute = await listenMute()
  const { home, client } = await open((of) => ({
    mcpServers: {
      a: scripted({ folder: of.path('a'), tools }),
      c: scripted({ folder: of.path('c'), tools, exitWith: 3, complaint: 'missing key' }),
      mute: { url: mute },
    },
  }))
  let changes = 0
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    changes += 1
  })
  const begun = performance.now()
  expect(await namesOf(client)).toEqual(['a_echo', 'a_die'])
  expect(await client.callTool({ name: 'a_echo', arguments: {} })).toMatchObject({
    content: [{ text: 'echo ran' }],
  })
  // What never answers is given up after 60 s, and a list is not kept waiting for that.
  expect(performance.now() - begun).toBeLessThan(10_000)
  const down = await client.listTools()
  expect(down._meta?.['comity/missing']).toEqual(
    expect.arrayContaining([
      { peer: 'c', reason: expect.stringMatching(/code 3.*missing key/su) as string },
      { peer: 'mute', reason: 'still starting' },
    ]),
  )

  await until(
    'what was told at the start is over',
    () => linesOf(home.path('c/pids')).length > 1 || undefined,
  )
  const before = changes
  writeFileSync(home.path('c/recovered'), '')
  await until('its return is told', () => changes > before || undefined)
  expect(await namesOf(client)).toEqual(expect.arrayContaining(['a_echo', 'c_echo', 'c_die']))

  const beside = client.callTool({ name: 'a_echo', arguments: { beside: true } })
  const died = await client.callTool({ name: 'c_die', arguments: {} })
  expect(JSON.stringify(died)).toMatch(/it was sent and may have run/u)
  expect(await beside).toMatchObject({ content: [{ text: 'echo ran' }] })
  const again = await client.callTool({ name: 'c_echo', arguments: {} })
  expect(again).toMatchObject({ content: [{ text: 'echo ran' }] })
  expect(linesOf(home.path('c/runs'))).toEqual(['die {}', 'echo {}'])
}, 90_000)

test('C55: under lists: strict a list with a peer missing is an error that names it, until it is there', async () => {
  const { home, client } = await open((of) => ({
    lists: 'strict',
    mcpServers: {
      a: scripted({ folder: of.path('a'), tools }),
      c: scripted({ folder: of.path('c'), tools, exitWith: 3, complaint: 'missing key' }),
    },
  }))
  await expect(client.listTools()).rejects.toThrow(/lists: strict.*c: .*missing key/su)
  // Only lists fail closed: what is there can be called.
  expect(await client.callTool({ name: 'a_echo', arguments: {} })).toMatchObject({
    content: [{ text: 'echo ran' }],
  })
  writeFileSync(home.path('c/recovered'), '')
  expect(await comityJson(home, 'restart', 'c')).toMatchObject({ exit: 0, peer: 'c' })
  const names = await until('all are listed', () => namesOf(client).catch(() => undefined))
  expect(names).toEqual(['a_echo', 'a_die', 'c_echo', 'c_die'])
}, 90_000)
