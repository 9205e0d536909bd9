/** Schemas of peers through a real gateway: listed as they are, and arguments checked against them before anything is sent. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createHome,
  type Home,
  linesOf,
  scripted,
  startUp,
  type Up,
  until,
} from './comity-process.fixture.ts'

interface Tool {
  readonly name: string
  readonly inputSchema: unknown
}

function toolsOf(name: string): readonly Tool[] {
  const file = new URL(`../cases/${name}.json`, import.meta.url)
  const { given } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly given: { readonly tools: readonly Tool[] }
  }
  return given.tools
}

const C05 = toolsOf('C05-schema-top-level-anyof')
const C07 = toolsOf('C07-schema-defs-kept')

let home: Home
let up: Up
let client: Client

beforeAll(async () => {
  home = createHome()
  const peer = (folder: string, tools: readonly Tool[]) =>
    scripted({ folder: home.path(folder), tools: tools.map((tool) => ({ ...tool })) })
  home.configure({ mcpServers: { shapes: peer('shapes', C05), defs: peer('defs', C07) } })
  up = await startUp(home)
  client = new Client({ name: 'journey', version: '0' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', up.url)))
}, 60_000)

afterAll(async () => {
  await client?.close()
  await up?.stop()
  home?.remove()
})

async function schemasOf(peer: string, tools: readonly Tool[]): Promise<readonly unknown[]> {
  const listed = await until(`${peer} is listed`, async () => {
    const found = (await client.listTools()).tools
    return found.some(({ name }) => name.startsWith(`${peer}_`)) ? found : undefined
  })
  return tools.map(
    (tool) => listed.find(({ name }) => name === `${peer}_${tool.name}`)?.inputSchema ?? 'absent',
  )
}

/** How calls ended, and what of them reached the peer. */
async function callAll(
  peer: string,
  calls: readonly (readonly [string, Record<string, unknown>])[],
): Promise<{ readonly said: readonly string[]; readonly ran: readonly string[] }> {
  const said: string[] = []
  for (const [name, args] of calls) {
    const answer = await client
      .callTool({ name: `${peer}_${name}`, arguments: args })
      .catch((error: unknown) => error as Error)
    said.push(answer instanceof Error ? answer.message : JSON.stringify(answer))
  }
  return { said, ran: linesOf(home.path(peer, 'runs')) }
}

test('C05: alternatives and conditions at the root reach the client unchanged, and are what arguments are checked against', async () => {
  expect(await schemasOf('shapes', C05)).toEqual(C05.map(({ inputSchema }) => inputSchema))
  const { said, ran } = await callAll('shapes', [
    ['attach', {}],
    ['cond', { mode: 'small', n: 99 }],
    ['cond', { mode: 'small', n: 3 }],
    ['attach', { bytes: 'x' }],
  ])
  expect(said[0]).toMatch(/bytes|fromUrl/u)
  expect(said[1]).toMatch(/\/n\b.*10/u)
  expect(said[2]).toContain('cond ran')
  expect(said[3]).toContain('attach ran')
  expect(ran).toEqual(['cond {"mode":"small","n":3}', 'attach {"bytes":"x"}'])
}, 60_000)

test('C07: definitions, references and a closed root survive, and a recursive argument is refused where it is wrong', async () => {
  expect(await schemasOf('defs', C07)).toEqual(C07.map(({ inputSchema }) => inputSchema))
  const { said, ran } = await callAll('defs', [
    ['tree', { root: { label: 'a', kids: [{ label: 'b', kids: [] }] } }],
    ['tree', { root: { label: 'a', kids: [{ kids: [] }] } }],
    ['tree', { root: { label: 'a' }, more: 1 }],
  ])
  expect(said[0]).toContain('tree ran')
  expect(said[1]).toContain('/root/kids/0')
  expect(said[2]).toContain('more')
  expect(ran).toHaveLength(1)
}, 60_000)
