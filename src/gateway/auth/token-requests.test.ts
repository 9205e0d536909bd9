import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  connectPeer,
  keepClients,
  OLD_TOKENS,
  redirectUri,
  replyTo,
  serveAuthorization,
} from './authorization-server.fixture.ts'
import type { Answer } from './http-server.fixture.ts'
import { OAuthFailure } from './oauth-failure.ts'
import { createOAuth, type AuthPeer } from './oauth.ts'
import type { AuthConfig } from './words.ts'

const { signal } = new AbortController()

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
  const { obtain } = await connectPeer({ client: { id: 'mine', secret: 'hush' } }, { token })
  await expect(obtain()).rejects.toMatchObject({
    reason: 'rejected',
    message: expect.stringContaining(message),
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
  const { server, oauth, obtain } = await connectPeer({ client, dpop: true }, { token, metadata })
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
  const strict = await connectPeer({ client, dpop: true }, { metadata })
  await expect(strict.obtain()).rejects.toMatchObject({
    message: expect.stringContaining('since auth.dpop is true'),
  })
  const resource = { dpop_bound_access_tokens_required: true }
  const lax = await connectPeer({ client }, { metadata, resource })
  const tokens = await lax.obtain()
  expect(lax.server.asked.at(-1)?.headers['dpop']).toBeDefined()
  expect(tokens).not.toHaveProperty('dpopKey')
  const none = await connectPeer({ client, dpop: false }, { metadata, resource })
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
  const { obtain } = await connectPeer({ client, dpop: true }, { token, metadata })
  await expect(obtain()).rejects.toMatchObject({ code: 'use_dpop_nonce' })
  expect(count).toBe(2)
})

test('a code is exchanged by the method that the client has; plain letters stay as they are', async () => {
  const auth = {
    grant: 'authorization_code',
    client: { id: 'my-client_1.a*', secret: 'hush-hush' },
  } as const
  const { server, oauth, peer, begin } = await connectPeer(auth)
  const { authorizationUrl, pending } = await begin()
  await oauth.finish(peer, pending, replyTo(authorizationUrl), signal)
  expect(server.asked.at(-1)?.headers.authorization).toBe(
    `Basic ${btoa('my-client_1.a*:hush-hush')}`,
  )
})

test('a client of the operator’s that the server cannot take is told', async () => {
  const metadata = { token_endpoint_auth_methods_supported: ['private_key_jwt'] }
  const { obtain } = await connectPeer({ client: { id: 'mine', secret: 'hush' } }, { metadata })
  await expect(obtain()).rejects.toMatchObject({
    reason: 'config',
    message: expect.stringMatching(/has a secret, .* takes none: it takes "private_key_jwt/u),
  })
})

test('whatever a server says of itself, a failure is told in words', async () => {
  const odd = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom('no url', 'data:x', 'https://[::1', '//x', 'SELF', ['S256'], ['ES256', 'none']),
  )
  const names = [
    'authorization_endpoint',
    'token_endpoint',
    'registration_endpoint',
    'scopes_supported',
  ] as const
  const more = [
    'code_challenge_methods_supported',
    'token_endpoint_auth_methods_supported',
    'dpop_signing_alg_values_supported',
    'grant_types_supported',
  ] as const
  const fields = Object.fromEntries([...names, ...more].map((name) => [name, odd]))
  const answers: { metadata: Record<string, unknown>; register: unknown; token: unknown } = {
    metadata: {},
    register: {},
    token: {},
  }
  const server = await serveAuthorization({
    answers: {
      '/.well-known/oauth-authorization-server': () => ({
        json: {
          issuer: server.url,
          authorization_endpoint: `${server.url}/authorize`,
          token_endpoint: `${server.url}/token`,
          registration_endpoint: `${server.url}/register`,
          code_challenge_methods_supported: ['S256'],
          ...answers.metadata,
        },
      }),
      'POST /register': () => ({ json: answers.register }),
      'POST /token': () => ({ json: answers.token }),
    },
  })
  const peerOf = (auth: Partial<AuthConfig>): AuthPeer => ({
    name: 'r',
    url: `${server.url}/mcp`,
    auth: { grant: 'authorization_code', scopes: [], dpop: true, ...auth },
  })
  let ended = 0
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        metadata: fc.record(fields, { requiredKeys: [] }),
        register: fc.oneof(odd, fc.record({ client_id: fc.oneof(fc.string(), odd) })),
        token: fc.oneof(
          odd,
          fc.record({
            access_token: fc.oneof(fc.string(), odd),
            token_type: fc.constantFrom('Bearer', 'DPoP'),
            expires_in: odd,
            scope: odd,
          }),
        ),
      }),
      async (given) => {
        Object.assign(answers, given)
        const oauth = createOAuth({ clients: keepClients(), now: Date.now })
        const work = [
          async () => {
            const peer = peerOf({})
            const discovered = await oauth.discover(peer, undefined, signal)
            const begun = await oauth.begin(peer, { discovered, redirectUri }, signal)
            await oauth.finish(peer, begun.pending, replyTo(begun.authorizationUrl), signal)
          },
          async () => {
            const peer = peerOf({ grant: 'client_credentials', client: { id: 'i', secret: 's' } })
            const discovered = await oauth.discover(peer, undefined, signal)
            await oauth.obtain(peer, discovered, undefined, [], signal)
          },
        ]
        for (const one of work) {
          await one().catch((error: unknown) => expect(error).toBeInstanceOf(OAuthFailure))
          ended += 1
        }
      },
    ),
    { numRuns: 60 },
  )
  expect(ended).toBe(120)
})

test('a bearer is borne as it is', async () => {
  const { oauth } = await connectPeer({})
  expect(oauth.headersFor(OLD_TOKENS, { method: 'POST', url: 'https://r.example/mcp' })).toEqual({
    authorization: 'Bearer old',
  })
})
