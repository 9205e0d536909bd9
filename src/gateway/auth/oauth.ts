/**
 * Logging in to peers, as one thing: finds who gives tokens for a peer, asks a person or not, renews, and says what a
 * message bears.
 *
 * Keeps no token: where they lie, and that only one process renews at a time, is the caller's.
 *
 * @source MCP 2026-07-28, authorization.
 */
import {
  beginAuthorization,
  finishAuthorization,
  isReplyTo,
  judgeServer,
  type BegunLogin,
  type PendingLogin,
} from './authorize.ts'
import { parseChallenges, pickChallenge, scopesOf } from './challenge.ts'
import {
  operatorsAddresses,
  type AuthPeer,
  type Discovered,
  type RefusalWords,
} from './discover.ts'
import { createNonces, proveDpop, type Nonces } from './dpop.ts'
import { obtainTokens, refreshTokens, type Refreshed } from './grants.ts'
import {
  createGuardedFetch,
  refuseAddress,
  type GuardedFetch,
  type GuardOptions,
} from './guarded-fetch.ts'
import { OAuthFailure } from './oauth-failure.ts'
import { chooseClient, clientOf, dropClient, type ClientStore } from './register.ts'
import { createDiscovery } from './remember-discovery.ts'
import { revokeTokens } from './revoke.ts'
import { chooseScopes } from './scopes.ts'
import { findServer, tellPlaces, type ServerMetadata, type TriedPlace } from './server-metadata.ts'
import type { TokenPlace, TokenSet } from './words.ts'

export type { BegunLogin, PendingLogin } from './authorize.ts'
export type { AuthPeer, Discovered, RefusalWords } from './discover.ts'
export type { Refreshed } from './grants.ts'

/** What `begin` needs to know. */
export interface BeginLogin {
  readonly discovered: Discovered
  /** On loopback, and the exact one that will be listened to. */
  readonly redirectUri: string
  /** What the peer refused with, if it did. */
  readonly refusal?: RefusalWords
  /** Scopes that were granted or asked for before: a step-up asks for these too. */
  readonly earlier?: readonly string[]
}

/** What a message bears, and is about to be sent as. */
export interface BearingMessage {
  readonly method: string
  readonly url: string
}

/** Every promise rejects with an `OAuthFailure` and with nothing else, except when the signal is aborted. */
export interface OAuth {
  /** Finds who gives tokens for a peer; what was found is remembered for a while. */
  discover(
    peer: AuthPeer,
    refusal: RefusalWords | undefined,
    signal: AbortSignal,
  ): Promise<Discovered>
  /** Where its tokens are kept. */
  placeOf(principal: string, peer: AuthPeer, discovered: Discovered): TokenPlace
  /** Forgets what was found for a peer. */
  forget(peer: AuthPeer): void
  /** Begins a login with a person: a client is registered when there is none. */
  begin(peer: AuthPeer, login: BeginLogin, signal: AbortSignal): Promise<BegunLogin>
  /** Ends it with what came to the redirect URI. The same login is ended once. */
  finish(
    peer: AuthPeer,
    pending: PendingLogin,
    parameters: URLSearchParams,
    signal: AbortSignal,
  ): Promise<TokenSet>
  /** Renews. The caller sees to it that nobody else renews the same set at the same time. */
  refresh(
    peer: AuthPeer,
    discovered: Discovered,
    tokens: TokenSet,
    signal: AbortSignal,
  ): Promise<Refreshed>
  /** Obtains tokens by a grant without a person. Never tried again by itself. */
  obtain(
    peer: AuthPeer,
    discovered: Discovered,
    refusal: RefusalWords | undefined,
    earlier: readonly string[],
    signal: AbortSignal,
  ): Promise<TokenSet>
  /** Tells the authorization server that these tokens are no longer wanted; true when it took them back. @source RFC 7009 */
  revoke(
    peer: AuthPeer,
    discovered: Discovered,
    tokens: TokenSet,
    signal: AbortSignal,
  ): Promise<boolean>
  /** Headers that a message bears, by lower-case name. A proof of its own for each message. */
  headersFor(
    tokens: TokenSet,
    message: BearingMessage,
  ): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
  /** Remembers the nonce that a peer wants in proofs. @returns whether it is a new one: the message may be sent again. */
  noteNonce(url: string, nonce: string | undefined): boolean
}

/** What it depends on. */
export interface OAuthOptions {
  readonly clients: ClientStore
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Bounds of each request to the outside. */
  readonly guard?: GuardOptions
}

/** How many logins that ended are remembered, so that none ends twice. */
const MAX_ENDED = 1000

