import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  challengeOf,
  keepClients,
  replyTo,
  serveAuthorization,
  type TestWords,
} from './authorization-server.fixture.ts'
import { serveHttp, type Answer } from './http-server.fixture.ts'
import { createOAuth, type AuthPeer, type OAuth } from './oauth.ts'
import type { AuthConfig } from './words.ts'

const { signal } = new AbortController()
const redirectUri = 'http://127.0.0.1:8765/callback'

function peerAt(url: string, auth: Partial<AuthConfig> = {}): AuthPeer {
  return { name: 'r', url, auth: { grant: 'authorization_code', scopes: [], ...auth } }
}

function engine() {
  const clients = keepClients()
  return { oauth: createOAuth({ clients, now: Date.now }), clients }
}

async function begin(oauth: OAuth, peer: AuthPeer, ...challenges: string[]) {
  const refusal = { challenges }
  const discovered = await oauth.discover(peer, refusal, signal)
  return oauth.begin(peer, { discovered, redirectUri, refusal }, signal)
}

/** A login up to its reply. */
async function login(words: TestWords = {}, auth: Partial<AuthConfig> = {}) {
  const server = await serveAuthorization(words)
  const peer = peerAt(`${server.url}/mcp`, auth)
  const { oauth, clients } = engine()
  const begun = await begin(oauth, peer)
  const finish = (reply: Record<string, string>) =>
    oauth.finish(peer, begun.pending, replyTo(begun.authorizationUrl, reply), signal)
  return { server, peer, oauth, clients, begun, finish }
}

test('R089: a login: PKCE, state, resource in both requests, and tokens of what came', async () => {
  const { server, peer, oauth, begun, finish } = await login({
    resource: { scopes_supported: ['a'] },
  })
  const asked = new URL(begun.authorizationUrl).searchParams
  expect(Object.fromEntries(asked)).toMatchObject({
    response_type: 'code',
    redirect_uri: redirectUri,
    code_challenge_method: 'S256',
    resource: `${server.url}/mcp`,
    scope: 'a',
    state: begun.pending.state,
  })
  const tokens = await finish({ code: 'the-code', iss: server.url })
  expect(tokens).toEqual({
    accessToken: 'access',
    tokenType: 'bearer',
    refreshToken: 'refresh',
    scopes: ['a'],
    clientId: asked.get('client_id'),
  })
  const [form] = server.forms()
  expect(Object.fromEntries(form ?? [])).toEqual({
    grant_type: 'authorization_code',
    code: 'the-code',
    redirect_uri: redirectUri,
    code_verifier: expect.any(String),
    resource: `${server.url}/mcp`,
    client_id: asked.get('client_id'),
  })
  expect(challengeOf(form?.get('code_verifier') ?? '')).toBe(asked.get('code_challenge'))
  expect(oauth.placeOf('local', peer, begun.pending.discovered)).toEqual({
    principal: 'local',
    peer: 'r',
    issuer: server.url,
    resource: `${server.url}/mcp`,
  })
})

test.each([
  ['another issuer', { code: 'c', iss: 'https://evil.example' }, {}],
  ['the issuer with a slash', { code: 'c', iss: 'SELF/' }, {}],
  [
    'no issuer where it is always said',
    { code: 'c' },
    { authorization_response_iss_parameter_supported: true },
  ],
  ['an empty issuer', { code: 'c', iss: '' }, {}],
  ['no code', { iss: 'SELF' }, {}],
])('a reply with %s is not taken, and its code goes nowhere', async (_name, reply, metadata) => {
  const { server, finish } = await login({ metadata })
  const spelled = Object.entries(reply).map(([name, text]) => [
    name,
    text.replace('SELF', server.url),
  ])
  const failed = finish(Object.fromEntries(spelled))
  await expect(failed).rejects.toMatchObject({ reason: 'untrustworthy' })
  expect(server.forms()).toEqual([])
})

test('an issuer that was not announced is compared all the same, and taken when it is right', async () => {
  const { server, finish } = await login()
  expect(await finish({ code: 'c', iss: server.url })).toMatchObject({ accessToken: 'access' })
})

test('the text of an error is shown only when it comes from whom was asked', async () => {
  const error = { error: 'access_denied', error_description: 'call\u001b[31m 555-PHISH' }
  const wrong = await login()
  const hidden = wrong.finish({ ...error, iss: 'https://evil.example' })
  await expect(hidden).rejects.toMatchObject({
    reason: 'untrustworthy',
    message: expect.not.stringContaining('PHISH'),
  })
  const silent = await login({ metadata: { authorization_response_iss_parameter_supported: true } })
  await expect(silent.finish(error)).rejects.toMatchObject({
    message: expect.not.stringContaining('PHISH'),
  })
  const right = await login()
  await expect(right.finish({ ...error, iss: right.server.url })).rejects.toMatchObject({
    reason: 'rejected',
    code: 'access_denied',
    message: `${right.server.url} says access_denied: call [31m 555-PHISH`,
  })
})

