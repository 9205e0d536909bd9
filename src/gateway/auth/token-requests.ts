/**
 * Requests to a token endpoint, and what is taken of the answers. Each is sent once; a second time only with the nonce that
 * the first was refused for.
 *
 * @source RFC 6749, sections 5 and 6; RFC 9449, sections 5 and 8; RFC 8707; RFC 7523; RFC 8693.
 */
import { maskSecrets } from '../../mcp/upstream/supervise.ts'
import { authenticationOf, encodeForm, type ConfiguredClient } from './client-authentication.ts'
import { proveDpop, type DpopKey, type Nonces } from './dpop.ts'
import type { GuardedAnswer, GuardedFetch } from './guarded-fetch.ts'
import { OAuthFailure } from './oauth-failure.ts'
import { splitScopes } from './scopes.ts'
import { textAt, type ServerMetadata } from './server-metadata.ts'
import type { RegisteredClient, TokenSet } from './words.ts'

/** What every token request needs. */
export interface TokenRequester {
  readonly fetchGuarded: GuardedFetch
  readonly nonces: Nonces
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** One token request. */
export interface TokenRequest {
  readonly server: ServerMetadata
  /** Undefined: nobody in particular, an assertion says who. */
  readonly client: RegisteredClient | undefined
  /** Where a private key comes from. */
  readonly configured: ConfiguredClient | undefined
  readonly grant: string
  /** Those that are undefined are left out. */
  readonly parameters: Readonly<Record<string, string | undefined>>
  readonly dpopKey?: DpopKey | undefined
  /** True refuses tokens that were not bound to it: anybody could use them. @source RFC 9449, section 5 */
  readonly mustBind?: boolean
  readonly signal: AbortSignal
}

/** A header is made of it, and it is kept. */
const TOKEN = /^[\x21-\x7e]{1,65536}$/
const ERROR_CODE = /^[\x21\x23-\x5b\x5d-\x7e]{1,64}$/

/**
 * Asks for tokens.
 *
 * @param asked scopes that count as granted when the answer names none.
 * @throws OAuthFailure `rejected` with the server's code, `unreachable`, `config`.
 */
export async function requestTokens(
  requester: TokenRequester,
  request: TokenRequest,
  asked: readonly string[],
): Promise<TokenSet> {
  const json = await postGrant(requester, request)
  const accessToken = textAt(json, 'access_token')
  const tokenType = textAt(json, 'token_type')?.toLowerCase()
  if (accessToken === undefined || !TOKEN.test(accessToken)) {
    throw unusable(request, 'an access_token that can be sent')
  }
  if (tokenType !== 'bearer' && tokenType !== 'dpop') {
    throw unusable(request, 'a token_type of Bearer or DPoP')
  }
  if (tokenType === 'dpop' && request.dpopKey === undefined) {
    throw unusable(request, 'a token_type of Bearer, since no key was shown')
  }
  if (tokenType === 'bearer' && request.dpopKey !== undefined && request.mustBind === true) {
    throw unusable(request, 'a token_type of DPoP, since auth.dpop is true and a key was shown')
  }
  const refreshToken = textAt(json, 'refresh_token')
  const expiresAt = expiryOf(json['expires_in'], requester.now())
  const scope = textAt(json, 'scope')
  return {
    accessToken,
    tokenType,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(expiresAt !== undefined && { expiresAt }),
    scopes: scope === undefined ? asked : splitScopes(scope),
    clientId: request.client?.id ?? '',
    ...(tokenType === 'dpop' && request.dpopKey !== undefined && { dpopKey: request.dpopKey }),
  }
}

/** @returns the object of a good answer. @throws OAuthFailure */
export async function postGrant(
  requester: TokenRequester,
  request: TokenRequest,
): Promise<Readonly<Record<string, unknown>>> {
  const first = await send(requester, request)
  const isNonceWanted = textAt(first.json ?? {}, 'error') === 'use_dpop_nonce' && first.isNewNonce
  const answer = isNonceWanted ? await send(requester, request) : first
  const { status, json } = answer
  // Some say it with 200.
  const code = textAt(json ?? {}, 'error')
  if (status === 200 && json !== undefined && code === undefined) return json
  throw rejected(request.server.tokenEndpoint ?? '', answer, answer.secrets)
}

/** What came, and what went there that nobody else may read. */
type Sent = GuardedAnswer & { readonly isNewNonce: boolean; readonly secrets: readonly string[] }

async function send(
  { fetchGuarded, nonces, now }: TokenRequester,
  request: TokenRequest,
): Promise<Sent> {
  const { server, client, configured, dpopKey, signal } = request
  const url = server.tokenEndpoint
  if (url === undefined) {
    throw new OAuthFailure('no_metadata', `${server.issuer} names no token_endpoint`)
  }
  if (!URL.canParse(url)) {
    throw new OAuthFailure('untrustworthy', `the token_endpoint of ${server.issuer} is no URL`)
  }
  const body = new URLSearchParams({ grant_type: request.grant })
  for (const [name, value] of Object.entries(request.parameters)) {
    if (value !== undefined) body.set(name, value)
  }
  const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' })
  if (client !== undefined) {
    const authenticate = await authenticationOf(client, configured)
    await authenticate({ issuer: server.issuer }, { client_id: client.id }, body, headers)
  }
  if (dpopKey !== undefined) {
    const issuedAt = Math.floor(now() / 1000)
    const words = { method: 'POST', url, nonce: nonces.of(url), issuedAt }
    headers.set('dpop', await proveDpop(dpopKey, words))
  }
  const answer = await fetchGuarded({
    url,
    what: 'the token endpoint',
    method: 'POST',
    headers: Object.fromEntries(headers),
    body: body.toString(),
    signal,
  })
  const nonce = answer.headers['dpop-nonce']
  const isNewNonce = nonces.note(url, typeof nonce === 'string' ? nonce : undefined)
  return { ...answer, isNewNonce, secrets: secretsOf(client?.secret, body, headers) }
}

/** Of a token request; all else that it bears is taken for secret. */
const PUBLIC = new Set([
  'grant_type',
  'client_id',
  'client_assertion_type',
  'redirect_uri',
  'resource',
  'audience',
  'scope',
  'requested_token_type',
  'subject_token_type',
])

/** In every spelling in which a server may repeat them. */
function secretsOf(
  clientSecret: string | undefined,
  body: URLSearchParams,
  headers: Headers,
): readonly string[] {
  const secrets = [...body].flatMap(([name, value]) => (PUBLIC.has(name) ? [] : [value]))
  if (clientSecret !== undefined) secrets.push(clientSecret)
  const basic = headers.get('authorization')?.replace(/^Basic /, '')
  if (basic !== undefined) secrets.push(basic, atob(basic))
  return secrets.flatMap((secret) => [secret, encodeURIComponent(secret), encodeForm(secret)])
}

/**
 * The failure of an answer that is none: an authorization server's own words are shown as its own.
 *
 * @param secrets that it was sent, and may repeat.
 */
export function rejected(
  url: string,
  { json, status, instead }: GuardedAnswer,
  secrets: readonly string[] = [],
): OAuthFailure {
  const code = textAt(json ?? {}, 'error')
  const where = new URL(url).origin
  if (code === undefined || !ERROR_CODE.test(code)) {
    const kind = status >= 500 || status === 429 ? 'unreachable' : 'rejected'
    const came = json === undefined ? instead : `${status} without an error`
    return new OAuthFailure(kind, `${where} answered ${came}`)
  }
  const kind = ['temporarily_unavailable', 'server_error'].includes(code)
    ? 'unreachable'
    : 'rejected'
  const said = maskSecrets(textAt(json ?? {}, 'error_description') ?? '', secrets)
  return new OAuthFailure(kind, `${where} says ${maskSecrets(code, secrets)}${tell(said)}`, {
    code,
  })
}

/** A stranger's text, as one line that can be printed; with a colon before it. */
export function tell(text: string | undefined): string {
  const line = text
    ?.replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 300)
  return line === undefined || line === '' ? '' : `: ${line}`
}

function expiryOf(seconds: unknown, now: number): number | undefined {
  // Some write the number as text.
  const value =
    typeof seconds === 'string' && /^\d{1,12}$/.test(seconds) ? Number(seconds) : seconds
  // Of a token that never held nothing is known: whoever believed it would renew at every message.
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 1) return undefined
  return now + Math.min(value, 10 * 365 * 86_400) * 1000
}

function unusable({ server }: TokenRequest, expected: string): OAuthFailure {
  return new OAuthFailure('rejected', `the answer of ${server.issuer} has to have ${expected}`)
}
