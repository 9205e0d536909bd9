/** An authorization server by hand, for what an honest one never does: each word of it can be another. */
import { createHash } from 'node:crypto'
import { createOAuth, type AuthPeer } from './oauth.ts'
import { serveHttp, type Answer, type Asked, type TestServer } from './http-server.fixture.ts'
import type { ClientStore } from './register.ts'
import type { AuthConfig, RegisteredClient, TokenSet } from './words.ts'

/** A peer and the server that gives its tokens, at one origin. */
export interface TestAuthorization extends TestServer {
  /** Of the requests to the token endpoint, their forms. */
  readonly forms: () => URLSearchParams[]
}

/** What is changed. */
export interface TestWords {
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly resource?: Readonly<Record<string, unknown>>
  readonly token?: Answer
  readonly register?: Answer
  /** More answers, in the place of those. */
  readonly answers?: Record<string, Answer>
}

/** @returns a server whose metadata lies at the root forms and whose peer is at `/mcp`. */
export async function serveAuthorization(words: TestWords = {}): Promise<TestAuthorization> {
  let origin = ''
  const metadata = () => ({
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    ...words.metadata,
  })
  const server = await serveHttp({
    '/.well-known/oauth-protected-resource/mcp': () => ({
      json: { resource: `${origin}/mcp`, authorization_servers: [origin], ...words.resource },
    }),
    '/.well-known/oauth-authorization-server': () => ({ json: metadata() }),
    'POST /register': words.register ?? register,
    'POST /token': words.token ?? {
      json: { access_token: 'access', token_type: 'Bearer', refresh_token: 'refresh' },
    },
    ...words.answers,
  })
  origin = server.url
  const forms = () =>
    server.asked.filter(({ url }) => url === '/token').map(({ body }) => new URLSearchParams(body))
  return { ...server, forms }
}

let registrations = 0

function register({ body }: Asked): Answer {
  const asked = JSON.parse(body) as { redirect_uris: string[] }
  registrations += 1
  return {
    status: 201,
    json: { client_id: `client-${registrations}`, redirect_uris: asked.redirect_uris },
  }
}

/** Clients as they are kept, in memory. */
export function keepClients(): ClientStore & { readonly kept: Map<string, RegisteredClient> } {
  const kept = new Map<string, RegisteredClient>()
  const keyOf = (issuer: string, peer: string) => `${issuer} ${peer}`
  return {
    kept,
    loadClient: (issuer, peer) => kept.get(keyOf(issuer, peer)),
    saveClient: (peer, client) => {
      kept.set(keyOf(client.issuer, peer), client)
    },
    removeClient: (issuer, peer) => {
      kept.delete(keyOf(issuer, peer))
    },
  }
}

/** What the person's browser brings back. */
export function replyTo(
  authorizationUrl: string,
  words: Readonly<Record<string, string>> = { code: 'the-code' },
): URLSearchParams {
  const state = new URL(authorizationUrl).searchParams.get('state') ?? ''
  return new URLSearchParams({ state, ...words })
}

/** What a verifier has to be for its challenge. */
export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

const { signal } = new AbortController()

/** Where its logins come back to. */
export const redirectUri = 'http://127.0.0.1:8765/callback'

const EXPIRING_TOKEN: Answer = {
  json: { access_token: 'access', token_type: 'Bearer', expires_in: '60' },
}

/** Tokens that were given before. */
export const OLD_TOKENS: TokenSet = {
  accessToken: 'old',
  tokenType: 'bearer',
  refreshToken: 'r1',
  scopes: ['a'],
  clientId: 'mine',
}

/** A peer of such a server, found by an engine whose clock stands still. */
export async function connectPeer(auth: Partial<AuthConfig>, words: TestWords = {}) {
  const server = await serveAuthorization({ token: EXPIRING_TOKEN, ...words })
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
    oauth.refresh(peer, discovered, { ...OLD_TOKENS, ...tokens }, signal)
  const begin = () => oauth.begin(peer, { discovered, redirectUri }, signal)
  return { server, oauth, clients, peer, discovered, obtain, refresh, begin }
}
