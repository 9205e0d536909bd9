import { expect, test } from 'vitest'
import { discoverPeer, type AuthPeer } from './discover.ts'
import { createGuardedFetch } from './guarded-fetch.ts'
import { serveHttp, type Answer } from './http-server.fixture.ts'
import { createDiscovery } from './remember-discovery.ts'
import type { AuthConfig } from './words.ts'

const { signal } = new AbortController()
const PRM = '/.well-known/oauth-protected-resource'
const AS = '/.well-known/oauth-authorization-server'

function peerAt(origin: string, auth: Partial<AuthConfig> = {}, path = '/team/mcp'): AuthPeer {
  return {
    name: 'r',
    url: origin + path,
    auth: { grant: 'authorization_code', scopes: [], ...auth },
  }
}

function discover(peer: AuthPeer, ...challenges: string[]) {
  return discoverPeer(createGuardedFetch([peer.url]), peer, { challenges }, signal)
}

/** A peer and its authorization server at one origin, whose answers may speak of that origin. */
async function serveBoth(table: (origin: () => string) => Record<string, Answer>) {
  let origin = ''
  const server = await serveHttp(table(() => origin))
  origin = server.url
  return server
}

const metadata =
  (origin: () => string, path = ''): Answer =>
  () => ({
    json: {
      issuer: origin() + path,
      authorization_endpoint: `${origin()}/authorize`,
      token_endpoint: `${origin()}/token`,
      code_challenge_methods_supported: ['S256'],
    },
  })
const resource =
  (origin: () => string, path = '/team/mcp', issuer = ''): Answer =>
  () => ({
    json: {
      resource: origin() + path,
      authorization_servers: [origin() + issuer],
      scopes_supported: ['a'],
    },
  })

test('the header comes first, then the path, then the root; what was found ends it', async () => {
  const server = await serveBoth((origin) => ({
    [AS]: metadata(origin),
    '/odd/prm.json': resource(origin),
    [`${PRM}/team/mcp`]: resource(origin),
    [PRM]: resource(origin, ''),
  }))
  const found = await discover(
    peerAt(server.url),
    `Bearer resource_metadata="${server.url}/odd/prm.json"`,
  )
  expect(found).toMatchObject({
    resource: `${server.url}/team/mcp`,
    resourceScopes: ['a'],
    wantsDpop: false,
    server: { issuer: server.url, tokenEndpoint: `${server.url}/token`, assumed: false },
  })
  expect(server.lines()).toEqual(['GET /odd/prm.json', `GET ${AS}`])
  await discover(peerAt(server.url))
  expect(server.lines().slice(2)).toEqual([`GET ${PRM}/team/mcp`, `GET ${AS}`])
})

test('a place that has nothing usable gives way to the next', async () => {
  const server = await serveBoth((origin) => ({
    [AS]: metadata(origin),
    '/prm': { text: '<html>' },
    [`${PRM}/team/mcp`]: { json: { resource: 'https://x.example' } },
    [PRM]: resource(origin, ''),
  }))
  const found = await discover(peerAt(server.url), `Bearer resource_metadata=${server.url}/prm`)
  // Exactly as it was published: no slash is added.
  expect(found.resource).toBe(server.url)
})

test('metadata of another resource is refused, and nothing is asked of its authorization server', async () => {
  const server = await serveBoth((origin) => ({
    [AS]: metadata(origin),
    [`${PRM}/team/mcp`]: () => ({
      json: { resource: 'https://evil.example/mcp', authorization_servers: [origin()] },
    }),
    [PRM]: resource(origin, ''),
  }))
  await expect(discover(peerAt(server.url))).rejects.toMatchObject({
    reason: 'untrustworthy',
    message: expect.stringContaining('https://evil.example/mcp'),
  })
  expect(server.lines()).toEqual([`GET ${PRM}/team/mcp`])
})

test.each([
  ['/tenant1', `${AS}/tenant1`],
  ['/tenant1', '/.well-known/openid-configuration/tenant1'],
  ['/tenant1', '/tenant1/.well-known/openid-configuration'],
  ['', AS],
  ['', '/.well-known/openid-configuration'],
])('an issuer with the path "%s" is found at %s', async (path, place) => {
  const server = await serveBoth((origin) => ({
    [place]: metadata(origin, path),
    [PRM]: resource(origin, '', path),
  }))
  const found = await discover(peerAt(server.url))
  expect(found.server.issuer).toBe(server.url + path)
})

test.each([
  ['another issuer', 'https://evil.example'],
  ['the same with a slash', 'SELF/'],
])('a document of %s is not used', async (_name, issuer) => {
  const server = await serveBoth((origin) => ({
    [AS]: () => ({ json: { issuer: issuer.replace('SELF', origin()), token_endpoint: origin() } }),
    [PRM]: resource(origin, ''),
  }))
  await expect(discover(peerAt(server.url))).rejects.toMatchObject({
    reason: 'untrustworthy',
    message: expect.stringContaining('to the letter'),
  })
})

test('an authorization server that says nothing: the error lists where it was looked for', async () => {
  const server = await serveBoth((origin) => ({
    [PRM]: resource(origin, '', '/t'),
    [`${AS}/t`]: { text: 'sorry' },
  }))
  const failed = discover(peerAt(server.url))
  await expect(failed).rejects.toMatchObject({ reason: 'no_metadata' })
  const message = await failed.catch((error: Error) => error.message)
  expect(message).toContain(`${server.url}${AS}/t (200 with text/html)`)
  expect(message).toContain(`${server.url}/.well-known/openid-configuration/t (404 with text/html)`)
  expect(message).toContain(`${server.url}/t/.well-known/openid-configuration (404 with text/html)`)
})

