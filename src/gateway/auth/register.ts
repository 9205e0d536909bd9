/**
 * Which client we are at an authorization server: one that was registered by hand, a document of ours, or one that registers
 * itself. Good at that issuer alone.
 *
 * @source MCP 2026-07-28, authorization, client registration approaches; RFC 7591.
 */
import { isClientMethod, methodOf, type ClientMethod } from './client-authentication.ts'
import type { AuthPeer, Discovered } from './discover.ts'
import type { GuardedFetch } from './guarded-fetch.ts'
import { OAuthFailure } from './oauth-failure.ts'
import { tellPlaces, textAt, type ServerMetadata } from './server-metadata.ts'
import { rejected } from './token-requests.ts'
import type { RegisteredClient, TokenStore } from './words.ts'

/** Where clients that registered themselves are kept, by issuer. */
export type ClientStore = Pick<TokenStore, 'loadClient' | 'saveClient' | 'removeClient'>

/** What registering needs. */
export interface Registrar {
  readonly fetchGuarded: GuardedFetch
  readonly clients: ClientStore
  /** Epoch milliseconds. */
  readonly now: () => number
}

const CLIENT_ID = /^[\x20-\x7e]{1,2048}$/

/** The client that the operator registered, or the document that he put up; undefined when there is neither. */
export function configuredClient(
  { auth, name }: AuthPeer,
  server: ServerMetadata,
  redirectUris: readonly string[] = [],
): RegisteredClient | undefined {
  const { issuer } = server
  if (auth.client !== undefined) {
    if (auth.issuer !== undefined && auth.issuer !== issuer) {
      throw new OAuthFailure(
        'config',
        `auth.client of ${name} is registered at ${auth.issuer} and not at ${issuer}: register there and change auth`,
      )
    }
    const { id, secret } = auth.client
    const method = methodOf(auth.client, server)
    return { issuer, id, ...(secret !== undefined && { secret }), method, redirectUris }
  }
  if (auth.metadataUrl === undefined || !server.takesMetadataDocuments) return undefined
  return { issuer, id: auth.metadataUrl, method: 'none', redirectUris }
}

/** The client for a login with a person; one is registered when there is none. @throws OAuthFailure */
export async function chooseClient(
  registrar: Registrar,
  peer: AuthPeer,
  discovered: Discovered,
  redirectUri: string,
  signal: AbortSignal,
): Promise<RegisteredClient> {
  const { server } = discovered
  const configured = configuredClient(peer, server, [redirectUri])
  if (configured !== undefined) return configured
  const kept = registrar.clients.loadClient(server.issuer, peer.name)
  // Some servers allow no other port than the one that was registered.
  if (
    kept !== undefined &&
    isGood(kept, registrar.now()) &&
    kept.redirectUris.includes(redirectUri)
  ) {
    return kept
  }
  if (server.registrationEndpoint === undefined) throw clientNeeded(peer, server)
  const client = await register(registrar, discovered, redirectUri, signal)
  registrar.clients.saveClient(peer.name, client)
  return client
}

/** The client that tokens were given to; undefined when it is gone. */
export function clientOf(
  registrar: Registrar,
  peer: AuthPeer,
  server: ServerMetadata,
  clientId: string,
): RegisteredClient | undefined {
  const configured = configuredClient(peer, server)
  if (configured?.id === clientId) return configured
  // By its id: somebody else may have registered anew since these tokens were given.
  const kept = registrar.clients.loadClient(server.issuer, peer.name, clientId)
  if (kept?.id === clientId && isGood(kept, registrar.now())) return kept
  return undefined
}

/** A client that an authorization server no longer knows: the next login registers anew. */
export function dropClient(clients: ClientStore, peer: AuthPeer, gone: RegisteredClient): void {
  const kept = clients.loadClient(gone.issuer, peer.name)
  // Somebody may have registered anew meanwhile.
  if (kept?.id === gone.id) clients.removeClient(gone.issuer, peer.name)
}