test('a state that is not ours, or a login that was ended before, sends nothing', async () => {
  const { server, peer, oauth, begun, finish } = await login()
  const other = await begin(oauth, peer)
  const foreign = replyTo(other.authorizationUrl)
  await expect(oauth.finish(peer, begun.pending, foreign, signal)).rejects.toMatchObject({
    message: expect.stringContaining('its state is not ours'),
  })
  expect(server.forms()).toEqual([])
  // Whoever guesses at it does not end it.
  expect(await finish({ code: 'c' })).toMatchObject({ accessToken: 'access' })
  await expect(finish({ code: 'c' })).rejects.toMatchObject({
    message: expect.stringContaining('ended before'),
  })
  // Nor is it good again after a reply that was its own and refused.
  await expect(
    oauth.finish(peer, other.pending, replyTo(other.authorizationUrl, { iss: 'x' }), signal),
  ).rejects.toMatchObject({ reason: 'untrustworthy' })
  await expect(
    oauth.finish(peer, other.pending, replyTo(other.authorizationUrl), signal),
  ).rejects.toMatchObject({ message: expect.stringContaining('ended before') })
  expect(server.forms()).toHaveLength(1)
})

test('a parameter that comes twice is not chosen from', async () => {
  const { server, peer, oauth, begun } = await login()
  const reply = replyTo(begun.authorizationUrl)
  reply.append('code', 'another')
  await expect(oauth.finish(peer, begun.pending, reply, signal)).rejects.toMatchObject({
    message: expect.stringContaining('code more than once'),
  })
  expect(server.forms()).toEqual([])
})

test.each([
  ['no word of PKCE', { code_challenge_methods_supported: undefined }, 'lists nothing'],
  ['plain alone', { code_challenge_methods_supported: ['plain'] }, 'lists "plain"'],
  [
    'an authorization endpoint that runs something',
    { authorization_endpoint: 'a:$(calc)' },
    'it is a: and not https:',
  ],
  [
    'one that is a file',
    { authorization_endpoint: 'file:///c:/x.exe' },
    'it is file: and not https:',
  ],
  ['one that is an option', { authorization_endpoint: '--flag' }, 'it is no URL'],
  [
    'one without encryption',
    { authorization_endpoint: 'http://x/" & calc' },
    'it is http: and not https:',
  ],
  ['none', { authorization_endpoint: undefined }, 'names no authorization_endpoint'],
  ['no token endpoint', { token_endpoint: undefined }, 'names no token_endpoint'],
])(
  'R089: metadata with %s begins no login and registers nobody',
  async (_name, metadata, message) => {
    const server = await serveAuthorization({ metadata })
    const { oauth } = engine()
    await expect(begin(oauth, peerAt(`${server.url}/mcp`))).rejects.toMatchObject({
      message: expect.stringContaining(message),
    })
    expect(server.lines()).not.toContain('POST /register')
  },
)

test('a token endpoint in a network of its own gets no code', async () => {
  const { finish } = await login({ metadata: { token_endpoint: 'https://10.0.0.1/token' } })
  await expect(finish({ code: 'c' })).rejects.toMatchObject({ reason: 'forbidden_address' })
})

test('a client that the server does not know any more registers anew at the next login', async () => {
  const { finish, clients } = await login({
    token: { status: 401, json: { error: 'invalid_client' } },
  })
  expect(clients.kept.size).toBe(1)
  await expect(finish({ code: 'c' })).rejects.toMatchObject({ code: 'invalid_client' })
  expect(clients.kept.size).toBe(0)
})

test('a step-up asks for what there was and for what is demanded', async () => {
  const server = await serveAuthorization({ metadata: { scopes_supported: ['offline_access'] } })
  const peer = peerAt(`${server.url}/mcp`)
  const { oauth } = engine()
  const refusal = { challenges: ['Bearer error="insufficient_scope", scope="b c"'] }
  const discovered = await oauth.discover(peer, refusal, signal)
  const login = { discovered, redirectUri, refusal, earlier: ['a', 'b'] }
  const { authorizationUrl } = await oauth.begin(peer, login, signal)
  const asked = new URL(authorizationUrl).searchParams
  expect([asked.get('scope'), asked.get('prompt')]).toEqual(['a b c offline_access', 'consent'])
})

test('a registered client is used again, and anew where the redirect URI is another or the issuer changed', async () => {
  const first = await serveAuthorization()
  const second = await serveAuthorization({ resource: {} })
  let issuer = first.url
  const peer = await serveHttp({
    '/.well-known/oauth-protected-resource/mcp': () => ({
      json: { resource: `${peer.url}/mcp`, authorization_servers: [issuer] },
    }),
  })
  const { oauth } = engine()
  const at = peerAt(`${peer.url}/mcp`)
  const registered = () =>
    [first, second].map(({ lines }) => lines().filter((line) => line === 'POST /register').length)
  await begin(oauth, at)
  await begin(oauth, at)
  expect(registered()).toEqual([1, 0])
  const discovered = await oauth.discover(at, undefined, signal)
  await oauth.begin(at, { discovered, redirectUri: `${redirectUri}2` }, signal)
  expect(registered()).toEqual([2, 0])
  issuer = second.url
  const moved = await begin(oauth, at)
  expect(registered()).toEqual([2, 1])
  expect(moved.pending.client.issuer).toBe(second.url)
})

