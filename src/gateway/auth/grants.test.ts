import { exportJWK, exportPKCS8, generateKeyPair, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import {
  keepClients,
  replyTo,
  serveAuthorization,
  type TestWords,
} from './authorization-server.fixture.ts'
import { serveHttp, type Answer } from './http-server.fixture.ts'
import { createOAuth, type AuthPeer } from './oauth.ts'
import type { AuthConfig, TokenSet } from './words.ts'

const { signal } = new AbortController()
const redirectUri = 'http://127.0.0.1:8765/callback'
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const TOKEN: Answer = { json: { access_token: 'access', token_type: 'Bearer', expires_in: '60' } }

async function connect(auth: Partial<AuthConfig>, words: TestWords = {}) {
  const server = await serveAuthorization({ token: TOKEN, ...words })
  const clients = keepClients()
  const oauth = createOAuth({ clients, now: () => 1_000_000 })
  const peer: AuthPeer = {
    name: 'r',
    url: `${server.url}/mcp`,
    auth: { grant: 'client_credentials', scopes: [], ...auth },
  }
  const discovered = await oauth.discover(peer, undefined, signal)
  const obtain = () => oauth.obtain(peer, discovered, undefined, [], signal)
  const refresh = (tokens: Partial<TokenSet>) =>
    oauth.refresh(peer, discovered, { ...TOKENS, ...tokens }, signal)
  const begin = () => oauth.begin(peer, { discovered, redirectUri }, signal)
  return { server, oauth, clients, peer, discovered, obtain, refresh, begin }
}

const TOKENS: TokenSet = {
  accessToken: 'old',
  tokenType: 'bearer',
  refreshToken: 'r1',
  scopes: ['a'],
  clientId: 'mine',
}
const fieldsOf = (form: URLSearchParams | undefined) => Object.fromEntries(form ?? [])

test('client credentials with a secret: the basic form, each part encoded as a form', async () => {
  const { server, obtain } = await connect(
    { client: { id: 'a:b c', secret: 'p%/ü' }, scopes: ['x'] },
    { resource: { scopes_supported: ['y'] } },
  )
  expect(await obtain()).toEqual({
    accessToken: 'access',
    tokenType: 'bearer',
    scopes: ['y', 'x'],
    clientId: 'a:b c',
    expiresAt: 1_060_000,
  })
  const request = server.asked.at(-1)
  const basic = Buffer.from(request?.headers.authorization?.slice(6) ?? '', 'base64').toString()
  expect(basic).toBe('a%3Ab+c:p%25%2F%C3%BC')
  expect(fieldsOf(server.forms()[0])).toEqual({
    grant_type: 'client_credentials',
    scope: 'y x',
    resource: `${server.url}/mcp`,
  })
})

test('client credentials in the form, where the server takes nothing else', async () => {
  const { server, obtain } = await connect(
    { client: { id: 'mine', secret: 'hush' } },
    { metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] } },
  )
  await obtain()
  expect(fieldsOf(server.forms()[0])).toMatchObject({ client_id: 'mine', client_secret: 'hush' })
  expect(server.asked.at(-1)?.headers.authorization).toBeUndefined()
})

test.each(['ES256', 'RS256', 'ES384', 'Ed25519'])(
  'client credentials with a %s assertion, from PEM and from a JWK',
  async (algorithm) => {
    const pair = await generateKeyPair(algorithm, { extractable: true })
    const jwk = { ...(await exportJWK(pair.privateKey)), kid: 'k1' }
    for (const privateKey of [await exportPKCS8(pair.privateKey), JSON.stringify(jwk)]) {
      const { server, obtain } = await connect({ client: { id: 'mine', privateKey } })
      await obtain()
      const form = fieldsOf(server.forms()[0])
      expect(form).toMatchObject({
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        resource: `${server.url}/mcp`,
      })
      const { payload } = await jwtVerify(form['client_assertion'] ?? '', pair.publicKey, {
        audience: server.url,
        issuer: 'mine',
        subject: 'mine',
        algorithms: [algorithm],
      })
      expect(payload.jti).toEqual(expect.any(String))
    }
  },
)