test('a peer without metadata is one of 2025-03-26: metadata at its origin, with or without a slash', async () => {
  for (const slash of ['', '/']) {
    const server = await serveBoth((origin) => ({ [AS]: metadata(origin, slash) }))
    expect(await discover(peerAt(server.url))).toMatchObject({
      resource: `${server.url}/team/mcp`,
      server: { issuer: server.url + slash, assumed: false },
    })
  }
})

test('or customary endpoints, and it is remembered where nothing was found', async () => {
  const server = await serveHttp({})
  const found = await discover(peerAt(server.url))
  expect(found.server).toMatchObject({
    issuer: server.url,
    authorizationEndpoint: `${server.url}/authorize`,
    registrationEndpoint: `${server.url}/register`,
    assumed: true,
  })
  expect(found.tried.map(({ url }) => url)).toEqual([
    `${server.url}${PRM}/team/mcp`,
    `${server.url}${PRM}`,
    `${server.url}${AS}`,
    `${server.url}/.well-known/openid-configuration`,
  ])
})

test('a peer that does not answer has not said that there is nothing', async () => {
  const server = await serveHttp({
    '/prm': (_asked, response) => {
      response.destroy()
      return undefined
    },
  })
  await expect(
    discover(peerAt(server.url), `Bearer resource_metadata="${server.url}/prm"`),
  ).rejects.toMatchObject({ reason: 'unreachable' })
})

test('the issuer that the operator named is used among several, and no other in its place', async () => {
  const server = await serveBoth((origin) => ({
    [`${AS}/mine`]: metadata(origin, '/mine'),
    [PRM]: () => ({
      json: { resource: origin(), authorization_servers: [`${origin()}/a`, `${origin()}/mine`] },
    }),
  }))
  const found = await discover(peerAt(server.url, { issuer: `${server.url}/mine` }))
  expect(found.server.issuer).toBe(`${server.url}/mine`)
  await expect(
    discover(peerAt(server.url, { issuer: `${server.url}/gone` })),
  ).rejects.toMatchObject({
    reason: 'untrustworthy',
    message: expect.stringContaining('what was registered at one is not shown to another'),
  })
})

test.each([
  ['https://169.254.169.254/latest/meta-data'],
  ['https://10.0.0.1/prm'],
  ['https://[::ffff:169.254.169.254]/prm'],
])('metadata that is said to be at %s ends it', async (url) => {
  const server = await serveHttp({})
  await expect(
    discover(peerAt(server.url), `Bearer resource_metadata="${url}"`),
  ).rejects.toMatchObject({ reason: 'forbidden_address' })
  expect(server.asked).toEqual([])
})

test.each([
  ['http://169.254.169.254/latest/meta-data', 'it is http: and not https:'],
  ['http://r.example/.well-known/oauth-protected-resource', 'it is http: and not https:'],
  ['file:///etc/passwd', 'it is file: and not https:'],
  ['/prm', 'it is no URL'],
])('metadata that is said to be at %s is not looked for there', async (url, what) => {
  const server = await serveHttp({})
  const found = await discover(peerAt(server.url), `Bearer resource_metadata="${url}"`)
  expect(found.tried[0]).toEqual({ url, what })
  expect(server.lines()).toHaveLength(4)
})

test('an authorization server in a place that is not ours to go to ends it', async () => {
  const server = await serveBoth((origin) => ({
    [PRM]: () => ({
      json: { resource: origin(), authorization_servers: ['https://169.254.169.254/'] },
    }),
  }))
  await expect(discover(peerAt(server.url))).rejects.toMatchObject({ reason: 'forbidden_address' })
})

test('what was found is remembered for a while, read again after a refusal, and forgotten on demand', async () => {
  const server = await serveBoth((origin) => ({
    [AS]: metadata(origin),
    [`${PRM}/team/mcp`]: resource(origin),
  }))
  let now = 0
  const peer = peerAt(server.url)
  const discovery = createDiscovery({
    fetchFor: ({ url }) => createGuardedFetch([url]),
    now: () => now,
    maxAgeMs: 1000,
  })
  const asks = async (refusal?: { challenges: string[] }) => {
    const before = server.asked.length
    await discovery.discover(peer, refusal, signal)
    return server.lines().slice(before)
  }
  expect(await asks()).toHaveLength(2)
  expect(await asks()).toEqual([])
  expect(await asks({ challenges: ['Bearer'] })).toEqual([`GET ${PRM}/team/mcp`])
  discovery.forget(peer)
  expect(await asks()).toHaveLength(2)
  now = 1000
  expect(await asks()).toHaveLength(2)
})

test('DPoP is wanted when the refusal or the metadata says so', async () => {
  const server = await serveBoth((origin) => ({
    [AS]: metadata(origin),
    '/strict': () => ({
      json: {
        resource: origin(),
        authorization_servers: [origin()],
        dpop_bound_access_tokens_required: true,
      },
    }),
    [PRM]: resource(origin, ''),
  }))
  const peer = peerAt(server.url)
  expect((await discover(peer, 'DPoP algs="ES256"')).wantsDpop).toBe(true)
  expect((await discover(peer, `Bearer resource_metadata="${server.url}/strict"`)).wantsDpop).toBe(
    true,
  )
  expect((await discover(peer, 'Bearer')).wantsDpop).toBe(false)
})