test('a client of the operator’s is never shown to another issuer', async () => {
  const first = await serveAuthorization()
  const second = await serveAuthorization()
  let issuer = first.url
  const peer = await serveHttp({
    '/.well-known/oauth-protected-resource/mcp': () => ({
      json: { resource: `${peer.url}/mcp`, authorization_servers: [issuer] },
    }),
  })
  const { oauth } = engine()
  const client = { id: 'mine', secret: 'hush' }
  const held = peerAt(`${peer.url}/mcp`, { client })
  const { pending } = await begin(oauth, held)
  expect(pending.client).toMatchObject({
    id: 'mine',
    issuer: first.url,
    method: 'client_secret_basic',
  })
  issuer = second.url
  for (const auth of [{ client }, { client, issuer: first.url }]) {
    const failed = begin(oauth, peerAt(`${peer.url}/mcp`, auth))
    await expect(failed).rejects.toMatchObject({
      reason: 'untrustworthy',
      message: expect.not.stringContaining('hush'),
    })
  }
  expect(second.lines().filter((line) => line.startsWith('POST'))).toEqual([])
})

test('C58: metadata is found in the order of the specification, from whatever form of refusal', async () => {
  const { given } = JSON.parse(
    readFileSync(
      new URL('../../../test/cases/C58-auth-discovery-places.json', import.meta.url),
      'utf8',
    ),
  ) as { given: { servers: Record<'h' | 'two' | 'case', string> } }
  const prm = '/.well-known/oauth-protected-resource'
  const challenge = (text: string, origin: string) =>
    text
      .replace(/^.*?www-authenticate: /i, '')
      .replace(' (unquoted)', '')
      .replace('https://r.example', origin)
  const document = (resource: string) => (origin: string) => ({
    json: {
      resource: resource.startsWith('/') ? origin + resource : resource,
      authorization_servers: [origin],
    },
  })
  const good = document('/team/mcp')

  const connect = async (
    places: Record<string, (origin: string) => Exclude<Answer, Function>>,
    header: string | undefined,
  ) => {
    const answers = Object.fromEntries(
      Object.entries(places).map(([path, make]) => [path, (): Answer => make(server.url)]),
    )
    const server = await serveAuthorization({ answers })
    const peer = peerAt(`${server.url}/team/mcp`)
    const { oauth } = engine()
    const challenges = header === undefined ? [] : [challenge(header, server.url)]
    const work = async () => {
      const begun = await begin(oauth, peer, ...challenges)
      await oauth.finish(peer, begun.pending, replyTo(begun.authorizationUrl), signal)
      return new URL(begun.authorizationUrl).searchParams.get('resource')
    }
    const resource = await work().catch((error: Error) => error)
    return {
      server,
      resource,
      looked: server.lines().filter((line) => line.includes('prm') || line.includes(prm)),
    }
  }

  const { h, two, case: odd } = given.servers
  for (const [header, places, looked] of [
    [h, { '/odd/prm.json': good, [`${prm}/team/mcp`]: good }, ['GET /odd/prm.json']],
    [two, { '/prm': good, [prm]: good }, ['GET /prm']],
    [odd, { '/prm': good, [prm]: good }, ['GET /prm']],
    [undefined, { [`${prm}/team/mcp`]: good, [prm]: good }, [`GET ${prm}/team/mcp`]],
    [undefined, { [prm]: good }, [`GET ${prm}/team/mcp`, `GET ${prm}`]],
  ] as const) {
    const found = await connect(places, header)
    expect(found.resource).toBe(`${found.server.url}/team/mcp`)
    expect(found.looked).toEqual(looked)
    expect(found.server.forms().map((form) => form.get('resource'))).toEqual([found.resource])
  }

  const wrong = await connect(
    { [`${prm}/team/mcp`]: document('https://other.example/mcp') },
    undefined,
  )
  expect(wrong.resource).toMatchObject({ reason: 'untrustworthy' })
  expect(wrong.server.lines()).toEqual([`GET ${prm}/team/mcp`])

  const nothing = { status: 404, text: 'nothing' }
  const none = {
    '/.well-known/oauth-authorization-server': () => nothing,
    'POST /register': () => nothing,
  }
  const html = () => ({ text: '<html>' })
  for (const places of [none, { ...none, [`${prm}/team/mcp`]: html, [prm]: html }]) {
    const { server, resource } = await connect(places, undefined)
    expect(resource).toMatchObject({ reason: 'no_metadata' })
    for (const path of [
      `${prm}/team/mcp`,
      prm,
      '/.well-known/oauth-authorization-server',
      '/register',
    ]) {
      expect((resource as Error).message).toContain(`${server.url}${path} (`)
    }
    expect(server.forms()).toEqual([])
  }
})
