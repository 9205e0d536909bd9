import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { createLoginDesk, type LoginDesk } from '../../src/gateway/auth/login-desk.ts'
import type { AuthConfig } from '../../src/gateway/auth/words.ts'
import { browse } from './browser.fixture.ts'
import { serveProvider, type Provider, type ProviderOptions } from './provider.fixture.ts'
import {
  serveResource,
  type ResourceOptions,
  type ResourceServer,
} from './resource-server.fixture.ts'
import { send, type AfterBegun } from './send.fixture.ts'

const BY_PERSON: AuthConfig = { grant: 'authorization_code', scopes: [] }
const { signal } = new AbortController()

let folder: string
let provider: Provider
let server: ResourceServer
const closers: (() => unknown)[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'comity-oauth-'))
})
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
  rmSync(folder, { recursive: true, force: true })
})

async function serve(options: ProviderOptions = {}, resource?: ResourceOptions): Promise<void> {
  provider = await serveProvider(options)
  closers.push(() => provider.close())
  server = await serveResource(provider, resource)
  closers.push(() => server.close())
}

/** What one process has. */
function open(auth: AuthConfig = BY_PERSON) {
  const notes: string[] = []
  const desk: LoginDesk = createLoginDesk({
    store: join(folder, 'comity.db'),
    now: Date.now,
    note: (what) => notes.push(what),
  })
  closers.push(() => desk.close())
  const peer = { name: 'docs', url: server.url, headers: {}, auth }
  const credentials = desk.credentialsOf(peer)
  return { desk, peer, credentials, notes }
}

type Opened = ReturnType<typeof open>

/** A call that is refused, and the person who then logs in. */
async function logIn({ credentials }: Opened, principal = 'local'): Promise<void> {
  const { after } = await send(credentials, server.url, { principal })
  if (after?.kind !== 'login' || after.url === undefined) throw new Error(JSON.stringify(after))
  expect(await browse(after.url)).toMatchObject({ status: 200 })
}

const urlOf = (after: AfterBegun | undefined): string =>
  after?.kind === 'login' ? (after.url ?? '') : ''
const tokensAsked = (): readonly string[] =>
  provider.asked().filter((what) => what.startsWith('token'))

