/**
 * Names and addresses: every capability has one of its own, whatever peers call theirs, and a call by it reaches the
 * peer it belongs to.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  comity,
  comityJson,
  createHome,
  type Home,
  linesOf,
  scripted,
  startUp,
  type Up,
} from './comity-process.fixture.ts'

const tool = (name: string): Record<string, unknown> => ({ name, inputSchema: { type: 'object' } })
const TEMPLATE = { name: 'item', uriTemplate: 'res://item/{id}' }
const PEERS = {
  docs: {
    tools: ['search', 'v2_search', 'read.file', '工具', 'x'.repeat(80), 'x_deadbeef', 'link'].map(
      tool,
    ),
    resources: [
      { uri: 'res://same', name: 'same' },
      { uri: 'res://docs/own', name: 'own' },
    ],
    templates: [TEMPLATE],
  },
  docs_v2: {
    tools: ['search', 'only', 'read_file'].map(tool),
    resources: [{ uri: 'res://same', name: 'same' }],
    templates: [TEMPLATE, { name: 'other', uriTemplate: 'other://{+rest}' }],
  },
  'docs.v2': { tools: ['search'].map(tool) },
} as const

let home: Home
let up: Up
let client: Client

beforeAll(async () => {
  home = createHome()
  home.configure({ mcpServers: servers() })
  up = await startUp(home)
  client = await connect()
}, 60_000)

afterAll(async () => {
  await client?.close()
  await up?.stop()
  home?.remove()
})

function servers(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(PEERS).map(([name, script]) => [
      name,
      scripted({ folder: home.path(name), ...script }, { WHO: name }),
    ]),
  )
}

async function connect(): Promise<Client> {
  const made = new Client({ name: 'j', version: '0' }, { versionNegotiation: { mode: 'auto' } })
  await made.connect(new StreamableHTTPClientTransport(new URL('/mcp', up.url)))
  return made
}

interface PeerReport {
  readonly peer: string
  readonly capabilities: { kind: string; name: string; exposed: string }[]
}

/** `peer/own name` to exposed name, of tools. */
async function exposedTools(of: Home): Promise<Map<string, string>> {
  const { peers } = (await comityJson(of, 'ls')) as unknown as { peers: PeerReport[] }
  return new Map(
    peers.flatMap(({ peer, capabilities }) =>
      capabilities
        .filter(({ kind }) => kind === 'tool')
        .map(({ name, exposed }): [string, string] => [`${peer}/${name}`, exposed]),
    ),
  )
}

const textOf = (result: object): unknown => {
  const { content } = result as { content: { text: string }[] }
  return content[0]?.text
}

test('R006, R007: names that collide are told apart, are fit for models, and reach their own peer', async () => {
  const names = await exposedTools(home)
  expect(names.size).toBe(11)
  expect(new Set(names.values()).size).toBe(names.size)
  for (const name of names.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/u)
  // <a>_<b> belongs to the longest configured peer; the other reading has the suffix.
  expect(names.get('docs/search')).toBe('docs_search')
  expect(names.get('docs_v2/search')).toBe('docs_v2_search')
  expect(names.get('docs/v2_search')).toMatch(/^docs_v2_search_[0-9a-f]{8}$/u)
  expect(names.get('docs.v2/search')).toMatch(/^docs_v2_search_[0-9a-f]{8}$/u)
  expect(names.get('docs/read.file')).toMatch(/^docs_read_file_[0-9a-f]{8}$/u)
  expect(names.get('docs/x_deadbeef')).toMatch(/^docs_x_deadbeef_[0-9a-f]{8}$/u)
  expect(names.get('docs_v2/read_file')).toBe('docs_v2_read_file')

  const listed = (await client.listTools()).tools.map(({ name }) => name)
  expect(listed.toSorted()).toEqual([...names.values()].toSorted())
  for (const [own, exposed] of names) {
    const [peer = '', name = ''] = own.split('/')
    expect(textOf(await client.callTool({ name: exposed, arguments: {} }))).toBe(
      name === 'link' ? undefined : `${name} ran`,
    )
    expect(linesOf(home.path(peer, 'runs')).at(-1)).toBe(`${name} {}`)
  }
}, 60_000)

