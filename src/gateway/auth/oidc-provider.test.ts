import { expect, test } from 'vitest'
import { generateKeyPair, exportJWK, exportPKCS8 } from 'jose'
import { keepClients } from './authorization-server.fixture.ts'
import { createOAuth, type AuthPeer } from './oauth.ts'
import {
  logIn,
  serveProvider,
  type ProviderWords,
  type TestProvider,
} from './oidc-provider.fixture.ts'
import type { AuthConfig, TokenSet } from './words.ts'

const { signal } = new AbortController()
const redirectUri = 'http://127.0.0.1:8765/callback'

async function connect(auth: Partial<AuthConfig> = {}, words: ProviderWords = {}) {
  const provider = await serveProvider(words)
  const clients = keepClients()
  const oauth = createOAuth({ clients, now: Date.now })
  const peer: AuthPeer = {
    name: 'files',
    url: provider.peerUrl,
    auth: { grant: 'authorization_code', scopes: [], ...auth },
  }
  const refused = await call(provider)
  const refusal = { challenges: [refused.headers.get('www-authenticate') ?? ''] }
  const discovered = await oauth.discover(peer, refusal, signal)
  const bear = async (tokens: TokenSet) =>
    call(provider, await oauth.headersFor(tokens, { method: 'POST', url: peer.url }))
  const begin = (earlier: readonly string[] = []) =>
    oauth.begin(peer, { discovered, redirectUri, refusal, earlier }, signal)
  const login = async (earlier: readonly string[] = []) => {
    const { authorizationUrl, pending } = await begin(earlier)
    const reply = await logIn(authorizationUrl, redirectUri)
    return oauth.finish(peer, pending, reply.searchParams, signal)
  }
  const refresh = (tokens: TokenSet) => oauth.refresh(peer, discovered, tokens, signal)
  return { provider, oauth, peer, discovered, refusal, bear, begin, login, refresh }
}

function call({ peerUrl }: TestProvider, headers: Readonly<Record<string, string>> = {}) {
  return fetch(peerUrl, { method: 'POST', headers })
}

test('a login at a true provider: registered, logged in, called, renewed, and the old token kills the family', async () => {
  const { provider, bear, login, refresh } = await connect()
  const tokens = await login()
  expect(tokens).toMatchObject({
    tokenType: 'bearer',
    refreshToken: expect.any(String),
    scopes: ['files:read'],
  })
  const answer = await bear(tokens)
  expect([answer.status, await answer.json()]).toEqual([
    200,
    { scope: 'files:read', clientId: tokens.clientId },
  ])
  const renewed = await refresh(tokens)
  if (renewed.kind !== 'renewed') throw new Error(renewed.detail)
  expect(renewed.tokens.refreshToken).not.toBe(tokens.refreshToken)
  expect((await bear(renewed.tokens)).status).toBe(200)
  // Used twice: the provider takes back what came of it, and says so once.
  expect(await refresh(tokens)).toMatchObject({ kind: 'revoked', code: 'invalid_grant' })
  expect(await refresh(renewed.tokens)).toMatchObject({ kind: 'revoked', code: 'invalid_grant' })
  const lines = provider.lines()
  expect(lines.filter((line) => line === 'POST /token')).toHaveLength(4)
  expect(lines.filter((line) => line === 'POST /reg')).toHaveLength(1)
  expect(provider.faults()).toEqual([])
})

test('what is revoked is no longer good', async () => {
  const { oauth, peer, discovered, bear, login, refresh } = await connect()
  const tokens = await login()
  expect(await oauth.revoke(peer, discovered, tokens, signal)).toBe(true)
  expect(await refresh(tokens)).toMatchObject({ kind: 'revoked' })
  expect((await bear(tokens)).status).toBe(401)
})

test('a step-up gets what there was and more', async () => {
  const { oauth, peer, discovered, bear, login } = await connect()
  const first = await login()
  const refusal = { challenges: ['Bearer error="insufficient_scope", scope="files:write"'] }
  const earlier = first.scopes
  const begun = await oauth.begin(peer, { discovered, redirectUri, refusal, earlier }, signal)
  const reply = await logIn(begun.authorizationUrl, redirectUri)
  const tokens = await oauth.finish(peer, begun.pending, reply.searchParams, signal)
  const { scope } = (await (await bear(tokens)).json()) as { scope: string }
  expect(scope.split(' ').toSorted()).toEqual(['files:read', 'files:write'])
})

test.each([false, true])(
  'tokens that are bound to a key, with nonces that the provider demands: %s',
  async (dpopNonce) => {
    const { provider, bear, login, refresh } = await connect({ dpop: true }, { dpopNonce })
    const tokens = await login()
    expect(tokens).toMatchObject({ tokenType: 'dpop', dpopKey: { alg: 'ES256' } })
    expect((await bear(tokens)).status).toBe(200)
    const renewed = await refresh(tokens)
    expect(renewed).toMatchObject({ kind: 'renewed', tokens: { tokenType: 'dpop' } })
    const asked = provider.lines().filter((line) => line === 'POST /token')
    expect(asked).toHaveLength(dpopNonce ? 3 : 2)
    const { dpopKey: _, ...stolen } = tokens
    expect((await bear(stolen)).status).toBe(401)
  },
)

test.each(['client_secret_basic', 'client_secret_post'])(
  'client credentials by %s',
  async (method) => {
    const client = { id: 'own:client', secret: 'a secret/with+odd:letters%' }
    const registered = {
      client_id: client.id,
      client_secret: client.secret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: method,
    }
    const { oauth, peer, discovered, refusal, bear } = await connect(
      { grant: 'client_credentials', client },
      { clients: [registered] },
    )
    const only = { ...discovered, server: { ...discovered.server, tokenMethods: [method] } }
    const tokens = await oauth.obtain(peer, only, refusal, [], signal)
    expect((await bear(tokens)).status).toBe(200)
  },
)

test.each(['ES256', 'RS256'])('client credentials by a private key, %s', async (algorithm) => {
  const pair = await generateKeyPair(algorithm, { extractable: true })
  const client = { id: 'robot', privateKey: await exportPKCS8(pair.privateKey) }
  const registered = {
    client_id: client.id,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: algorithm,
    jwks: { keys: [{ ...(await exportJWK(pair.publicKey)), alg: algorithm, use: 'sig' }] },
  }
  const { oauth, peer, discovered, refusal, bear } = await connect(
    { grant: 'client_credentials', client },
    { clients: [registered] },
  )
  const tokens = await oauth.obtain(peer, discovered, refusal, [], signal)
  expect((await bear(tokens)).status).toBe(200)
})

test('where nobody registers by itself, a client that the operator registered logs in', async () => {
  const client = { id: 'desk', secret: 'hush' }
  const registered = {
    client_id: client.id,
    client_secret: client.secret,
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'client_secret_basic',
  }
  const without = await connect({}, { registration: false })
  await expect(without.begin()).rejects.toMatchObject({ reason: 'client_needed' })
  const { provider, bear, login } = await connect(
    { client },
    { registration: false, clients: [registered] },
  )
  expect((await bear(await login())).status).toBe(200)
  expect(provider.lines()).not.toContain('POST /reg')
})