describe('a login with a person', () => {
  test('a refused call names the address and the command; after the login calls pass, and nothing is asked twice', async () => {
    await serve()
    const one = open()
    const { after } = await send(one.credentials, server.url)
    expect(after).toEqual({
      kind: 'login',
      url: expect.stringContaining(`${provider.issuer}/auth?`),
      detail: `docs wants local to log in at ${provider.issuer}; run: comity login docs`,
    })
    const url = urlOf(after)
    const asked = new URL(url).searchParams
    expect([asked.get('resource'), asked.get('code_challenge_method'), asked.get('scope')]).toEqual(
      [server.url, 'S256', expect.stringContaining('files:read')],
    )
    const page = await browse(url)
    expect(page).toEqual({ status: 200, text: expect.stringContaining('comity may use docs') })
    for (const _ of [1, 2, 3])
      expect(await send(one.credentials, server.url)).toEqual({ status: 200, times: 1 })
    expect(provider.asked()).toEqual([
      'discover',
      'register',
      'authorize',
      'token authorization_code',
    ])
  })

  test('while a login is open everybody gets the same address; each principal has its own', async () => {
    await serve()
    const one = open()
    const urls = await Promise.all(
      ['local', 'local', 'alice', 'local'].map(async (principal) => {
        const { after } = await send(one.credentials, server.url, { principal })
        return urlOf(after)
      }),
    )
    expect(new Set(urls).size).toBe(2)
    expect(urls[1]).toBe(urls[0])
    expect(urls[3]).toBe(urls[0])
  })

  test('one principal does not use what another was granted', async () => {
    await serve()
    const one = open()
    await logIn(one, 'alice')
    expect((await send(one.credentials, server.url, { principal: 'alice' })).status).toBe(200)
    expect((await send(one.credentials, server.url, { principal: 'bob' })).status).toBe(401)
    expect(server.served().filter(({ token }) => token !== undefined)).toHaveLength(1)
  })

  test('two principals who log in one within the other both stay logged in', async () => {
    // So short that the next message renews.
    await serve({ lastsSeconds: 15 })
    const one = open()
    const addresses = []
    for (const principal of ['alice', 'bob']) {
      const { after } = await send(one.credentials, server.url, { principal })
      addresses.push(urlOf(after))
    }
    for (const address of addresses) expect((await browse(address)).status).toBe(200)
    for (const principal of ['alice', 'bob'])
      expect((await send(one.credentials, server.url, { principal })).status).toBe(200)
    expect(tokensAsked().slice(2)).toEqual(['token refresh_token', 'token refresh_token'])
  })

  test('what one process logged in to another one has', async () => {
    await serve()
    const [one, other] = [open(), open()]
    expect((await send(other.credentials, server.url)).status).toBe(401)
    await logIn(one)
    expect((await send(other.credentials, server.url)).status).toBe(200)
    expect(tokensAsked()).toEqual(['token authorization_code'])
  })

  test('where the tokens were removed by hand and somebody logged in anew, a process that had them open follows', async () => {
    await serve()
    const one = open()
    await logIn(one)
    expect((await send(one.credentials, server.url)).status).toBe(200)
    let told = 0
    closers.push(one.desk.watch(() => void (told += 1)))
    for (const name of readdirSync(folder))
      if (name.includes('.tokens')) rmSync(join(folder, name), { force: true })
    await expect.poll(async () => (await send(one.credentials, server.url)).status).toBe(401)
    const other = open()
    const login = await other.desk.begin(
      { principal: 'local', peer: other.peer, scopes: [] },
      signal,
    )
    await browse(login.url)
    await login.ended
    await expect.poll(() => told, { timeout: 10_000 }).toBeGreaterThan(0)
    expect((await send(one.credentials, server.url)).status).toBe(200)
  })

  test('whoever watches learns of a login in another process', async () => {
    await serve()
    const [one, other] = [open(), open()]
    let told = 0
    closers.push(other.desk.watch(() => void (told += 1)))
    await logIn(one)
    await expect.poll(() => told, { timeout: 10_000 }).toBeGreaterThan(0)
    expect(other.desk.standingOf('local', other.peer)).toHaveLength(1)
  })

  test('a login begun by hand asks for what was asked for and what there was', async () => {
    await serve()
    const one = open()
    await logIn(one)
    const login = await one.desk.begin(
      { principal: 'local', peer: one.peer, scopes: ['files:write'] },
      signal,
    )
    await browse(login.url)
    expect(await login.ended).toMatchObject({ kind: 'logged_in' })
    expect(one.desk.standingOf('local', one.peer)).toEqual([
      {
        principal: 'local',
        peer: 'docs',
        issuer: provider.issuer,
        resource: server.url,
        scopes: expect.arrayContaining(['files:read', 'files:write']),
        expiresAt: expect.any(String),
        renewable: true,
      },
    ])
    expect((await send(one.credentials, server.url, { needs: 'files:write' })).status).toBe(200)
  })

  test('no token lies readable in any file, and what comes out of credentials masks them', async () => {
    await serve()
    const one = open()
    await logIn(one)
    await send(one.credentials, server.url)
    const token = server.served().find((one) => one.token !== undefined)?.token ?? ''
    expect(token).not.toBe('')
    for (const name of readdirSync(folder))
      expect(readFileSync(join(folder, name)).includes(token)).toBe(false)
    expect(one.credentials.mask(`it says ${token}`)).not.toContain(token)
  })

  test('a bearer goes to no other origin', async () => {
    await serve()
    const one = open()
    await logIn(one)
    const bearing = { principal: 'local', method: 'POST' as const }
    const own = await one.credentials.headersFor({ ...bearing, url: server.url })
    expect(own).toEqual({ authorization: expect.stringMatching(/^Bearer ./) })
    for (const url of [
      'http://127.0.0.1:9/mcp',
      server.url.replace('127.0.0.1', 'localhost'),
      server.url.replace('http:', 'https:'),
      'nonsense',
    ])
      expect(await one.credentials.headersFor({ ...bearing, url })).toEqual({})
  })

  test('tokens that were granted for another address of the same peer are not sent', async () => {
    await serve()
    const one = open()
    await logIn(one)
    const moved = createLoginDesk({ store: join(folder, 'comity.db'), now: Date.now })
    closers.push(() => moved.close())
    for (const url of [server.url.replace('/mcp', '/other'), `${server.url}-other`]) {
      const credentials = moved.credentialsOf({ name: 'docs', url, auth: BY_PERSON })
      expect(await credentials.headersFor({ principal: 'local', method: 'POST', url })).toEqual({})
    }
  })
})

