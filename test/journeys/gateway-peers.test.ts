/**
 * Peers that misbehave beside peers that do not: the healthy ones are there at once, what is missing is said and why,
 * nothing secret is told, and standard output stays protocol.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  comity,
  comityCommand,
  createHome,
  type Home,
  scripted,
  startUp,
  type Up,
  until,
} from './comity-process.fixture.ts'

const OBJECT = { type: 'object' }
const ECHO = { name: 'echo', inputSchema: OBJECT }
const SECRETS = {
  env: 'canary-env-5d1c',
  header: 'canary-header-77aa',
  file: 'canary-file-90fe',
  argument: 'canary-argument-1b2b',
} as const

let home: Home
let web: Server
let up: Up
let client: Client
let connected: number

beforeAll(async () => {
  web = createServer((request, response) => {
    // A careless server: it echoes the credentials it was sent.
    response.writeHead(401, { 'content-type': 'text/plain' })
    response.end(`refused ${String(request.headers.authorization)}`)
  }).listen(0, '127.0.0.1')
  await once(web, 'listening')
  const { port } = web.address() as AddressInfo
  home = createHome({}, { PARENT_SECRET: SECRETS.env })
  writeFileSync(home.path('token'), `${SECRETS.file}\n`, { mode: 0o600 })
  const peer = (name: string, more: Partial<Parameters<typeof scripted>[0]> = {}) =>
    scripted({ folder: home.path(name), tools: [ECHO], ...more })
  home.configure({
    mcpServers: {
      a: peer('a'),
      refuses: { url: 'http://127.0.0.1:9/mcp' },
      silent: peer('silent', { silent: true }),
      exits: {
        ...peer('exits', { exitWith: 3, complaint: `missing key, not ${SECRETS.env}` }),
        env: { API_KEY: '${env:PARENT_SECRET}' },
      },
      lists: {
        ...peer('lists', { listError: `no list for ${SECRETS.file}` }),
        env: { TOKEN: '${file:./token}' },
      },
      floods: peer('floods', { floodBytes: 8_000_000 }),
      noisy: peer('noisy', { noise: '[info] ready to serve {"not": "protocol"}' }),
      one_bad: peer('one_bad', {
        tools: [
          ECHO,
          { name: 'second', inputSchema: OBJECT },
          { name: 'bad', inputSchema: 7 },
          { name: 'fourth', inputSchema: OBJECT },
          { name: 'fifth', inputSchema: OBJECT },
        ],
      }),
      empty: peer('empty', { tools: [] }),
      absent: { command: home.path('no-such-program'), args: [SECRETS.argument] },
      careless: {
        url: `http://127.0.0.1:${port}/mcp`,
        headers: { Authorization: 'Bearer ${file:./token}', 'X-Key': SECRETS.header },
      },
      b: peer('b'),
    },
  })
  up = await startUp(home)
  client = new Client({ name: 'journey', version: '0' }, { versionNegotiation: { mode: 'auto' } })
  connected = Date.now()
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', up.url)))
}, 60_000)

afterAll(async () => {
  await client?.close()
  await up?.stop()
  web?.close()
  home?.remove()
})

interface Listed {
  readonly tools: { name: string }[]
  readonly _meta?: { 'comity/missing'?: { peer: string; reason: string }[] }
}

const list = async (): Promise<Listed> => (await client.listTools()) as Listed

describe('C55: one dead peer among the living', () => {
  test('the healthy ones are listed and callable within a second or so', async () => {
    const { tools } = await list()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['a_echo', 'b_echo']))
    expect(await client.callTool({ name: 'b_echo', arguments: {} })).toMatchObject({
      content: [{ text: 'echo ran' }],
    })
    // Ten processes start meanwhile on whatever else the machine does; no peer's time-out (15 s, 60 s) is in it.
    expect(Date.now() - connected).toBeLessThan(10_000)
  }, 30_000)

  test('lists say what is missing and why', async () => {
    const wanted = ['refuses', 'exits', 'lists', 'absent', 'careless', 'silent', 'one_bad']
    const missing = await until('every peer is judged', async () => {
      const told = (await list())._meta?.['comity/missing'] ?? []
      const names = told.filter((one) => one.reason !== 'still starting').map(({ peer }) => peer)
      const judged = wanted.filter((name) => name !== 'silent')
      return judged.every((name) => names.includes(name)) ? told : undefined
    })
    const reasonOf = (name: string): string =>
      missing.find(({ peer }) => peer === name)?.reason ?? 'not told'
    expect(reasonOf('exits')).toContain('missing key')
    expect(reasonOf('refuses')).toMatch(/127\.0\.0\.1:9|refused/u)
    expect(reasonOf('lists')).toContain('no list for')
    expect(reasonOf('absent')).toContain('no-such-program')
    expect(reasonOf('careless')).toMatch(/401/u)
    expect(reasonOf('silent')).not.toBe('not told')
    expect(reasonOf('one_bad')).toMatch(/^bad: /u)
    const tools = (await list()).tools.map(({ name }) => name)
    expect(tools.filter((name) => name.startsWith('one_bad_'))).toHaveLength(4)
    expect(tools).toContain('noisy_echo')
    expect(await client.callTool({ name: 'noisy_echo', arguments: {} })).toMatchObject({
      content: [{ text: 'echo ran' }],
    })
  }, 60_000)

  test('a call to one that is down is told what is wrong with it', async () => {
    const { code, stderr } = await comity(home, 'call', 'refuses/echo', '{}')
    expect(code).toBe(2)
    expect(stderr).toContain('refuses is not there now')
    expect(stderr).not.toContain('a fault of comity')
  })

  test('comity ls tells of every one, and of a peer with nothing to offer', async () => {
    await until('comity is up for a while', () => up.stdout().includes('silent') || undefined)
    const began = Date.now()
    const { code, stdout } = await comity(home, 'ls')
    // One that never answers was waited for long enough while comity started.
    expect(Date.now() - began).toBeLessThan(10_000)
    expect(code).toBe(1)
    for (const name of ['a', 'b', 'noisy', 'floods', 'one_bad', 'empty'])
      expect(stdout).toMatch(new RegExp(`^✓ ${name}: stdio, mcp 2025-11-25`, 'mu'))
    expect(stdout).toMatch(/^✓ empty: .*nothing offered/mu)
    expect(stdout).toContain('left out: tool bad')
    for (const name of ['refuses', 'exits', 'lists', 'absent', 'careless'])
      expect(stdout).toContain(`✗ ${name}: not reached`)
    expect(stdout).toContain('… silent: still starting')
    expect(stdout).toContain('missing key')
    expect(stdout).toMatch(/careless: .*401.*headers/u)
  }, 60_000)
})

test('C55: all down is an error and no empty list; after a recovery the tools are there', async () => {
  const other = createHome()
  const folder = other.path('exits')
  other.configure({ mcpServers: { exits: scripted({ folder, tools: [ECHO], exitWith: 3 }) } })
  const alone = await startUp(other)
  const caller = new Client(
    { name: 'caller', version: '0' },
    { versionNegotiation: { mode: 'auto' } },
  )
  await caller.connect(new StreamableHTTPClientTransport(new URL('/mcp', alone.url)))
  await expect(caller.listTools()).rejects.toThrow(/exits: .*exited with code 3/u)
  writeFileSync(other.path('exits/recovered'), '')
  const found = await until('its tools are listed', async () => {
    const listed = await caller.listTools().catch(() => undefined)
    return listed === undefined || listed.tools.length === 0 ? undefined : listed.tools
  })
  expect(found.map(({ name }) => name)).toEqual(['exits_echo'])
  await caller.close()
  await alone.stop()
  other.remove()
}, 60_000)

test('T12: no secret is in any output, error or record', async () => {
  const outputs = [
    up.stdout(),
    up.stderr(),
    JSON.stringify(await list()),
    ...(await Promise.all(
      [
        ['ls'],
        ['ls', '--json'],
        ['ledger', '--json', '-n', '500'],
        ['call', 'careless/echo', '{}'],
        ['call', 'exits/absent', '{}'],
        ['pins'],
      ].map(async (words) => JSON.stringify(await comity(home, ...words))),
    )),
  ]
  const stores = readdirSync(home.path('state'), { recursive: true, withFileTypes: true })
  for (const file of stores.filter((entry) => entry.isFile()))
    outputs.push(readFileSync(`${file.parentPath}/${file.name}`, 'latin1'))
  expect(stores.length).toBeGreaterThan(1)
  for (const [where, secret] of Object.entries(SECRETS))
    for (const output of outputs)
      expect(output.includes(secret) ? `${where}: ${output.slice(0, 3_000)}` : '').toBe('')
}, 90_000)

test('T12: a configuration with a mistake beside a secret does not tell it', async () => {
  const other = createHome({
    mcpServers: { x: { url: 7, headers: { Authorization: [SECRETS.header] } } },
    tokens: { alice: { token: `${SECRETS.env} with a space` } },
  })
  const { code, stdout, stderr } = await comity(other, 'ls')
  other.remove()
  expect(code).toBe(2)
  expect(stdout + stderr).not.toContain('canary')
})

test.each(['silent', 'debug'])(
  'R049: comity mcp --standalone --log %s writes nothing but protocol, failing peers or not',
  async (level) => {
    const other = createHome()
    const { mcpServers } = JSON.parse(readFileSync(home.config, 'utf8')) as {
      mcpServers: Record<string, unknown>
    }
    const { a, exits, noisy, absent, careless, refuses } = mcpServers
    writeFileSync(other.path('token'), SECRETS.file)
    other.configure({ mcpServers: { a, exits, noisy, absent, careless, refuses } })
    const { command, args, env, cwd } = comityCommand(other, 'mcp', '--standalone', '--log', level)
    const child = spawn(command, args, { cwd, env: { ...env, PARENT_SECRET: SECRETS.env } })
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const lines: string[] = []
    const reader = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
    const send = (message: object): void =>
      void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const answered = (id: number): Promise<Record<string, unknown>> =>
      until(`an answer to ${id}`, () =>
        lines
          .map((line) => JSON.parse(line) as Record<string, unknown>)
          .find((message) => message['id'] === id),
      )
    send({
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'raw', version: '0' },
      },
    })
    await answered(1)
    send({ method: 'notifications/initialized' })
    send({ id: 2, method: 'tools/list' })
    child.stdin.write('this is no message\n')
    send({ id: 3, method: 'tools/call', params: { name: 'a_echo', arguments: {} } })
    send({ id: 4, method: 'tools/call', params: { name: 'noisy_echo', arguments: {} } })
    send({ id: 5, method: 'no/such/method' })
    expect(JSON.stringify(await answered(2))).toContain('a_echo')
    expect(JSON.stringify(await answered(3))).toContain('echo ran')
    expect(JSON.stringify(await answered(4))).toContain('echo ran')
    expect(await answered(5)).toMatchObject({ error: { code: -32601 } })
    if (level === 'debug')
      await until('the report', () => (stderr.includes('✗ exits') ? true : undefined))
    const ended = once(child, 'close')
    child.stdin.end()
    const [code] = (await ended) as [number | null]
    expect(code).toBe(0)
    reader.close()
    expect(lines.length).toBeGreaterThanOrEqual(6)
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
    if (level === 'silent') expect(stderr).toBe('')
    expect(stderr + lines.join('\n')).not.toContain('canary')
    other.remove()
  },
  60_000,
)