function isGood(client: RegisteredClient, now: number): boolean {
  return client.expiresAt === undefined || client.expiresAt > now
}

async function register(
  { fetchGuarded }: Registrar,
  discovered: Discovered,
  redirectUri: string,
  signal: AbortSignal,
): Promise<RegisteredClient> {
  const { server } = discovered
  const url = server.registrationEndpoint ?? ''
  const method = askedMethod(server)
  const mayRefresh = server.grantTypesSupported?.includes('refresh_token') ?? true
  const answer = await fetchGuarded({
    url,
    what: 'the registration endpoint',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'comity',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', ...(mayRefresh ? ['refresh_token'] : [])],
      response_types: ['code'],
      token_endpoint_auth_method: method,
      application_type: 'native',
    }),
    signal,
  })
  const { status, json } = answer
  if ((status === 201 || status === 200) && json !== undefined) {
    return readClient(json, server.issuer, redirectUri, method)
  }
  const failure = rejected(url, answer)
  if (server.assumed) {
    throw new OAuthFailure(
      'no_metadata',
      `nothing says how to log in. Looked at: ${tellPlaces([...discovered.tried, { url, what: answer.instead }])}`,
      { cause: failure },
    )
  }
  if (failure.reason === 'unreachable') throw failure
  throw new OAuthFailure(
    'client_needed',
    `${server.issuer} does not let us register by ourselves (${failure.message}): register a client there ` +
      `with the redirect URI ${redirectUri} and set auth.client.id and auth.issuer`,
    { cause: failure, code: failure.code },
  )
}

function askedMethod({ tokenMethods }: ServerMetadata): ClientMethod {
  const preferred = ['none', 'client_secret_basic', 'client_secret_post'] as const
  // What is not said is the basic form. @source RFC 8414, section 2
  if (tokenMethods === undefined) return 'client_secret_basic'
  return preferred.find((one) => tokenMethods.includes(one)) ?? 'none'
}

function readClient(
  json: Readonly<Record<string, unknown>>,
  issuer: string,
  redirectUri: string,
  asked: ClientMethod,
): RegisteredClient {
  const id = textAt(json, 'client_id')
  const secret = textAt(json, 'client_secret')
  if (id === undefined || !CLIENT_ID.test(id)) throw odd(issuer, 'has to have a client_id')
  const uris = json['redirect_uris']
  if (Array.isArray(uris) && uris.length > 0 && !uris.includes(redirectUri)) {
    throw odd(issuer, `has to keep the redirect URI ${redirectUri}`)
  }
  const said = json['token_endpoint_auth_method'] ?? asked
  if (!isClientMethod(said) || said === 'private_key_jwt') {
    throw odd(issuer, 'has to have a token_endpoint_auth_method that was offered')
  }
  const method = said !== 'none' && secret === undefined ? 'none' : said
  const expires = json['client_secret_expires_at']
  const expiresAt = typeof expires === 'number' && expires > 0 ? expires * 1000 : undefined
  return {
    issuer,
    id,
    ...(secret !== undefined && method !== 'none' && { secret }),
    method,
    redirectUris: [redirectUri],
    ...(expiresAt !== undefined && { expiresAt }),
  }
}

function odd(issuer: string, what: string): OAuthFailure {
  return new OAuthFailure('rejected', `what ${issuer} answers to a registration ${what}`)
}

function clientNeeded({ name, auth }: AuthPeer, server: ServerMetadata): OAuthFailure {
  const document =
    server.takesMetadataDocuments && auth.metadataUrl === undefined
      ? ', or auth.metadataUrl to the address of a client ID metadata document'
      : ''
  return new OAuthFailure(
    'client_needed',
    `${server.issuer} lets nobody register by itself: register a client there and set auth.client.id and auth.issuer ` +
      `of ${name} to it${document}`,
  )
}
