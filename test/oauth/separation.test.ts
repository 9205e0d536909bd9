/** What a caller bears stays at the door, and what a peer is given goes to that peer alone, wherever anybody points to. */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { modernMeta, postModern } from '../../src/mcp/downstream/testing/test-door.ts'
import { createHome, startUp, until, type Home } from '../journeys/comity-process.fixture.ts'
import { serveGuarded } from './mcp-server.fixture.ts'
import { logIn } from './processes.fixture.ts'
import { serveProvider } from './provider.fixture.ts'

interface Case {
  readonly given: { readonly client_headers: Readonly<Record<string, string>> }
}

const SENT = (
  JSON.parse(
    readFileSync(
      new URL('../cases/C62-authsep-bearer-bound-to-one-upstream.json', import.meta.url),
      'utf8',
    ),
  ) as Case
).given.client_headers
/** Of the caller's: none of these may reach anybody. `A-TOKEN` is the configuration's too, and may reach `a`. */
const CALLERS = ['GW-TOKEN-aaa', 'k-1', 's=1']

interface Upstream {
  readonly url: string
  readonly heard: { readonly url: string | undefined; readonly headers: IncomingHttpHeaders }[]
}

let home: Home
const closers: (() => unknown)[] = []

beforeEach(() => {
  home = createHome()
  closers.push(() => home.remove())
})
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A server of 2026-07-28; with `to`, all that it says is that this is elsewhere. */
async function serve(to?: {
  readonly status: number
  readonly location: string
}): Promise<Upstream> {
  const heard: Upstream['heard'] = []
  const server = createServer((request, response) => {
    heard.push({ url: request.url, headers: request.headers })
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      if (to !== undefined)
        return void response.writeHead(to.status, { location: to.location }).end()
      if (body === '') return void response.writeHead(405).end()
      const { id, method } = JSON.parse(body) as { id: number; method: string }
      const rest = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' }
      const results: Record<string, object> = {
        'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
        'tools/list': { tools: [{ name: 'read', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [{ type: 'text', text: 'read ran' }] },
      }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { ...rest, ...results[method] } }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, heard }
}

const callOf = (name: string) => ({ name, arguments: {}, _meta: modernMeta() })
const rules = { rules: [{ match: ['*/*'], effect: 'allow' }] }

test('C62: what a caller bears reaches no upstream, each upstream has its own credentials, and none goes where a redirect points', async () => {
  const provider = await serveProvider()
  closers.push(() => provider.close())
  const elsewhere = await serve()
  const a = await serve()
  const b = await serve()
  const c = await serve({ status: 307, location: elsewhere.url })
  const c301 = await serve({ status: 301, location: elsewhere.url })
  const d = await serveGuarded(provider)
  closers.push(() => d.close())
  home.configure({
    mcpServers: {
      a: { url: a.url, headers: { Authorization: 'Bearer A-TOKEN' } },
      b: { url: b.url },
      c: { url: c.url, headers: { Authorization: 'Bearer C-TOKEN', 'X-Api-Key': 'C-KEY' } },
      c301: { url: c301.url, headers: { Authorization: 'Bearer C-TOKEN' } },
      d: { url: d.url },
    },
    tokens: { alice: { token: 'GW-TOKEN-aaa' } },
    store: 'sqlite:./comity.db',
    policy: rules,
  })
  expect((await logIn(home, 'd', '--as', 'alice')).code).toBe(0)
  expect((await logIn(home, 'd')).code).toBe(0)
  const up = await startUp(home)
  closers.push(() => up.stop())
  const headers = { ...SENT }
  const ask = (method: string, params: object) =>
    postModern(`${up.url}/mcp`, method, params as Record<string, unknown>, { headers })

  const listed = await until('a, b and d are listed', async () => {
    const { text } = await ask('tools/list', { _meta: modernMeta() })
    return ['a_read', 'b_read', 'd_read'].every((name) => text.includes(name)) ? text : undefined
  })
  expect(listed).not.toContain('c_read')
  for (const peer of ['a', 'b', 'd'])
    expect((await ask('tools/call', callOf(`${peer}_read`))).text).toContain('read ran')
  await ask('tools/call', callOf('c_read'))
  await ask('tools/call', callOf('c301_read'))

  const saidTo = {
    a: JSON.stringify(a.heard),
    b: JSON.stringify(b.heard),
    c: JSON.stringify([c.heard, c301.heard]),
    d: JSON.stringify(d.served.map((one) => one.headers)),
  }
  for (const said of Object.values(saidTo)) {
    expect(said.length).toBeGreaterThan(100)
    for (const secret of CALLERS) expect(said).not.toContain(secret)
    expect(said.toLowerCase()).not.toMatch(/cookie|x-up-a-authorization/u)
  }
  expect(
    Object.entries(saidTo)
      .filter(([, said]) => said.includes('A-TOKEN'))
      .map(([at]) => at),
  ).toEqual(['a'])
  expect(
    Object.entries(saidTo)
      .filter(([, said]) => said.includes('C-TOKEN'))
      .map(([at]) => at),
  ).toEqual(['c'])
  expect(saidTo.b).not.toMatch(/authorization|x-api-key/iu)
  // Tokens of a login: alice's for her call, and only at their own server.
  const dTokens = new Set(d.served.flatMap(({ token }) => token ?? []))
  expect(dTokens.size).toBe(2)
  for (const token of dTokens)
    for (const said of [saidTo.a, saidTo.b, saidTo.c]) expect(said).not.toContain(token)
  expect(elsewhere.heard).toEqual([])
}, 60_000)

test('C62: a token of a login is dropped where its server points to another place', async () => {
  const provider = await serveProvider()
  closers.push(() => provider.close())
  const server = await serveGuarded(provider)
  closers.push(() => server.close())
  const elsewhere = await serve()
  home.configure({
    mcpServers: { d: { url: server.url } },
    store: 'sqlite:./comity.db',
    policy: rules,
  })
  expect((await logIn(home, 'd')).code).toBe(0)
  const up = await startUp(home)
  closers.push(() => up.stop())
  const call = () => postModern(`${up.url}/mcp`, 'tools/call', callOf('d_read'))
  expect((await call()).text).toContain('read ran')
  for (const status of [301, 302, 307, 308]) {
    server.moveTo({ status, location: elsewhere.url })
    expect((await call()).text).not.toContain('read ran')
  }
  expect(elsewhere.heard).toEqual([])
})

test('C62: a token that is not the gateway’s own is refused at the door with 401, be it good at an upstream', async () => {
  const provider = await serveProvider()
  closers.push(() => provider.close())
  const server = await serveGuarded(provider)
  closers.push(() => server.close())
  home.configure({
    mcpServers: { d: { url: server.url } },
    tokens: { alice: { token: 'GW-TOKEN-aaa' } },
    store: 'sqlite:./comity.db',
    policy: rules,
  })
  expect((await logIn(home, 'd', '--as', 'alice')).code).toBe(0)
  // What the server offers is listed with the login of this machine's user.
  expect((await logIn(home, 'd')).code).toBe(0)
  const up = await startUp(home)
  closers.push(() => up.stop())
  const call = (authorization?: string) =>
    postModern(`${up.url}/mcp`, 'tools/call', callOf('d_read'), {
      headers: authorization === undefined ? {} : { authorization },
    })
  expect((await call('Bearer GW-TOKEN-aaa')).text).toContain('read ran')
  const upstreams = server.served.find(({ token }) => token !== undefined)?.token
  expect(upstreams).toMatch(/./u)
  const before = server.served.length
  for (const foreign of [
    undefined,
    `Bearer ${upstreams}`,
    'Bearer GW-TOKEN-aaab',
    'Basic GW-TOKEN-aaa',
  ]) {
    const refused = await call(foreign)
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer /u)
  }
  expect(server.served).toHaveLength(before)
})
