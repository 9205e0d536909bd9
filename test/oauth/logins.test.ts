import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { createLogins, type LoginRequest, type Logins } from '../../src/gateway/auth/login.ts'
import { createOAuth } from '../../src/gateway/auth/oauth.ts'
import { createTokenDoor, type TokenDoor } from '../../src/gateway/auth/token-store.ts'
import { browse } from './browser.fixture.ts'
import { serveProvider, type Provider } from './provider.fixture.ts'
import { serveResource, type ResourceServer } from './resource-server.fixture.ts'

const { signal } = new AbortController()
let folder: string
let provider: Provider
let server: ResourceServer
let tokens: TokenDoor
const closers: (() => unknown)[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'comity-logins-'))
  provider = await serveProvider()
  server = await serveResource(provider)
  tokens = createTokenDoor({ store: join(folder, 'comity.db') })
  closers.push(
    () => provider.close(),
    () => server.close(),
    () => tokens.close(),
  )
})
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
  rmSync(folder, { recursive: true, force: true })
})

function openLogins(openMs?: number): Logins {
  const oauth = createOAuth({ clients: tokens.open(), now: Date.now })
  const logins = createLogins({ oauth, tokens, ...(openMs === undefined ? {} : { openMs }) })
  closers.push(() => logins.close())
  return logins
}

function request(over: Partial<LoginRequest['peer']['auth']> = {}): LoginRequest {
  const auth = { grant: 'authorization_code' as const, scopes: [], ...over }
  return { principal: 'alice', peer: { name: 'docs', url: server.url, auth } }
}

/** Whether somebody listens where a login would come back to. */
async function isListening(url: string): Promise<boolean> {
  const back = new URL(url).searchParams.get('redirect_uri') ?? ''
  return fetch(back).then(
    () => true,
    () => false,
  )
}

describe('logins', () => {
  test('one that nobody comes back from ends, and its address with it', async () => {
    const logins = openLogins(2_000)
    const login = await logins.begin(request(), signal)
    expect(await isListening(login.url)).toBe(true)
    expect(await login.ended).toEqual({
      kind: 'failed',
      detail: expect.stringContaining('nobody came back'),
    })
    expect(await isListening(login.url)).toBe(false)
    const next = await logins.begin(request(), signal)
    expect(next.url).not.toBe(login.url)
  })

  test('one that would not grant enough gives way to one for all of it', async () => {
    const logins = openLogins()
    const first = await logins.begin({ ...request(), earlier: ['files:read'] }, signal)
    const same = await logins.begin(request(), signal)
    expect(same.url).toBe(first.url)
    const more = { ...request(), earlier: ['files:write'] }
    const [second, third] = await Promise.all([
      logins.begin(more, signal),
      logins.begin(more, signal),
    ])
    expect(third.url).toBe(second.url)
    expect(await first.ended).toMatchObject({ kind: 'failed' })
    expect([...second.scopes]).toEqual(expect.arrayContaining(['files:read', 'files:write']))
    await browse(second.url)
    expect(await second.ended).toMatchObject({ kind: 'logged_in' })
  })

  test('who gives up waiting leaves it to the others', async () => {
    const logins = openLogins()
    const impatient = new AbortController()
    const [given, up] = [logins.begin(request(), signal), logins.begin(request(), impatient.signal)]
    impatient.abort()
    await expect(up).rejects.toThrow('aborted')
    expect((await browse((await given).url)).status).toBe(200)
  })

  test('closing ends what is open', async () => {
    const logins = openLogins()
    const login = await logins.begin(request(), signal)
    logins.close()
    expect(await login.ended).toEqual({ kind: 'failed', detail: 'comity ended' })
    expect(await isListening(login.url)).toBe(false)
  })

  test('a port that was set is the port, and one that is taken is told before anybody registers', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { readonly port: number }
    const logins = openLogins()
    await expect(logins.begin(request({ redirectPort: port }), signal)).rejects.toMatchObject({
      code: 'conflict',
    })
    expect(provider.asked()).toEqual(['discover'])
    other.close()
    await once(other, 'close')
    const login = await logins.begin(request({ redirectPort: port }), signal)
    expect(new URL(login.url).searchParams.get('redirect_uri')).toBe(
      `http://127.0.0.1:${port}/comity/logged-in`,
    )
  })

  test('whoever is not at home is told so, and the next one is asked anew', async () => {
    const logins = openLogins()
    provider.fail(true)
    await expect(logins.begin(request(), signal)).rejects.toMatchObject({ name: 'OAuthFailure' })
    provider.fail(false)
    expect((await logins.begin(request(), signal)).url).toContain(provider.issuer)
  })

  test('a login replaces what another authorization server had granted', async () => {
    const logins = openLogins()
    const login = await logins.begin(request(), signal)
    await browse(login.url)
    expect(await login.ended).toMatchObject({ place: { issuer: provider.issuer } })
    const place = { principal: 'alice', peer: 'docs', issuer: 'https://old', resource: server.url }
    tokens
      .open()
      .save(place, { accessToken: 'x', tokenType: 'bearer', scopes: [], clientId: 'c' }, 0)
    await browse((await logins.begin(request(), signal)).url)
    expect(
      tokens
        .open()
        .placesOf('alice', 'docs')
        .map(({ issuer }) => issuer),
    ).toEqual([provider.issuer])
  })
})
