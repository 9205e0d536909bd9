/**
 * Who may reach the gateway, and what one principal may know of another's work.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { request } from 'node:http'
import { hostname, networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSdkAgent } from '../a2a/sdk-agent.ts'
import {
  comity,
  createHome,
  type Home,
  linesOf,
  scripted,
  start,
  startUp,
  type Up,
  until,
} from './comity-process.fixture.ts'

const TOKENS = {
  alice: { token: 'canary-token-of-alice', groups: ['staff'] },
  bob: { token: 'canary-token-of-bob' },
} as const
type Who = keyof typeof TOKENS

const TOOLS = ['open', 'private'].map((name) => ({ name, inputSchema: { type: 'object' } }))

let home: Home
let up: Up
let clerk: Awaited<ReturnType<typeof openSdkAgent>>

beforeAll(async () => {
  clerk = await openSdkAgent({ streaming: true })
  home = createHome()
  home.configure({
    mcpServers: { peer: scripted({ folder: home.path('peer'), tools: TOOLS }) },
    agents: { clerk: { card: clerk.cardUrl } },
    publish: { desk: { description: 'A desk.', skills: { open: { route: 'peer/open' } } } },
    policy: { rules: [{ match: 'peer/private', principal: 'bob', effect: 'deny' }] },
    tokens: TOKENS,
  })
  up = await startUp(home)
}, 60_000)

afterAll(async () => {
  await up?.stop()
  await clerk?.[Symbol.asyncDispose]()
  home?.remove()
})

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  readonly json: () => Record<string, unknown>
}

/** One request on a bare socket, so that every header is ours to set. */
function ask(
  url: string,
  headers: Readonly<Record<string, string>>,
  message?: object,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      {
        method: message === undefined ? 'GET' : 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: () => JSON.parse(text) as Record<string, unknown>,
          }),
        )
      },
    )
    asked.on('error', reject)
    asked.end(message === undefined ? undefined : JSON.stringify({ jsonrpc: '2.0', ...message }))
  })
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
const INITIALIZE = {
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '0' },
  },
}

async function connectAs(who: Who): Promise<Client> {
  const client = new Client({ name: who, version: '0' }, { versionNegotiation: { mode: 'auto' } })
  const requestInit = { headers: bearer(TOKENS[who].token) }
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', up.url), { requestInit }))
  return client
}

describe('R135: with tokens', () => {
  test.each([
    ['none', {}],
    ['a wrong one', bearer('canary-token-of-carol')],
    ['one of another scheme', { authorization: `Basic ${TOKENS.alice.token}` }],
    ['half of one', bearer(TOKENS.alice.token.slice(0, -1))],
  ] as const)('%s is 401 at both doors', async (_, headers) => {
    for (const [path, message] of [
      ['/mcp', INITIALIZE],
      ['/a2a/desk', { id: 1, method: 'GetTask', params: { id: 'x' } }],
    ] as const) {
      const refused = await ask(up.url + path, headers, message)
      expect(refused.status).toBe(401)
      expect(refused.headers['www-authenticate']).toContain('Bearer')
      expect(refused.text).not.toContain('canary')
    }
  })

  test('health needs no token, and tells nothing', async () => {
    expect((await ask(`${up.url}/healthz`, {})).json()).toEqual({ status: 'ok' })
  })

  test('R136: a tool that a rule hides from bob is as unknown to him as one that never was', async () => {
    const alice = await connectAs('alice')
    const bob = await connectAs('bob')
    const names = async (who: Client): Promise<string[]> =>
      (await who.listTools()).tools.map(({ name }) => name)
    expect(await names(alice)).toContain('peer_private')
    expect(await names(bob)).toContain('peer_open')
    expect(await names(bob)).not.toContain('peer_private')
    const said = async (name: string): Promise<string> =>
      bob.callTool({ name, arguments: {} }).then(
        () => 'called',
        (error: { code: number; message: string }) => `${error.code} ${error.message}`,
      )
    const never = await said('peer_never')
    expect(never).toContain('-32602')
    expect(await said('peer_private')).toBe(never.replace('never', 'private'))
    await alice.callTool({ name: 'peer_private', arguments: {} })
    expect(linesOf(home.path('peer/runs'))).toEqual(['private {}'])
    await alice.close()
    await bob.close()
  }, 30_000)

  test('R139: alice’s task is unknown to bob, in the words for one that never was', async () => {
    const alice = await connectAs('alice')
    const bob = await connectAs('bob')
    const asked = await alice.callTool({ name: 'delegate_clerk', arguments: { message: 'ask' } })
    const [taskId = 'none'] = /t-[0-9a-z]{25}/u.exec(JSON.stringify(asked)) ?? []
    const text = async (who: Client, name: string, id: string): Promise<string> =>
      JSON.stringify(
        await who
          .callTool({
            name,
            arguments: { taskId: id, ...(name === 'task_answer' ? { text: 'x' } : {}) },
          })
          .catch((error: Error) => error.message),
      )
        .replaceAll(id, 'ID')
        .replaceAll(/c-[0-9a-z]{25}/gu, 'CALL')
    const never = `t-${'0'.repeat(25)}`
    expect(await text(alice, 'task_status', taskId)).toContain('which one?')
    for (const name of ['task_status', 'task_answer', 'task_cancel']) {
      const foreign = await text(bob, name, taskId)
      expect(foreign).not.toContain('which one?')
      expect(foreign).toBe(await text(bob, name, never))
    }
    // It still waits for alice.
    expect(await text(alice, 'task_status', taskId)).toContain('which one?')
    await alice.close()
    await bob.close()
  }, 30_000)

  test('R139: a session opens for its owner alone', async () => {
    const opened = await ask(`${up.url}/mcp`, bearer(TOKENS.alice.token), INITIALIZE)
    expect(opened.status).toBe(200)
    const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) }
    const ping = { id: 2, method: 'ping' }
    const owner = await ask(`${up.url}/mcp`, { ...bearer(TOKENS.alice.token), ...session }, ping)
    expect(owner.status).toBe(200)
    const other = { ...bearer(TOKENS.bob.token), ...session }
    const foreign = await ask(`${up.url}/mcp`, other, ping)
    const unknown = { ...other, 'mcp-session-id': '00000000-0000-4000-8000-000000000000' }
    const never = await ask(`${up.url}/mcp`, unknown, ping)
    expect([foreign.status, foreign.text]).toEqual([never.status, never.text])
    expect(foreign.status).toBe(404)
  })

  test('no token is in any output or record', async () => {
    const ledger = await comity(home, 'ledger', '--json', '-n', '500')
    expect(ledger.stdout).toContain('"alice"')
    for (const said of [up.stdout(), up.stderr(), ledger.stdout, (await comity(home, 'ls')).stdout])
      expect(said).not.toContain('canary')
  })
})