test('a private key that is none is told without a word of it', async () => {
  const { server, obtain } = await connect({ client: { id: 'mine', privateKey: 'c2VjcmV0a2V5' } })
  await expect(obtain()).rejects.toMatchObject({
    reason: 'config',
    message: expect.not.stringContaining('c2VjcmV0a2V5'),
  })
  expect(server.forms()).toEqual([])
})

test.each<[string, Partial<AuthConfig>, string]>([
  [
    'client credentials without a secret',
    { client: { id: 'mine' } },
    'client with an id and a secret',
  ],
  ['client credentials without a client', {}, 'client with an id and a secret'],
  ['an assertion that is not there', { grant: 'jwt_bearer' }, 'auth.assertion'],
  ['an identity that is not there', { grant: 'enterprise' }, 'auth.identity'],
])('%s is told to the operator', async (_name, auth, message) => {
  const { server, obtain } = await connect(auth)
  await expect(obtain()).rejects.toMatchObject({
    reason: 'config',
    message: expect.stringContaining(message),
  })
  expect(server.forms()).toEqual([])
})

test('a workload’s assertion is sent as it is; a refusal is the answer, and is not tried otherwise', async () => {
  const auth = { grant: 'jwt_bearer', assertion: 'the.signed.jwt', client: { id: 'w' } } as const
  const good = await connect(auth)
  await good.obtain()
  expect(fieldsOf(good.server.forms()[0])).toEqual({
    grant_type: JWT_BEARER,
    assertion: 'the.signed.jwt',
    resource: `${good.server.url}/mcp`,
    client_id: 'w',
  })
  const bad = await connect(auth, { token: { status: 400, json: { error: 'invalid_grant' } } })
  await expect(bad.obtain()).rejects.toMatchObject({ reason: 'rejected', code: 'invalid_grant' })
  expect(bad.server.forms()).toHaveLength(1)
})

test('an identity provider’s statement is exchanged, then shown to the authorization server', async () => {
  const provider = await serveHttp({
    '/.well-known/openid-configuration': () => ({
      json: { issuer: provider.url, token_endpoint: `${provider.url}/token` },
    }),
    'POST /token': {
      json: {
        access_token: 'the.id.jag',
        issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
        token_type: 'N_A',
      },
    },
  })
  const identity = { issuer: provider.url, idToken: 'the.id.token', client: { id: 'sso' } }
  const client = { id: 'mine', secret: 'hush' }
  const { server, obtain } = await connect({ grant: 'enterprise', identity, client, scopes: ['a'] })
  expect(await obtain()).toMatchObject({ accessToken: 'access', clientId: 'mine' })
  expect(fieldsOf(new URLSearchParams(provider.asked.at(-1)?.body))).toEqual({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
    subject_token: 'the.id.token',
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    audience: server.url,
    resource: `${server.url}/mcp`,
    scope: 'a',
    client_id: 'sso',
  })
  expect(fieldsOf(server.forms()[0])).toEqual({
    grant_type: JWT_BEARER,
    assertion: 'the.id.jag',
    resource: `${server.url}/mcp`,
    scope: 'a',
  })
  expect(server.asked.at(-1)?.headers.authorization).toBe(`Basic ${btoa('mine:hush')}`)
})

test('a provider that gives another kind of token ends it', async () => {
  const provider = await serveHttp({
    '/.well-known/openid-configuration': () => ({
      json: { issuer: provider.url, token_endpoint: `${provider.url}/token` },
    }),
    'POST /token': { json: { access_token: 'x', issued_token_type: 'other', token_type: 'N_A' } },
  })
  const { server, obtain } = await connect({
    grant: 'enterprise',
    identity: { issuer: provider.url, idToken: 't' },
  })
  await expect(obtain()).rejects.toMatchObject({ reason: 'rejected' })
  expect(server.forms()).toEqual([])
})