test('names follow from the configuration, not from who is connected', async () => {
  const before = await exposedTools(home)
  const { docs, docs_v2: second, ...rest } = servers()
  const other = createHome({
    mcpServers: { ...rest, docs_v2: { ...second, disabled: true }, docs },
  })
  const after = await exposedTools(other)
  other.remove()
  expect(after.has('docs_v2/search')).toBe(false)
  for (const [own, exposed] of after) expect(exposed).toBe(before.get(own))
}, 60_000)

test('names: as-is keeps what one peer alone offers', async () => {
  const other = createHome({ mcpServers: servers(), names: 'as-is' })
  const names = await exposedTools(other)
  const called = await comity(other, 'call', 'only', '{}')
  other.remove()
  expect(names.get('docs_v2/only')).toBe('only')
  expect(names.get('docs/read.file')).toBe('read.file')
  expect(names.get('docs/search')).toBe('docs_search')
  expect(names.get('docs_v2/search')).toBe('docs_v2_search')
  expect(new Set(names.values()).size).toBe(names.size)
  expect(called).toMatchObject({ code: 0, stdout: 'only ran\n' })
}, 60_000)

async function readBy(uri: string, by: Client = client): Promise<string> {
  const { contents } = await by.readResource({ uri })
  return String((contents[0] as { text?: string } | undefined)?.text)
}

test('a URI of two peers stays with the first; the second has one of its own', async () => {
  const { resources } = await client.listResources()
  expect(resources.map(({ uri }) => uri)).toEqual([
    'res://same',
    'res://docs/own',
    'comity://docs_v2/res%3A%2F%2Fsame',
  ])
  expect(await readBy('res://same')).toBe('docs has res://same')
  expect(await readBy('comity://docs_v2/res%3A%2F%2Fsame')).toBe('docs_v2 has res://same')
  const { code, stdout } = await comity(home, 'read', 'comity://docs_v2/res%3A%2F%2Fsame')
  expect(code).toBe(0)
  expect(stdout).toContain('docs_v2 has res://same')
})

test('an unlisted URI is read by its template; of two equal templates each can be reached', async () => {
  expect(await readBy('res://item/7')).toBe('docs has res://item/7')
  expect(await readBy('other://a/b/c')).toBe('docs_v2 has other://a/b/c')
  await expect(readBy('res://item/7/8')).rejects.toMatchObject({ code: -32602 })
  const { resourceTemplates } = await client.listResourceTemplates()
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
    'res://item/{id}',
    'comity://docs_v2/res%3A%2F%2Fitem%2F{id}',
    'other://{+rest}',
  ])
  const scoped = 'comity://docs_v2/res%3A%2F%2Fitem%2F{id}'.replace('{id}', '7')
  expect(await readBy(scoped)).toBe('docs_v2 has res://item/7')
  await expect(
    readBy(`comity://docs_v2/${encodeURIComponent('never://offered')}`),
  ).rejects.toMatchObject({ code: -32602 })
})

test('a linked URI is read at the peer that linked it, once it did', async () => {
  const other = createHome({ mcpServers: servers(), tokens: TOKENS })
  const second = await startUp(other)
  const connectAs = async (token: string): Promise<Client> => {
    const made = new Client({ name: 'j', version: '0' }, { versionNegotiation: { mode: 'auto' } })
    const requestInit = { headers: { authorization: `Bearer ${token}` } }
    await made.connect(
      new StreamableHTTPClientTransport(new URL('/mcp', second.url), { requestInit }),
    )
    return made
  }
  const alice = await connectAs(TOKENS.alice.token)
  const bob = await connectAs(TOKENS.bob.token)
  const uri = 'linked://only/by/link'
  await expect(readBy(uri, alice)).rejects.toMatchObject({ code: -32602 })
  await alice.callTool({ name: 'docs_link', arguments: {} })
  expect(await readBy(uri, alice)).toBe(`docs has ${uri}`)
  // It was linked to alice, not to bob.
  await expect(readBy(uri, bob)).rejects.toMatchObject({ code: -32602 })
  await alice.close()
  await bob.close()
  await second.stop()
  other.remove()
}, 60_000)

const TOKENS = { alice: { token: 'token-of-alice' }, bob: { token: 'token-of-bob' } }
