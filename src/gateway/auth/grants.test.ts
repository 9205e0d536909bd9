import { exportJWK, exportPKCS8, generateKeyPair, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { connectPeer, OLD_TOKENS } from './authorization-server.fixture.ts'
import { serveHttp } from './http-server.fixture.ts'
import type { AuthConfig } from './words.ts'

const { signal } = new AbortController()
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const fieldsOf = (form: URLSearchParams | undefined) => Object.fromEntries(form ?? [])

test('client credentials with a secret: the basic form, each part encoded as a form', async () => {
  const { server, obtain } = await connectPeer(
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
  const { server, obtain } = await connectPeer(
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
      const { server, obtain } = await connectPeer({ client: { id: 'mine', privateKey } })
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
  const { server, obtain } = await connectPeer({
    client: { id: 'mine', privateKey: 'c2VjcmV0a2V5' },
  })
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
  const { server, obtain } = await connectPeer(auth)
  await expect(obtain()).rejects.toMatchObject({
    reason: 'config',
    message: expect.stringContaining(message),
  })
  expect(server.forms()).toEqual([])
})

test('a workload’s assertion is sent as it is; a refusal is the answer, and is not tried otherwise', async () => {
  const auth = { grant: 'jwt_bearer', assertion: 'the.signed.jwt', client: { id: 'w' } } as const
  const good = await connectPeer(auth)
  await good.obtain()
  expect(fieldsOf(good.server.forms()[0])).toEqual({
    grant_type: JWT_BEARER,
    assertion: 'the.signed.jwt',
    resource: `${good.server.url}/mcp`,
    client_id: 'w',
  })
  const bad = await connectPeer(auth, { token: { status: 400, json: { error: 'invalid_grant' } } })
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
  const { server, obtain } = await connectPeer({
    grant: 'enterprise',
    identity,
    client,
    scopes: ['a'],
  })
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
  const { server, obtain } = await connectPeer({
    grant: 'enterprise',
    identity: { issuer: provider.url, idToken: 't' },
  })
  await expect(obtain()).rejects.toMatchObject({ reason: 'rejected' })
  expect(server.forms()).toEqual([])
})

test('a refresh keeps the token that was used where no other comes, and the scopes', async () => {
  const auth: Partial<AuthConfig> = { grant: 'authorization_code', client: { id: 'mine' } }
  const same = await connectPeer(auth)
  expect(await same.refresh({})).toEqual({
    kind: 'renewed',
    tokens: { ...OLD_TOKENS, accessToken: 'access', expiresAt: 1_060_000 },
  })
  expect(fieldsOf(same.server.forms()[0])).toEqual({
    grant_type: 'refresh_token',
    refresh_token: 'r1',
    resource: `${same.server.url}/mcp`,
    client_id: 'mine',
  })
  const rotated = await connectPeer(auth, {
    token: { json: { access_token: 'n', token_type: 'bearer', refresh_token: 'r2', scope: 'a b' } },
  })
  expect(await rotated.refresh({})).toMatchObject({
    tokens: { accessToken: 'n', refreshToken: 'r2', scopes: ['a', 'b'] },
  })
})

test('a family that was revoked is told as such; what may pass is an error', async () => {
  const auth: Partial<AuthConfig> = { grant: 'authorization_code', client: { id: 'mine' } }
  const answering = async (status: number, error: string) =>
    connectPeer(auth, { token: { status, json: { error } } })
  const revoked = await answering(400, 'invalid_grant')
  expect(await revoked.refresh({})).toEqual({
    kind: 'revoked',
    code: 'invalid_grant',
    detail: `${revoked.server.url} says invalid_grant`,
  })
  expect(revoked.server.forms()).toHaveLength(1)
  const busy = await answering(503, 'temporarily_unavailable')
  await expect(busy.refresh({})).rejects.toMatchObject({ reason: 'unreachable' })
  const page = await connectPeer(auth, { token: { status: 502, text: '<html>' } })
  await expect(page.refresh({})).rejects.toMatchObject({
    reason: 'unreachable',
    message: `${page.server.url} answered 502 with text/html`,
  })
})

test('without a refresh token, or the client that they were given to, nothing is asked', async () => {
  const { server, refresh } = await connectPeer({ grant: 'authorization_code' })
  const { refreshToken: _, ...bare } = OLD_TOKENS
  expect(await refresh({})).toEqual({
    kind: 'revoked',
    detail: `the client that the tokens were given to is no longer registered at ${server.url}`,
  })
  const { oauth, peer, discovered } = await connectPeer({ client: { id: 'mine' } })
  expect(await oauth.refresh(peer, discovered, bare, signal)).toMatchObject({
    kind: 'revoked',
    detail: 'there is no refresh token',
  })
  expect(server.forms()).toEqual([])
})