test('a refresh keeps the token that was used where no other comes, and the scopes', async () => {
  const auth: Partial<AuthConfig> = { grant: 'authorization_code', client: { id: 'mine' } }
  const same = await connect(auth)
  expect(await same.refresh({})).toEqual({
    kind: 'renewed',
    tokens: { ...TOKENS, accessToken: 'access', expiresAt: 1_060_000 },
  })
  expect(fieldsOf(same.server.forms()[0])).toEqual({
    grant_type: 'refresh_token',
    refresh_token: 'r1',
    resource: `${same.server.url}/mcp`,
    client_id: 'mine',
  })
  const rotated = await connect(auth, {
    token: { json: { access_token: 'n', token_type: 'bearer', refresh_token: 'r2', scope: 'a b' } },
  })
  expect(await rotated.refresh({})).toMatchObject({
    tokens: { accessToken: 'n', refreshToken: 'r2', scopes: ['a', 'b'] },
  })
})

test('a family that was revoked is told as such; what may pass is an error', async () => {
  const auth: Partial<AuthConfig> = { grant: 'authorization_code', client: { id: 'mine' } }
  const answering = async (status: number, error: string) =>
    connect(auth, { token: { status, json: { error } } })
  const revoked = await answering(400, 'invalid_grant')
  expect(await revoked.refresh({})).toEqual({
    kind: 'revoked',
    code: 'invalid_grant',
    detail: `${revoked.server.url} says invalid_grant`,
  })
  expect(revoked.server.forms()).toHaveLength(1)
  const busy = await answering(503, 'temporarily_unavailable')
  await expect(busy.refresh({})).rejects.toMatchObject({ reason: 'unreachable' })
  const page = await connect(auth, { token: { status: 502, text: '<html>' } })
  await expect(page.refresh({})).rejects.toMatchObject({
    reason: 'unreachable',
    message: `${page.server.url} answered 502 with text/html`,
  })
})

test('without a refresh token, or the client that they were given to, nothing is asked', async () => {
  const { server, refresh } = await connect({ grant: 'authorization_code' })
  const { refreshToken: _, ...bare } = TOKENS
  expect(await refresh({})).toEqual({
    kind: 'revoked',
    detail: `the client that the tokens were given to is no longer registered at ${server.url}`,
  })
  const { oauth, peer, discovered } = await connect({ client: { id: 'mine' } })
  expect(await oauth.refresh(peer, discovered, bare, signal)).toMatchObject({
    kind: 'revoked',
    detail: 'there is no refresh token',
  })
  expect(server.forms()).toEqual([])
})

test('a client that the server forgot is forgotten here too, and nobody else’s newer one', async () => {
  const words = { token: { status: 401, json: { error: 'invalid_client' } } }
  const { server, begin, refresh, clients, peer } = await connect(
    { grant: 'authorization_code' },
    words,
  )
  const { pending } = await begin()
  expect(clients.kept.size).toBe(1)
  expect(await refresh({ clientId: pending.client.id })).toMatchObject({ code: 'invalid_client' })
  expect(clients.kept.size).toBe(0)
  clients.saveClient(peer.name, { ...pending.client, id: 'newer' })
  expect(await refresh({ clientId: pending.client.id })).toMatchObject({ kind: 'revoked' })
  expect(clients.loadClient(server.url, peer.name)?.id).toBe('newer')
})