describe('renewal', () => {
  test('before the token runs out it is renewed, once for many calls at once and for two processes', async () => {
    await serve({ lastsSeconds: 15 })
    const [one, other] = [open(), open()]
    await logIn(one)
    const sent = await Promise.all(
      [one, other, one, other, one].map(({ credentials }) => send(credentials, server.url)),
    )
    expect(sent.every(({ status }) => status === 200)).toBe(true)
    expect(
      tokensAsked().filter((what) => what === 'token refresh_token').length,
    ).toBeLessThanOrEqual(2)
  })

  test('a token that the peer refuses before its time is renewed once, also for many calls at once', async () => {
    await serve()
    const [one, other] = [open(), open()]
    await logIn(one)
    provider.dropAccessTokens()
    const sent = await Promise.all(
      [one, one, other, one, other].map(({ credentials }) => send(credentials, server.url)),
    )
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(tokensAsked()).toEqual(['token authorization_code', 'token refresh_token'])
  })

  test('a peer that refuses what was just renewed is not asked for ever', async () => {
    await serve({}, { refusesAll: true })
    const one = open()
    await logIn(one)
    const first = await send(one.credentials, server.url)
    expect([first.times, first.after]).toEqual([
      2,
      expect.objectContaining({ kind: 'login', url: expect.any(String) }),
    ])
    expect((await send(one.credentials, server.url)).times).toBe(1)
    expect(tokensAsked()).toEqual(['token authorization_code', 'token refresh_token'])
  })

  test('a family that was revoked ends in one request to log in, and the tokens are forgotten', async () => {
    await serve()
    const one = open()
    await logIn(one)
    await provider.revokeAll()
    const { status, times, after } = await send(one.credentials, server.url)
    expect([status, times]).toEqual([401, 1])
    expect(after).toMatchObject({ kind: 'login', url: expect.any(String) })
    expect(one.desk.standingOf('local', one.peer)).toEqual([])
    expect(tokensAsked()).toEqual(['token authorization_code', 'token refresh_token'])
    // Who calls again is handed the same address, and nobody asks the authorization server once more.
    const asked = provider.asked().length
    const again = (await send(one.credentials, server.url)).after
    expect(urlOf(again)).toBe(urlOf(after))
    expect(provider.asked()).toHaveLength(asked)
    await logIn(one)
    expect((await send(one.credentials, server.url)).status).toBe(200)
  })

  test('tokens of one authorization server are never shown to another that the peer names later', async () => {
    await serve()
    const one = open()
    await logIn(one)
    const other = await serveProvider()
    closers.push(() => other.close())
    server.switchTo(other)
    // Nothing is remembered of where the peer was logged in to before.
    const anew = open()
    const { after } = await send(anew.credentials, server.url)
    expect(urlOf(after)).toContain(`${other.issuer}/auth?`)
    expect(other.asked()).toEqual(['discover', 'register'])
    expect(tokensAsked()).toEqual(['token authorization_code'])
    await browse(urlOf(after))
    expect((await send(anew.credentials, server.url)).status).toBe(200)
    expect(one.desk.standingOf('local', one.peer).map(({ issuer }) => issuer)).toEqual([
      other.issuer,
    ])
  })

  test('an authorization server that is down costs a call nothing while its token holds', async () => {
    await serve({ lastsSeconds: 15 })
    const one = open()
    await logIn(one)
    provider.fail(true)
    expect((await send(one.credentials, server.url)).status).toBe(200)
    expect((await send(one.credentials, server.url)).status).toBe(200)
    expect(one.notes).toEqual([expect.stringContaining('docs: its login could not be renewed')])
    expect(one.desk.standingOf('local', one.peer)).toHaveLength(1)
  })
})

describe('tokens bound to a key', () => {
  test('a nonce that the peer wants costs one more message, and no renewal', async () => {
    await serve({}, { nonces: ['n-1', 'n-2', 'n-3', 'n-4'] })
    const one = open({ ...BY_PERSON, dpop: true })
    await logIn(one)
    // The refusal that led to the login told the first one.
    expect(await send(one.credentials, server.url)).toEqual({ status: 200, times: 1 })
    expect(await send(one.credentials, server.url)).toEqual({ status: 200, times: 2 })
    const sent = await Promise.all([1, 2].map(() => send(one.credentials, server.url)))
    expect(sent.map(({ status }) => status)).toEqual([200, 200])
    expect(tokensAsked()).toEqual(['token authorization_code'])
  })
})