/** @returns a client of whatever authorization servers peers name. Opens nothing before it is asked. */
export function createOAuth({ clients, now, guard }: OAuthOptions): OAuth {
  const nonces = createNonces()
  const fetchFor = (peer: AuthPeer) => createGuardedFetch(operatorsAddresses(peer), guard)
  const discovery = createDiscovery({ fetchFor, now })
  const issuers = new Map<string, string>()
  const ended = new Set<string>()
  const requesterFor = (peer: AuthPeer) => ({ fetchGuarded: fetchFor(peer), nonces, now })
  const registrarFor = (peer: AuthPeer) => ({ fetchGuarded: fetchFor(peer), clients, now })

  return {
    async discover(peer, refusal, signal) {
      const discovered = await discovery.discover(peer, refusal, signal)
      holdIssuer(issuers, peer, discovered)
      return discovered
    },
    placeOf: (principal, peer, { server, resource }) => ({
      principal,
      peer: peer.name,
      issuer: server.issuer,
      resource,
    }),
    forget: (peer) => discovery.forget(peer),
    async begin(peer, login, signal) {
      const { discovered, redirectUri } = login
      const scopes = scopesFor(peer, discovered, login.refusal, login.earlier ?? [], true)
      const words = { discovered, redirectUri, scopes, auth: peer.auth }
      const refuse = (url: string) => refuseAddress(url, operatorsAddresses(peer))
      // Nobody registers at a server that is not used then.
      judgeServer(discovered, refuse)
      const client = await chooseClient(registrarFor(peer), peer, discovered, redirectUri, signal)
      return beginAuthorization({ ...words, client, refuseAddress: refuse })
    },
    async finish(peer, pending, parameters, signal) {
      if (ended.has(pending.state)) {
        throw new OAuthFailure('untrustworthy', 'this login was ended before: log in again')
      }
      // Before anything is sent: a code is good once. A reply that is not to it leaves a login as it was.
      if (isReplyTo(pending, parameters)) noteEnd(ended, pending)
      const words = { pending, parameters, auth: peer.auth, signal }
      try {
        return await finishAuthorization(requesterFor(peer), words)
      } catch (error) {
        const isGone = error instanceof OAuthFailure && error.code === 'invalid_client'
        if (isGone) dropClient(clients, peer, pending.client)
        throw error
      }
    },
    async refresh(peer, discovered, tokens, signal) {
      const client = clientOf(registrarFor(peer), peer, discovered.server, tokens.clientId)
      const words = { peer, discovered, signal }
      const refreshed = await refreshTokens(requesterFor(peer), words, tokens, client)
      const isGone = refreshed.kind === 'revoked' && refreshed.code === 'invalid_client'
      if (isGone && client !== undefined) dropClient(clients, peer, client)
      return refreshed
    },
    async obtain(peer, discovered, refusal, earlier, signal) {
      const scopes = scopesFor(peer, discovered, refusal, earlier, false)
      const findIdentityProvider = (issuer: string) => findProvider(fetchFor(peer), issuer, signal)
      const words = { peer, discovered, scopes, findIdentityProvider, signal }
      return obtainTokens(requesterFor(peer), words)
    },
    async revoke(peer, discovered, tokens, signal) {
      const client = clientOf(registrarFor(peer), peer, discovered.server, tokens.clientId)
      return revokeTokens(fetchFor(peer), peer, discovered, client, tokens, signal)
    },
    headersFor: (tokens, message) => bear(tokens, message, nonces, now),
    noteNonce: (url, nonce) => nonces.note(url, nonce),
  }
}

async function findProvider(
  fetchGuarded: GuardedFetch,
  issuer: string,
  signal: AbortSignal,
): Promise<ServerMetadata> {
  const tried: TriedPlace[] = []
  const provider = await findServer(fetchGuarded, issuer, tried, signal)
  if (provider !== undefined) return provider
  const message = `the identity provider ${issuer} says nothing of itself. Looked at: ${tellPlaces(tried)}`
  throw new OAuthFailure('no_metadata', message)
}

function bear(
  { accessToken, dpopKey }: TokenSet,
  message: BearingMessage,
  nonces: Nonces,
  now: () => number,
): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>> {
  if (dpopKey === undefined) return { authorization: `Bearer ${accessToken}` }
  const issuedAt = Math.floor(now() / 1000)
  const words = { ...message, accessToken, nonce: nonces.of(message.url), issuedAt }
  const authorization = `DPoP ${accessToken}`
  return proveDpop(dpopKey, words).then((dpop) => ({ authorization, dpop }))
}

function noteEnd(ended: Set<string>, { state }: PendingLogin): void {
  const [oldest] = ended
  if (ended.size >= MAX_ENDED && oldest !== undefined) ended.delete(oldest)
  ended.add(state)
}

function scopesFor(
  { auth }: AuthPeer,
  { resourceScopes, server }: Discovered,
  refusal: RefusalWords | undefined,
  earlier: readonly string[],
  wantsRefresh: boolean,
): readonly string[] {
  return chooseScopes({
    challenged: scopesOf(pickChallenge(parseChallenges(refusal?.challenges ?? []))),
    resource: resourceScopes,
    server: server.scopesSupported,
    configured: auth.scopes,
    earlier,
    wantsRefresh,
  })
}

/** A client of the operator's that has no issuer is held to the first that it was shown to. */
function holdIssuer(
  issuers: Map<string, string>,
  { name, url, auth }: AuthPeer,
  { server }: Discovered,
): void {
  if (auth.client === undefined || auth.issuer !== undefined) return
  const key = JSON.stringify([name, url, auth.client.id])
  const held = issuers.get(key) ?? server.issuer
  issuers.set(key, held)
  if (held === server.issuer) return
  throw new OAuthFailure(
    'untrustworthy',
    `${name} took tokens of ${held} and now takes those of ${server.issuer}: auth.client is not shown there. ` +
      'If that is meant, register there and set auth.issuer',
  )
}