test.each<[string, Answer, string]>([
  ['no access token', { json: { token_type: 'Bearer' } }, 'an access_token that can be sent'],
  [
    'one that breaks a header',
    { json: { access_token: 'a\r\nx: y', token_type: 'Bearer' } },
    'an access_token that can be sent',
  ],
  [
    'a type that we cannot bear',
    { json: { access_token: 'a', token_type: 'mac' } },
    'a token_type of Bearer or DPoP',
  ],
  [
    'a binding to no key',
    { json: { access_token: 'a', token_type: 'DPoP' } },
    'since no key was shown',
  ],
  ['an error with 200', { json: { error: 'bad_verification_code' } }, 'bad_verification_code'],
  [
    'an error that is none',
    { status: 400, json: { error: 'two words"' } },
    'answered 400 without an error',
  ],
  ['a page', { text: '<html>' }, 'answered 200 with text/html'],
])('an answer with %s', async (_name, token, message) => {
  const { obtain } = await connect({ client: { id: 'mine', secret: 'hush' } }, { token })
  await expect(obtain()).rejects.toMatchObject({
    reason: 'rejected',
    message: expect.stringContaining(message),
  })
})

test.each<[string, Answer, string, string]>([
  [
    'a refusal',
    { status: 400, json: { error: 'invalid_redirect_uri' } },
    'client_needed',
    'set auth.client.id and auth.issuer',
  ],
  ['no client id', { status: 201, json: {} }, 'rejected', 'has to have a client_id'],
  [
    'another redirect URI',
    { status: 201, json: { client_id: 'x', redirect_uris: ['https://evil.example'] } },
    'rejected',
    'has to keep the redirect URI',
  ],
  [
    'a method that we have not',
    { status: 201, json: { client_id: 'x', token_endpoint_auth_method: 'tls_client_auth' } },
    'rejected',
    'that was offered',
  ],
  ['a fault', { status: 500, text: '' }, 'unreachable', 'answered 500'],
])('a registration that is answered with %s', async (_name, register, reason, message) => {
  const { begin, clients } = await connect({ grant: 'authorization_code' }, { register })
  await expect(begin()).rejects.toMatchObject({ reason, message: expect.stringContaining(message) })
  expect(clients.kept.size).toBe(0)
})

test('where nobody registers by itself the operator is told what to configure; a document of ours goes before', async () => {
  const metadata = { registration_endpoint: undefined, client_id_metadata_document_supported: true }
  const bare = await connect({ grant: 'authorization_code' }, { metadata })
  await expect(bare.begin()).rejects.toMatchObject({
    reason: 'client_needed',
    message: expect.stringMatching(/auth\.client\.id and auth\.issuer .*auth\.metadataUrl/u),
  })
  const metadataUrl = 'https://comity.example/client.json'
  const ours = await connect(
    { grant: 'authorization_code', metadataUrl },
    { metadata: { client_id_metadata_document_supported: true } },
  )
  const { pending } = await ours.begin()
  expect(pending.client).toMatchObject({ id: metadataUrl, method: 'none' })
  expect(ours.server.lines()).not.toContain('POST /register')
})

test('a registration says what kind of client this is, and takes the secret that it gets', async () => {
  const { server, begin } = await connect(
    { grant: 'authorization_code' },
    {
      metadata: { token_endpoint_auth_methods_supported: undefined },
      register: {
        status: 201,
        json: { client_id: 'x', client_secret: 's', client_secret_expires_at: 2000 },
      },
    },
  )
  const { pending } = await begin()
  expect(JSON.parse(server.asked.at(-1)?.body ?? '')).toEqual({
    client_name: 'comity',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
    application_type: 'native',
  })
  expect(pending.client).toMatchObject({
    secret: 's',
    method: 'client_secret_basic',
    expiresAt: 2_000_000,
  })
})

