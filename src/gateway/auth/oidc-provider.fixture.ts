/** A true authorization server, a peer that takes its tokens, and a browser that logs in: all on loopback, for tests. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { onTestFinished } from 'vitest'
import { serveHttp } from './http-server.fixture.ts'

/** What is served. */
export interface TestProvider {
  readonly issuer: string
  /** Where the peer is spoken to: it answers 200 to a good token, 401 or 403 to others. */
  readonly peerUrl: string
  /** Of the provider's requests: `POST /token`. */
  readonly lines: () => string[]
  /** Faults of the provider itself. */
  readonly faults: () => unknown[]
}

/** What is other than usual. */
export interface ProviderWords {
  readonly clients?: readonly Readonly<Record<string, unknown>>[]
  readonly dpopNonce?: boolean
  /** Default true: clients may register by themselves. */
  readonly registration?: boolean
}

/** Scopes that the peer knows. */
const SCOPES = 'files:read files:write'

/** @returns a provider that is closed when the test ends. */
export async function serveProvider(words: ProviderWords = {}): Promise<TestProvider> {
  const lines: string[] = []
  const faults: unknown[] = []
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, configurationOf(words))
  provider.on('server_error', (_context, error) => faults.push(error))
  const handle = provider.callback()
  server.on('request', (request, response) => {
    lines.push(`${request.method} ${request.url?.split('?')[0]}`)
    handle(request, response)
  })
  const peer = await serveHttp({
    '/.well-known/oauth-protected-resource/mcp': () => ({
      json: {
        resource: `${peer.url}/mcp`,
        authorization_servers: [issuer],
        scopes_supported: ['files:read'],
      },
    }),
    'POST /mcp': async ({ headers }) => {
      const [scheme = '', value = ''] = (headers.authorization ?? '').split(' ')
      const token =
        (await provider.AccessToken.find(value)) ?? (await provider.ClientCredentials.find(value))
      const isBound = token?.jkt !== undefined
      const isGood = token?.aud === `${peer.url}/mcp` && scheme === (isBound ? 'DPoP' : 'Bearer')
      const metadata = `resource_metadata="${peer.url}/.well-known/oauth-protected-resource/mcp"`
      if (isGood) return { json: { scope: token.scope, clientId: token.clientId } }
      return { status: 401, headers: { 'www-authenticate': `Bearer ${metadata}` } }
    },
  })
  return { issuer, peerUrl: `${peer.url}/mcp`, lines: () => lines, faults: () => faults }
}

function configurationOf({ clients = [], dpopNonce = false, registration = true }: ProviderWords) {
  return {
    clients,
    cookies: { keys: ['for tests alone'] },
    scopes: ['openid', 'offline_access'],
    rotateRefreshToken: true,
    pkce: { required: () => true },
    features: {
      registration: { enabled: registration },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      dPoP: {
        enabled: true,
        ...(dpopNonce && { nonceSecret: Buffer.alloc(32, 7), requireNonce: () => true }),
      },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, audience: string) => ({
          scope: SCOPES,
          audience,
          accessTokenFormat: 'opaque',
          accessTokenTTL: 3600,
        }),
      },
    },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId }),
    }),
  }
}

/** A person with a browser: logs in, consents. @returns the address of ours that it ends at. */
export async function logIn(authorizationUrl: string, redirectUri: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = authorizationUrl
  let form: URLSearchParams | undefined
  for (let steps = 0; steps < 20; steps += 1) {
    if (url.startsWith(redirectUri)) return new URL(url)
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form !== undefined && { method: 'POST', body: form }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';')
      const at = pair.indexOf('=')
      cookies.set(pair.slice(0, at), pair.slice(at + 1))
    }
    const page = await response.text()
    const location = response.headers.get('location')
    form = undefined
    if (location !== null) {
      url = new URL(location, url).href
      continue
    }
    const action = /action="([^"]+)"/.exec(page)?.[1]
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1]
    if (action === undefined || prompt === undefined) {
      throw new Error(
        `the browser came to a page without a form: ${response.status} ${page.slice(0, 2000)}`,
      )
    }
    url = new URL(action, url).href
    form = new URLSearchParams({ prompt, login: 'alice', password: 'any' })
  }
  throw new Error('the browser goes in circles')
}
