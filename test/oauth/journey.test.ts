/**
 * A remote server behind a real authorization server, as its user has it: added, logged in to, called, refreshed, revoked and logged
 * out of, with two gateways on the same tokens. What the authorization server was asked is counted to the last request.
 */
import { symlinkSync } from 'node:fs'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/client'
import { expect, onTestFinished, test } from 'vitest'
import {
  comity,
  comityJson,
  createHome,
  startUp,
  until,
} from '../journeys/comity-process.fixture.ts'
import { serveGuarded } from './mcp-server.fixture.ts'
import { connectTo, logIn, pipeTo, say, toolsOf } from './processes.fixture.ts'
import { serveProvider } from './provider.fixture.ts'

const KEY = Buffer.alloc(32, 5).toString('base64')
const RULES = { rules: [{ match: ['*/*'], effect: 'allow' }] }

test('added, logged in to, called, refreshed, revoked, logged out of: two gateways, and no request too many', async () => {
  const provider = await serveProvider()
  onTestFinished(() => provider.close())
  const server = await serveGuarded(provider)
  onTestFinished(() => server.close())
  let known = 0
  /** What the authorization server was asked since this was last looked at. */
  const asked = (): readonly string[] => {
    const news = provider.asked().slice(known)
    known += news.length
    return news
  }

  // Two stores, each with its gateway, whose tokens are one file.
  const first = createHome({}, { COMITY_TOKEN_KEY: KEY })
  onTestFinished(() => first.remove())
  const second = createHome({}, { COMITY_TOKEN_KEY: KEY })
  onTestFinished(() => second.remove())
  for (const home of [first, second])
    home.configure({
      mcpServers: { docs: { url: server.url } },
      store: 'sqlite:./comity.db',
      policy: RULES,
    })
  symlinkSync(first.path('comity.db.tokens'), second.path('comity.db.tokens'))

  // Added: nobody is logged in, and both say what to do, and ask the authorization server for nothing.
  const ups = [await startUp(first), await startUp(second)]
  for (const up of ups) onTestFinished(async () => void (await up.stop()))
  const before = await comityJson(first, 'ls', 'docs')
  expect(before).toMatchObject({
    exit: 1,
    peers: [{ state: 'failed', detail: expect.stringContaining('run: comity login docs') }],
  })
  expect(asked()).toEqual([])

  // Logged in to: both hosts list by themselves.
  const clients = await Promise.all(ups.map(({ url }) => connectTo(url)))
  for (const client of clients) onTestFinished(() => client.close())
  const [one, two] = clients as [Client, Client]
  expect((await logIn(first, 'docs')).code).toBe(0)
  for (const client of clients)
    await until(
      'the tools are there',
      async () => (await toolsOf(client)).includes('docs_read') || undefined,
    )
  expect(asked()).toEqual(['discover', 'register', 'authorize', 'token authorization_code'])

  // Called: over HTTP, from a stdio host, and by the command.
  expect(await say(one, 'docs_read')).toBe('read ran')
  expect(await say(two, 'docs_read')).toBe('read ran')
  const host = new Client({ name: 'host', version: '0' }, { versionNegotiation: { mode: 'auto' } })
  await host.connect(new StdioClientTransport(pipeTo(first)))
  onTestFinished(() => host.close())
  expect(await say(host, 'docs_read')).toBe('read ran')
  expect((await comity(second, 'call', 'docs_read')).stdout).toContain('read ran')

  // Run out: all at once, and one renewal for everybody.
  provider.dropAccessTokens()
  const all = await Promise.all(
    [one, two, host, one, two].map((client) => say(client, 'docs_read')),
  )
  expect(all).toEqual(Array.from({ length: 5 }, () => 'read ran'))
  expect(asked()).toEqual(['discover', 'token refresh_token'])

  // Revoked: one renewal is tried, then everybody is told to log in; and asking again asks nobody.
  await provider.revokeAll()
  const words = [await say(one, 'docs_read'), await say(two, 'docs_read')]
  for (const said of words) expect(said).toContain('comity login docs')
  expect(words.join().match(/run: comity login docs/gu)).toHaveLength(2)
  expect(asked().filter((what) => what !== 'discover')).toEqual(['token refresh_token'])
  expect(await say(one, 'docs_read')).toContain('comity login docs')
  expect(await say(two, 'docs_read')).toContain('comity login docs')
  expect(await say(host, 'docs_read')).toContain('comity login docs')
  expect(asked()).toEqual([])

  // Logged in to anew, from the other home, and out again.
  expect((await logIn(second, 'docs')).code).toBe(0)
  expect(await say(one, 'docs_read')).toBe('read ran')
  expect(await say(two, 'docs_read')).toBe('read ran')
  const out = await comity(first, 'logout', 'docs')
  expect([out.code, out.stdout]).toEqual([0, expect.stringContaining('taken back there')])
  const ran = server.ran()
  for (const client of [one, two, host])
    expect(await say(client, 'docs_read')).toContain('comity login docs')
  expect(server.ran()).toBe(ran)
  expect(asked()).toEqual([
    'discover',
    'authorize',
    'token authorization_code',
    'discover',
    'revoke',
  ])
  // What was logged out of is borne no more.
  expect(server.served.filter(({ status }) => status === 401).at(-1)?.token).toBeUndefined()
}, 120_000)