test('a token request that is refused for a nonce is sent once more with it, and the next has it at once', async () => {
  const proofs: string[] = []
  const token: Answer = ({ headers }) => {
    const proof = String(headers['dpop'])
    const payload = Buffer.from(proof.split('.')[1] ?? '', 'base64url').toString()
    const { nonce } = JSON.parse(payload) as { nonce?: string }
    proofs.push(String(nonce))
    if (nonce === 'n1') return { json: { access_token: 'a', token_type: 'DPoP' } }
    return {
      status: 400,
      json: { error: 'use_dpop_nonce' },
      headers: { 'dpop-nonce': nonce === undefined ? 'n1' : 'again' },
    }
  }
  const metadata = { dpop_signing_alg_values_supported: ['ES256'] }
  const client = { id: 'mine', secret: 'hush' }
  const { server, oauth, obtain } = await connect({ client, dpop: true }, { token, metadata })
  const tokens = await obtain()
  expect(tokens).toMatchObject({ tokenType: 'dpop', dpopKey: { alg: 'ES256' } })
  await obtain()
  expect(proofs).toEqual(['undefined', 'n1', 'n1'])
  const headers = await oauth.headersFor(tokens, { method: 'POST', url: `${server.url}/mcp` })
  expect(headers).toEqual({ authorization: 'DPoP a', dpop: expect.any(String) })
  expect(oauth.noteNonce(`${server.url}/mcp`, 'n2')).toBe(true)
  expect(oauth.noteNonce(`${server.url}/mcp`, 'n2')).toBe(false)
})

test('tokens that were to be bound and are not are refused where the operator wants it, and else borne as they are', async () => {
  const metadata = { dpop_signing_alg_values_supported: ['ES256'] }
  const client = { id: 'mine', secret: 'hush' }
  const strict = await connect({ client, dpop: true }, { metadata })
  await expect(strict.obtain()).rejects.toMatchObject({
    message: expect.stringContaining('since auth.dpop is true'),
  })
  const resource = { dpop_bound_access_tokens_required: true }
  const lax = await connect({ client }, { metadata, resource })
  const tokens = await lax.obtain()
  expect(lax.server.asked.at(-1)?.headers['dpop']).toBeDefined()
  expect(tokens).not.toHaveProperty('dpopKey')
  const none = await connect({ client, dpop: false }, { metadata, resource })
  await none.obtain()
  expect(none.server.asked.at(-1)?.headers['dpop']).toBeUndefined()
})

test('a server that is never content with a nonce is asked twice', async () => {
  let count = 0
  const token: Answer = () => {
    count += 1
    return {
      status: 400,
      json: { error: 'use_dpop_nonce' },
      headers: { 'dpop-nonce': `n${count}` },
    }
  }
  const metadata = { dpop_signing_alg_values_supported: ['ES256'] }
  const client = { id: 'mine', secret: 'hush' }
  const { obtain } = await connect({ client, dpop: true }, { token, metadata })
  await expect(obtain()).rejects.toMatchObject({ code: 'use_dpop_nonce' })
  expect(count).toBe(2)
})

test('a code is exchanged by the method that the client has; plain letters stay as they are', async () => {
  const auth = {
    grant: 'authorization_code',
    client: { id: 'my-client_1.a*', secret: 'hush-hush' },
  } as const
  const { server, oauth, peer, begin } = await connect(auth)
  const { authorizationUrl, pending } = await begin()
  await oauth.finish(peer, pending, replyTo(authorizationUrl), signal)
  expect(server.asked.at(-1)?.headers.authorization).toBe(
    `Basic ${btoa('my-client_1.a*:hush-hush')}`,
  )
})

test('a client of the operator’s that the server cannot take is told', async () => {
  const metadata = { token_endpoint_auth_methods_supported: ['private_key_jwt'] }
  const { obtain } = await connect({ client: { id: 'mine', secret: 'hush' } }, { metadata })
  await expect(obtain()).rejects.toMatchObject({
    reason: 'config',
    message: expect.stringMatching(/has a secret, .* takes none: it takes private_key_jwt/u),
  })
})

test('a bearer is borne as it is', async () => {
  const { oauth } = await connect({})
  expect(oauth.headersFor(TOKENS, { method: 'POST', url: 'https://r.example/mcp' })).toEqual({
    authorization: 'Bearer old',
  })
})
