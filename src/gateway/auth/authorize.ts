/**
 * A login with a person: the address that he is sent to, and what is made of what comes back.
 *
 * The reply is believed when it has our state and, before anything of it is used or shown, comes from the issuer that was
 * asked. Whether a login was ended before is the caller's to know.
 *
 * @source MCP 2026-07-28, authorization; OAuth 2.1, section 4.1; RFC 7636; RFC 8707; RFC 9207.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import {
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
} from 'oauth4webapi'
import type { Discovered } from './discover.ts'
import { chooseAlgorithm, generateDpopKey } from './dpop.ts'
import { OAuthFailure, quote } from './oauth-failure.ts'
import { requestTokens, tell, type TokenRequester } from './token-requests.ts'
import type { AuthConfig, RegisteredClient, TokenSet } from './words.ts'

/** A login that waits for its person. Plain data, secret as a whole, good once. */
export interface PendingLogin {
  readonly state: string
  readonly codeVerifier: string
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly client: RegisteredClient
  readonly discovered: Discovered
  readonly dpopKey?: Readonly<Record<string, unknown>>
}

/** A login that began. */
export interface BegunLogin {
  /** Where the person goes. http or https, checked. */
  readonly authorizationUrl: string
  readonly pending: PendingLogin
}

/** What a login is begun with, all of it checked. */
export interface AuthorizationWords {
  readonly discovered: Discovered
  readonly client: RegisteredClient
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly auth: AuthConfig
  /** Why an address may not be gone to. */
  readonly refuseAddress: (url: string) => string | undefined
}

/** A login that is ended with what came. */
export interface ReplyWords {
  readonly pending: PendingLogin
  /** That came to the redirect URI. */
  readonly parameters: URLSearchParams
  readonly auth: AuthConfig
  readonly signal: AbortSignal
}

/** @throws OAuthFailure `untrustworthy` when the server does not do what protects the code. */
export async function beginAuthorization(words: AuthorizationWords): Promise<BegunLogin> {
  const { discovered, client, redirectUri, scopes } = words
  const endpoint = judgeServer(discovered, words.refuseAddress)
  const codeVerifier = generateRandomCodeVerifier()
  const state = generateRandomState()
  const dpopKey = await keyFor(discovered, words.auth)
  const url = new URL(endpoint)
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    state,
    resource: discovered.resource,
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  if (scopes.length > 0) url.searchParams.set('scope', scopes.join(' '))
  // Without it there is no refresh token. @source OpenID Connect Core 1.0, section 11
  if (scopes.includes('offline_access')) url.searchParams.set('prompt', 'consent')
  return {
    authorizationUrl: url.href,
    pending: {
      state,
      codeVerifier,
      redirectUri,
      scopes,
      client,
      discovered,
      ...(dpopKey !== undefined && { dpopKey }),
    },
  }
}

/** Makes the key that new tokens are bound to; undefined when they are not to be, or cannot. */
export async function keyFor(
  { server, wantsDpop }: Discovered,
  { dpop }: AuthConfig,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const algorithm = chooseAlgorithm(server.dpopAlgorithms)
  if (algorithm === undefined || !(dpop ?? wantsDpop)) return undefined
  return generateDpopKey(algorithm)
}

/**
 * Takes what came to the redirect URI and asks for the tokens.
 *
 * @throws OAuthFailure `untrustworthy`: nothing was sent anywhere. `rejected`: the server or the person said no.
 */
export async function finishAuthorization(
  requester: TokenRequester,
  { pending, parameters, auth, signal }: ReplyWords,
): Promise<TokenSet> {
  const { discovered, client, dpopKey } = pending
  const code = readCode(pending, parameters)
  return requestTokens(
    requester,
    {
      server: discovered.server,
      client,
      configured: auth.client,
      grant: 'authorization_code',
      parameters: {
        code,
        redirect_uri: pending.redirectUri,
        code_verifier: pending.codeVerifier,
        resource: discovered.resource,
      },
      dpopKey,
      mustBind: auth.dpop === true,
      signal,
    },
    pending.scopes,
  )
}

function readCode(pending: PendingLogin, parameters: URLSearchParams): string {
  const { server } = pending.discovered
  for (const name of ['state', 'iss', 'code', 'error']) {
    if (parameters.getAll(name).length > 1) throw strange(`it has ${name} more than once`)
  }
  if (!isReplyTo(pending, parameters)) throw strange('its state is not ours')
  const issuer = parameters.get('iss')
  if (issuer !== null && issuer !== server.issuer) {
    throw strange(`it comes from ${quote(issuer)}, and ${quote(server.issuer)} was asked`)
  }
  // The text of an error is an attacker's until the issuer is known.
  if (issuer === null && server.sendsIssuer) {
    throw strange(`${server.issuer} always says who it is (iss), and this does not`)
  }
  const error = parameters.get('error')
  if (error !== null) {
    const description = tell(parameters.get('error_description') ?? undefined)
    const shown = tell(error.slice(0, 64)).slice(2) || 'an error without a name'
    throw new OAuthFailure('rejected', `${server.issuer} says ${shown}${description}`, {
      code: shown,
    })
  }
  const code = parameters.get('code')
  if (code === null || code === '') throw strange('it has neither a code nor an error')
  return code
}

/**
 * Whether a person may be sent to an authorization server.
 *
 * @returns its authorization endpoint.
 * @throws OAuthFailure
 */
export function judgeServer(
  { server }: Discovered,
  refuse: AuthorizationWords['refuseAddress'],
): string {
  const { authorizationEndpoint: endpoint, tokenEndpoint, codeChallengeMethods, issuer } = server
  if (endpoint === undefined || tokenEndpoint === undefined) {
    const missing = endpoint === undefined ? 'authorization_endpoint' : 'token_endpoint'
    throw new OAuthFailure('no_metadata', `${issuer} names no ${missing}`)
  }
  if (codeChallengeMethods?.includes('S256') !== true) {
    const named = codeChallengeMethods?.slice(0, 5).map((one) => quote(one.slice(0, 20)))
    throw new OAuthFailure(
      'untrustworthy',
      `${issuer} has to list S256 in code_challenge_methods_supported and ` +
        `${named === undefined ? 'lists nothing' : `lists ${named.join(', ') || 'nothing'}`}: ` +
        'a code that is stolen on its way could be used. No login was begun',
    )
  }
  const refused = refuse(endpoint)
  if (refused === undefined) return endpoint
  const what = `the authorization_endpoint of ${issuer} cannot be opened: ${refused}`
  throw new OAuthFailure('forbidden_address', what)
}

/** Whether a reply has the state of this login: in a time that does not tell how much of it was right. */
export function isReplyTo({ state }: PendingLogin, parameters: URLSearchParams): boolean {
  const hashOf = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hashOf(parameters.get('state') ?? ''), hashOf(state))
}

function strange(why: string): OAuthFailure {
  return new OAuthFailure(
    'untrustworthy',
    `the reply to the login is not taken: ${why}. Nothing was sent on; log in again`,
  )
}