describe('without tokens', () => {
  test.each(['0.0.0.0', '::', hostname()])('binding %s is refused', async (address) => {
    const open = createHome({ mcpServers: {} })
    const { code, stderr } = await comity(open, 'up', '--port', '0', '--host', address)
    expect(code).toBe(2)
    expect(stderr).toContain('tokens:')
    open.configure({ mcpServers: {}, listen: { host: address } })
    const configured = await comity(open, 'up', '--port', '0')
    open.remove()
    expect(configured.code).toBe(2)
    expect(configured.stderr).toContain('listen.host')
  })

  test('only loopback’s own names are served, and no foreign page', async () => {
    const open = createHome({ mcpServers: {} })
    const plain = await startUp(open)
    const { port } = new URL(plain.url)
    const statusOf = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      (await ask(`${plain.url}/mcp`, headers, INITIALIZE)).status
    expect(await statusOf({})).toBe(200)
    expect(await statusOf({ host: `localhost:${port}` })).toBe(200)
    expect(await statusOf({ origin: `http://127.0.0.1:${port}` })).toBe(200)
    expect(await statusOf({ host: 'rebound.example' })).toBe(403)
    expect(await statusOf({ host: `127.0.0.1.nip.example:${port}` })).toBe(403)
    expect(await statusOf({ origin: 'https://page.example' })).toBe(403)
    expect(await statusOf({ origin: 'null' })).toBe(403)
    await plain.stop()
    open.remove()
  }, 30_000)
})

test('with tokens it may listen beyond loopback, and is reached by the addresses of the machine', async () => {
  const wide = createHome({ mcpServers: {}, tokens: TOKENS, listen: { host: '0.0.0.0' } })
  const running = start(wide, ['up', '--port', '0'])
  const port = await until(
    'it listens',
    () => /^comity ready on http:\/\/\S+:(\d+)$/mu.exec(running.stdout())?.[1],
  )
  const addresses = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ family }) => family === 'IPv4')
    .map(({ address }) => address)
  expect(addresses).toContain('127.0.0.1')
  for (const address of addresses) {
    const url = `http://${address}:${port}/mcp`
    expect((await ask(url, bearer(TOKENS.alice.token), INITIALIZE)).status).toBe(200)
    expect((await ask(url, {}, INITIALIZE)).status).toBe(401)
  }
  const named = { ...bearer(TOKENS.alice.token), host: `${hostname()}:${port}` }
  expect((await ask(`http://127.0.0.1:${port}/mcp`, named, INITIALIZE)).status).toBe(200)
  const rebound = { ...bearer(TOKENS.alice.token), host: 'rebound.example' }
  expect((await ask(`http://127.0.0.1:${port}/mcp`, rebound, INITIALIZE)).status).toBe(403)
  await running.stop()
  wide.remove()
}, 30_000)
