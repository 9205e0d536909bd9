/**
 * Logging in to peers, as one thing: finds who gives tokens for a peer, asks a person or not, renews, and says what a
 * message bears.
 *
 * Keeps no token: where they lie, and that only one process renews at a time, is the caller's.
 *
 * @source MCP 2026-07-28, authorization.
 */
import type { AuthPeer, Discovered, RefusalWords } from './discover.ts'
import type { RegisteredClient, TokenPlace, TokenSet } from './words.ts'

export type { AuthPeer, Discovered, RefusalWords } from './discover.ts'

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

/** A login that began. */
export interface BegunLogin {
  /** Where the person goes. http or https, checked. */
  readonly authorizationUrl: string
  readonly pending: PendingLogin
}

/** What became of a refresh. */
export type Refreshed =
  | { readonly kind: 'renewed'; readonly tokens: TokenSet }
  /** The whole family is worth nothing any more: a person has to log in. */
  | { readonly kind: 'revoked'; readonly detail: string }

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
  /** Ends it with what came to the redirect URI. */
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
  /** Closes connections. */
  close(): Promise<void>
}