describe('step-up', () => {
  test('a missing scope asks for the union; after that login the call passes', async () => {
    await serve()
    const one = open()
    await logIn(one)
    const { status, after } = await send(one.credentials, server.url, { needs: 'files:write' })
    expect(status).toBe(403)
    expect(after).toMatchObject({
      kind: 'login',
      detail: expect.stringContaining('comity login docs --scope files:read --scope files:write'),
    })
    const url = urlOf(after)
    expect(new URL(url).searchParams.get('scope')?.split(' ')).toEqual(
      expect.arrayContaining(['files:read', 'files:write']),
    )
    await browse(url)
    expect((await send(one.credentials, server.url, { needs: 'files:write' })).status).toBe(200)
  })

  test('a scope that is not given although it was asked for is not asked for again', async () => {
    await serve({ scope: 'files:read' })
    const one = open()
    await logIn(one)
    const first = await send(one.credentials, server.url, { needs: 'files:admin' })
    const url = urlOf(first.after)
    await browse(url)
    const second = await send(one.credentials, server.url, { needs: 'files:admin' })
    expect(second.status).toBe(403)
    expect(second.after).toEqual({
      kind: 'login',
      detail: expect.stringContaining('was asked for them and gave'),
    })
  })
})

describe('grants without a person', () => {
  const machine = (): AuthConfig => ({
    grant: 'client_credentials',
    issuer: provider.issuer,
    scopes: [],
    client: { id: 'gateway', secret: 'a-secret-of-this-test' },
  })
  const clients = [
    {
      client_id: 'gateway',
      client_secret: 'a-secret-of-this-test',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ]

  test('tokens are obtained once for all principals and many calls at once', async () => {
    await serve({ clients })
    const one = open(machine())
    const sent = await Promise.all(
      ['local', 'alice', 'bob', 'local'].map((principal) =>
        send(one.credentials, server.url, { principal }),
      ),
    )
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(tokensAsked()).toEqual(['token client_credentials'])
  })

  test('a missing scope is obtained with the others', async () => {
    await serve({ clients })
    const one = open(machine())
    expect((await send(one.credentials, server.url)).status).toBe(200)
    const stepped = await send(one.credentials, server.url, { needs: 'files:write' })
    expect(stepped).toEqual({ status: 200, times: 2 })
  })

  test('a wrong secret is told, without the secret, and not tried at every call', async () => {
    await serve({ clients })
    const wrong = { ...machine(), client: { id: 'gateway', secret: 'not-the-secret' } }
    const one = open(wrong)
    const { status, after } = await send(one.credentials, server.url)
    expect(status).toBe(401)
    expect(after).toEqual({ kind: 'login', detail: expect.stringContaining('invalid_client') })
    expect(JSON.stringify(after)).not.toContain('not-the-secret')
    const asked = provider.asked().length
    await send(one.credentials, server.url)
    expect(provider.asked()).toHaveLength(asked)
  })
})

describe('logging out', () => {
  test('takes back what was granted, forgets it, and says so', async () => {
    await serve()
    const [one, other] = [open(), open()]
    await logIn(one)
    expect(await other.desk.logOut('local', other.peer, signal)).toEqual([
      { issuer: provider.issuer, resource: server.url, revoked: true },
    ])
    expect(provider.asked().filter((what) => what === 'revoke')).toHaveLength(1)
    expect(one.desk.standingOf('local', one.peer)).toEqual([])
    // The process that logged in does not go on with what it remembers.
    const bare = { principal: 'local', method: 'POST' as const, url: server.url }
    await expect.poll(() => one.credentials.headersFor(bare)).toEqual({})
    expect(await one.desk.logOut('local', one.peer, signal)).toEqual([])
  })

  test('an authorization server that is down does not keep anybody logged in', async () => {
    await serve()
    const one = open()
    await logIn(one)
    provider.fail(true)
    const [out] = await one.desk.logOut('local', one.peer, signal)
    expect(out).toMatchObject({ revoked: false, detail: expect.any(String) })
    expect(one.desk.standingOf('local', one.peer)).toEqual([])
  })
})
