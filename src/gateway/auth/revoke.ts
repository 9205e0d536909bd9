/** Telling an authorization server that tokens are no longer wanted. @source RFC 7009 */
import { authenticationOf } from './client-authentication.ts'
import type { AuthPeer, Discovered } from './discover.ts'
import type { GuardedFetch } from './guarded-fetch.ts'
import type { RegisteredClient, TokenSet } from './words.ts'

/**
 * Takes back the refresh token, with which servers take back the whole family; without one the access token.
 *
 * @returns false when the server has no such endpoint, or the client is gone, or it said no.
 * @throws OAuthFailure
 */
export async function revokeTokens(
  fetchGuarded: GuardedFetch,
  peer: AuthPeer,
  { server }: Discovered,
  client: RegisteredClient | undefined,
  tokens: TokenSet,
  signal: AbortSignal,
): Promise<boolean> {
  const url = server.revocationEndpoint
  if (url === undefined || client === undefined) return false
  const { refreshToken, accessToken } = tokens
  const body = new URLSearchParams({
    token: refreshToken ?? accessToken,
    token_type_hint: refreshToken === undefined ? 'access_token' : 'refresh_token',
  })
  const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' })
  const authenticate = await authenticationOf(client, peer.auth.client)
  await authenticate({ issuer: server.issuer }, { client_id: client.id }, body, headers)
  const { status } = await fetchGuarded({
    url,
    what: 'the revocation endpoint',
    method: 'POST',
    headers: Object.fromEntries(headers),
    body: body.toString(),
    signal,
  })
  return status === 200
}
