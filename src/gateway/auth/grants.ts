/**
 * Tokens without a person: renewed, asked for as ourselves, or for an identity that somebody else vouches for.
 *
 * None is tried again, and none gives way to another: a refusal is the answer.
 *
 * @source OAuth 2.1, sections 4.2 and 4.3; RFC 7523; RFC 8693; extensions io.modelcontextprotocol/oauth-client-credentials and
 * io.modelcontextprotocol/enterprise-managed-authorization; SEP-1933.
 */
import { keyFor } from './authorize.ts'
import { methodOf } from './client-authentication.ts'
import type { AuthPeer, Discovered } from './discover.ts'
import { OAuthFailure } from './oauth-failure.ts'
import { configuredClient } from './register.ts'
import type { ServerMetadata } from './server-metadata.ts'
import { postGrant, requestTokens, type TokenRequester } from './token-requests.ts'
import type { RegisteredClient, TokenSet } from './words.ts'

/** What became of a refresh. */
export type Refreshed =
  | { readonly kind: 'renewed'; readonly tokens: TokenSet }
  /** The whole family is worth nothing any more: a person has to log in. */
  | {
      readonly kind: 'revoked'
      readonly detail: string
      /** The `error` of the authorization server, if it was asked. */
      readonly code?: string
    }
  /** It says no, and does not say that they are worth nothing. */
  | { readonly kind: 'refused'; readonly detail: string }

/** What the grants without a person need. */
export interface GrantWords {
  readonly peer: AuthPeer
  readonly discovered: Discovered
  readonly scopes: readonly string[]
  /** Finds the identity provider by its issuer. */
  readonly findIdentityProvider: (issuer: string) => Promise<ServerMetadata>
  readonly signal: AbortSignal
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'
/** After these a client that registered itself is none any more, and nor is what it was given. */
const UNKNOWN_CLIENT = ['invalid_client', 'unauthorized_client']

/** Renews a token set with a client that it was given to. @throws OAuthFailure when it may be tried again. */
export async function refreshTokens(
  requester: TokenRequester,
  words: Pick<GrantWords, 'peer' | 'discovered' | 'signal'>,
  tokens: TokenSet,
  client: RegisteredClient | undefined,
): Promise<Refreshed> {
  const { peer, discovered, signal } = words
  const { refreshToken, dpopKey } = tokens
  if (refreshToken === undefined) return { kind: 'revoked', detail: 'there is no refresh token' }
  if (client === undefined) {
    const detail = `the client that the tokens were given to is no longer registered at ${discovered.server.issuer}`
    return { kind: 'revoked', detail }
  }
  try {
    const renewed = await requestTokens(
      requester,
      {
        server: discovered.server,
        client,
        configured: peer.auth.client,
        grant: 'refresh_token',
        parameters: { refresh_token: refreshToken, resource: discovered.resource },
        dpopKey,
        mustBind: peer.auth.dpop === true,
        signal,
      },
      tokens.scopes,
    )
    // A server that does not rotate says nothing of the token that was used.
    return { kind: 'renewed', tokens: { refreshToken, ...renewed } }
  } catch (error) {
    if (!(error instanceof OAuthFailure) || error.reason !== 'rejected') throw error
    const { code, message } = error
    // The operator's client is put right by him, and then they are good again.
    const isGone =
      code === 'invalid_grant' ||
      (code !== undefined && UNKNOWN_CLIENT.includes(code) && !isOperators(peer, client))
    return isGone
      ? { kind: 'revoked', detail: message, code }
      : { kind: 'refused', detail: message }
  }
}

function isOperators({ auth }: AuthPeer, { id }: RegisteredClient): boolean {
  return id === auth.client?.id || id === auth.metadataUrl
}

/** @throws OAuthFailure */
export async function obtainTokens(
  requester: TokenRequester,
  words: GrantWords,
): Promise<TokenSet> {
  const { auth } = words.peer
  switch (auth.grant) {
    case 'client_credentials':
      return byItself(requester, words)
    case 'jwt_bearer':
      if (auth.assertion === undefined) throw missing(words, 'assertion')
      return byAssertion(requester, words, auth.assertion)
    case 'enterprise':
      return byAssertion(requester, words, await exchangeIdentity(requester, words))
    case 'authorization_code':
      throw new OAuthFailure('config', `${words.peer.name} is logged in to by a person`)
  }
}

async function byItself(requester: TokenRequester, words: GrantWords): Promise<TokenSet> {
  const { peer, discovered, scopes, signal } = words
  const client = configuredClient(peer, discovered.server)
  if (client === undefined || client.method === 'none') {
    throw missing(words, 'client with an id and a secret or a privateKey')
  }
  const { server, resource } = discovered
  const request = {
    server,
    client,
    configured: peer.auth.client,
    grant: 'client_credentials',
    parameters: { scope: spell(scopes), resource },
    dpopKey: await keyFor(discovered, peer.auth),
    mustBind: peer.auth.dpop === true,
    signal,
  }
  return requestTokens(requester, request, scopes)
}

async function byAssertion(
  requester: TokenRequester,
  words: GrantWords,
  assertion: string,
): Promise<TokenSet> {
  const { peer, discovered, scopes, signal } = words
  const { server, resource } = discovered
  const request = {
    server,
    client: configuredClient(peer, server),
    configured: peer.auth.client,
    grant: JWT_BEARER,
    parameters: { assertion, scope: spell(scopes), resource },
    dpopKey: await keyFor(discovered, peer.auth),
    mustBind: peer.auth.dpop === true,
    signal,
  }
  return requestTokens(requester, request, scopes)
}

/** Gets, for the person's ID token, the statement that this authorization server takes. @source SEP-990 */
async function exchangeIdentity(requester: TokenRequester, words: GrantWords): Promise<string> {
  const { peer, discovered, scopes, signal } = words
  const { identity } = peer.auth
  if (identity === undefined) throw missing(words, 'identity')
  const provider = await words.findIdentityProvider(identity.issuer)
  const client = identity.client
  const json = await postGrant(requester, {
    server: provider,
    client: client && {
      issuer: provider.issuer,
      ...client,
      method: methodOf(client, provider),
      redirectUris: [],
    },
    configured: client,
    grant: TOKEN_EXCHANGE,
    parameters: {
      requested_token_type: ID_JAG,
      subject_token: identity.idToken,
      subject_token_type: ID_TOKEN,
      audience: discovered.server.issuer,
      resource: discovered.resource,
      scope: spell(scopes),
    },
    signal,
  })
  const { issued_token_type: kind, access_token: token } = json
  if (kind === ID_JAG && typeof token === 'string' && token !== '') return token
  throw new OAuthFailure(
    'rejected',
    `${provider.issuer} has to answer with a token of the type ${ID_JAG}`,
  )
}

function spell(scopes: readonly string[]): string | undefined {
  return scopes.length === 0 ? undefined : scopes.join(' ')
}

function missing({ peer }: GrantWords, what: string): OAuthFailure {
  return new OAuthFailure(
    'config',
    `auth.grant of ${peer.name} is ${peer.auth.grant}: that needs auth.${what}`,
  )
}
