/**
 * Large results through a real gateway: what is within the limit of a message arrives whole, what is beyond it ends that call
 * alone, and the gateway's memory stays within what is stated here.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  comityJson,
  createHome,
  type Home,
  isAlive,
  linesOf,
  startUp,
  type Up,
} from './comity-process.fixture.ts'

/** A stdio server whose tools answer as the case says; each process writes its id to the file it is given. */
const PEER = `
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
appendFileSync(process.argv[1], process.pid + '\\n')
const text = (words) => ({ type: 'text', text: words })
const RESULTS = {
  blocks: () => ({ content: Array.from({ length: 200 }, (_, n) => text(String(n).padEnd(40_000, 'b'))) }),
  blob: () => ({ content: [{ type: 'resource', resource: { uri: 'res://blob', blob: 'A'.repeat(64 * 1024 * 1024) } }] }),
  fails: () => ({ isError: true, content: [text('e'.repeat(400_000))] }),
  image: () => ({ content: [{ type: 'image', mimeType: 'image/png', data: 'A'.repeat(12_000_000) }] }),
  lines: () => ({ content: [text('1234\\n'.repeat(2_000_000))] }),
  small: () => ({ content: [text('small')] }),
}
const tools = Object.keys(RESULTS).map((name) => ({ name, inputSchema: { type: 'object' } }))
const resultOf = ({ method, params }) =>
  method === 'initialize'
    ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'sizes', version: '1' } }
    : method === 'tools/list' ? { tools } : RESULTS[params.name]()
createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  if (message.id === undefined) return
  const known = ['initialize', 'tools/list', 'tools/call'].includes(message.method)
  const answer = known ? { result: resultOf(message) } : { error: { code: -32601, message: 'no' } }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }) + '\\n')
})
`

interface Called {
  readonly content: readonly {
    readonly text?: string
    readonly data?: string
  }[]
  readonly isError?: boolean
  readonly _meta?: Readonly<Record<string, unknown>>
}

let home: Home
let up: Up
let client: Client

beforeAll(async () => {
  home = createHome()
  home.configure({
    mcpServers: {
      s: {
        command: process.execPath,
        args: ['--input-type=module', '-e', PEER, '--', home.path('pids')],
      },
    },
  })
  up = await startUp(home)
  client = new Client({ name: 'journey', version: '0' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', up.url)))
}, 60_000)

afterAll(async () => {
  await client?.close()
  await up?.stop()
  home?.remove()
})

async function call(name: string): Promise<Called> {
  const answer = await client.callTool({ name: `s_${name}`, arguments: {} }, { timeout: 60_000 })
  return answer as Called
}

interface Settled {
  readonly state: string
  readonly because?: string
  readonly result?: { readonly bytes: number; readonly digest: string }
}

/** What the record says of the calls that ended, in order. */
async function settled(): Promise<readonly Settled[]> {
  const { entries } = (await comityJson(home, 'ledger')) as {
    readonly entries?: readonly { readonly kind: string; readonly facts: Settled }[]
  }
  return (entries ?? []).flatMap(({ kind, facts }) => (kind === 'settled' ? [facts] : []))
}

/** The most memory the gateway ever had resident, MiB; undefined where the system does not say. */
function peakMiB(): number | undefined {
  const line = linesOf(`/proc/${up.pid}/status`).find((one) => one.startsWith('VmHWM:'))
  return line === undefined ? undefined : Number(/\d+/u.exec(line)?.[0]) / 1024
}

test('C48: within the limit a result arrives whole, whatever it is made of', async () => {
  const blocks = await call('blocks')
  expect(blocks.content).toHaveLength(200)
  expect(blocks.content.map(({ text }) => text?.length)).toEqual(Array(200).fill(40_000))
  expect(blocks.content[199]?.text).toMatch(/^199b/u)
  const fails = await call('fails')
  expect([fails.isError, fails.content[0]?.text?.length]).toEqual([true, 400_000])
  expect((await call('image')).content[0]?.data).toHaveLength(12_000_000)
  expect((await call('lines')).content[0]?.text).toBe('1234\n'.repeat(2_000_000))
  // The record has the size and a digest of all of it, and none of the bytes.
  const facts = await settled()
  const digest = expect.stringMatching(/^[0-9a-f]{64}$/u) as string
  expect(facts.map(({ result }) => result)).toEqual(
    facts.map(() => ({ bytes: expect.any(Number) as number, digest })),
  )
  expect(facts.map(({ result }) => Math.floor((result?.bytes ?? 0) / 100_000))).toEqual([
    80, 4, 120, 120,
  ])
}, 90_000)

test('C48: beyond the limit that call alone is unknown, the server is ended cleanly, and the next call is served', async () => {
  const [before] = linesOf(home.path('pids')).slice(-1)
  const answer = await call('blob').catch((error: unknown) => error as Error)
  const said = answer instanceof Error ? answer.message : JSON.stringify(answer)
  expect(said.length).toBeLessThan(10_000)
  expect(said).toMatch(/limit of 67108864 bytes/u)
  expect((await call('small')).content[0]?.text).toBe('small')
  const [after] = linesOf(home.path('pids')).slice(-1)
  expect(after).not.toBe(before)
  expect(isAlive(Number(before))).toBe(false)
  expect((await settled()).at(-2)).toMatchObject({ state: 'unknown', because: 'sent_no_answer' })
}, 90_000)

test('C48: twenty at once arrive whole, and the gateway stays under 768 MiB', async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => call('blocks')))
  const sizes = all.map(({ content }) =>
    content.reduce((sum, { text }) => sum + (text?.length ?? 0), 0),
  )
  expect(sizes).toEqual(Array(20).fill(8_000_000))
  const peak = peakMiB()
  if (peak !== undefined) expect(peak).toBeLessThan(768)
}, 120_000)
