import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import {
  comity,
  createHome,
  start,
  until,
  type Home,
  type Running,
} from '../journeys/comity-process.fixture.ts'
import { browse } from './browser.fixture.ts'
import { serveProvider, type Provider, type ProviderOptions } from './provider.fixture.ts'
import { serveResource, type ResourceServer } from './resource-server.fixture.ts'

let home: Home
let provider: Provider
let server: ResourceServer
const closers: (() => unknown)[] = []

beforeEach(() => {
  home = createHome()
  closers.push(() => home.remove())
})
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function serve(options: ProviderOptions = {}): Promise<void> {
  provider = await serveProvider(options)
  closers.push(() => provider.close())
  server = await serveResource(provider)
  closers.push(() => server.close())
  home.configure({
    mcpServers: {
      docs: { url: server.url },
      local: { command: 'node', args: ['x.js'] },
      keyed: { url: 'https://keyed.example/mcp', headers: { Authorization: 'Bearer x' } },
    },
    store: 'sqlite:./comity.db',
  })
}

/** The address that a login prints. */
async function addressOf(running: Running): Promise<string> {
  return until(
    'the address of the login',
    () => /^http:\S+\/auth\?\S+$/m.exec(running.stdout() + running.stderr())?.[0],
  )
}

async function logIn(...args: string[]): Promise<Awaited<Running['ended']>> {
  const running = start(home, ['login', 'docs', '--no-browser', ...args])
  closers.push(() => running.stop())
  expect((await browse(await addressOf(running))).status).toBe(200)
  return running.ended
}

describe('comity login and logout', () => {
  test('logging in, and in again, and out: nothing is registered twice, nothing is left, and no token is shown', async () => {
    await serve()
    const first = await logIn()
    expect([first.code, first.stdout]).toEqual([
      0,
      expect.stringMatching(
        new RegExp(
          `✓ local is logged in to docs at ${provider.issuer}, scopes files:read.*; the token lasts until .* and is renewed by itself`,
        ),
      ),
    ])
    const second = await logIn('--json')
    expect(JSON.parse(second.stdout)).toEqual({
      principal: 'local',
      peer: 'docs',
      issuer: provider.issuer,
      resource: server.url,
      scopes: expect.arrayContaining(['files:read']),
      expiresAt: expect.any(String),
      renewable: true,
    })
    const { stdout: examined } = await comity(home, 'doctor')
    expect(examined).toContain(
      `✓ logins: local is logged in to docs at ${provider.issuer}, scopes files:read`,
    )
    expect(examined).toContain(
      `! logins: for docs comity registered itself at ${provider.issuer} (dynamic client registration): deprecated since 2026-07-28`,
    )
    const out = await comity(home, 'logout', 'docs')
    expect([out.code, out.stdout]).toEqual([
      0,
      `✓ logged out of docs at ${provider.issuer}: taken back there, forgotten here\n`,
    ])
    expect((await comity(home, 'logout', 'docs')).stdout).toBe('nobody was logged in to docs\n')
    expect(provider.asked().filter((what) => what !== 'discover')).toEqual([
      'register',
      'authorize',
      'token authorization_code',
      'authorize',
      'token authorization_code',
      'revoke',
    ])
  })

  test('a person who says no, and one who does not come back, end it', async () => {
    await serve()
    const running = start(home, ['login', 'docs', '--no-browser'])
    closers.push(() => running.stop())
    const asked = new URL(await addressOf(running)).searchParams
    const back = new URL(asked.get('redirect_uri') ?? '')
    back.searchParams.set('state', asked.get('state') ?? '')
    back.searchParams.set('error', 'access_denied')
    back.searchParams.set('iss', provider.issuer)
    expect((await fetch(back)).status).toBe(400)
    const ended = await running.ended
    expect([ended.code, ended.stderr]).toEqual([
      1,
      expect.stringContaining('docs was not logged in to'),
    ])
    const waiting = start(home, ['login', 'docs', '--no-browser'])
    closers.push(() => waiting.stop())
    await addressOf(waiting)
    waiting.signal('SIGINT')
    expect((await waiting.ended).code).toBe(130)
  })

  test.each([
    ['nobody', 'no peer is called nobody; configured: docs, local, keyed', 2],
    ['local', 'local is started by comity', 1],
    ['keyed', 'keyed has an Authorization header in the configuration', 1],
  ])('%s cannot be logged in to, and why is said', async (peer, said, code) => {
    await serve()
    const ended = await comity(home, 'login', peer)
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(said)])
  })

  test('a principal that is not in the configuration is a mistake', async () => {
    await serve()
    const ended = await comity(home, 'login', 'docs', '--as', 'mallory')
    expect([ended.code, ended.stderr]).toEqual([
      2,
      expect.stringContaining('--as expects a principal of this configuration (local)'),
    ])
  })
})

test('two processes whose token runs out at the same moment renew it once', async () => {
  // Shorter than what is renewed ahead of time, so that the very next message is about to renew.
  await serve({ lastsSeconds: 15 })
  expect((await logIn()).code).toBe(0)
  const program = join(import.meta.dirname, 'caller.fixture.ts')
  const children = [1, 2].map(() => {
    const child = spawn(process.execPath, [program, home.path('comity.db'), server.url], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    closers.push(() => child.kill())
    let said = ''
    child.stdout.on('data', (bytes: Buffer) => {
      said += bytes.toString()
    })
    return { child, said: () => said, ended: once(child, 'close') }
  })
  await until(
    'both processes',
    () => children.every(({ said }) => said().startsWith('ready')) || undefined,
  )
  for (const { child } of children) child.stdin.write('go\n')
  await Promise.all(children.map(({ ended }) => ended))
  expect(children.map(({ said }) => said())).toEqual(
    Array.from({ length: 2 }, () => 'ready\n{"status":200,"times":1}\n'),
  )
  expect(provider.asked().filter((what) => what.startsWith('token'))).toEqual([
    'token authorization_code',
    'token refresh_token',
  ])
})
