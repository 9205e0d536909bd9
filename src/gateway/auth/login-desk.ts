/**
 * Everything about logging in to the peers of one store, tied together: for the host, whose links bear credentials, and for the
 * commands of a person, who needs no host for it.
 */
import { ComityError } from '../../core/words/errors.ts'
import { LOCAL } from '../../core/words/principal.ts'
import { createHeldTokens } from './credentials-held.ts'
import { createCredentials, GATEWAY_ITSELF, type PeerCredentials } from './credentials.ts'
import type { GuardOptions } from './guarded-fetch.ts'
import { createLogins, type OpenLogin } from './login.ts'
import { logOut, type LoggedOut } from './logout.ts'
import { OAuthFailure, type OAuthFailureReason } from './oauth-failure.ts'
import { createOAuth, type AuthPeer, type RefusalWords } from './oauth.ts'
import { createTokenDoor, type TokenDoor } from './token-store.ts'
import type { RegisteredClient, TokenPlace, TokenSet } from './words.ts'

/** Who a login is for when nobody is named: callers on this machine. */
export const DEFAULT_PRINCIPAL = LOCAL.id

export interface LoginDeskOptions {
  /** The store beside which the tokens lie. */
  readonly store: string
  /** Default: a key file beside them. */
  readonly tokenKey?: string
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Told of renewals that failed. No secret. */
  readonly note?: (what: string) => void
  /** Bounds of each request to authorization servers. */
  readonly guard?: GuardOptions
}

/** What was granted. Never a token. */
export interface Standing {
  readonly principal: string
  readonly peer: string
  readonly issuer: string
  readonly resource: string
  readonly scopes: readonly string[]
  /** ISO string; undefined when it was not said. */
  readonly expiresAt?: string
  /** A new token is had without a person. */
  readonly renewable: boolean
}

/** A peer and the headers that the operator configured for it. */
export interface PersonsPeer extends AuthPeer {
  readonly headers: Readonly<Record<string, string>>
}

export interface LoginDesk {
  /** The credentials of a peer; the same each time. */
  credentialsOf(peer: AuthPeer): PeerCredentials
  /**
   * Begins a person's login. What is granted already is asked for again.
   *
   * @throws ComityError
   */
  begin(
    who: {
      readonly principal: string
      readonly peer: PersonsPeer
      readonly scopes: readonly string[]
    },
    signal: AbortSignal,
  ): Promise<OpenLogin>
  /** Obtains tokens of a grant without a person. @throws ComityError */
  obtain(peer: PersonsPeer, scopes: readonly string[], signal: AbortSignal): Promise<Standing>
  /** Takes back and forgets what there is. @returns one for each authorization server; empty when there was nothing. */
  logOut(principal: string, peer: AuthPeer, signal: AbortSignal): Promise<readonly LoggedOut[]>
  /** @throws ComityError when the tokens cannot be read. */
  standingOf(principal: string, peer: AuthPeer): readonly Standing[]
  /**
   * Authorization servers where that was granted to a client that had registered itself, which is deprecated.
   *
   * @source MCP 2026-07-28, authorization, dynamic client registration
   */
  registeredItselfAt(principal: string, peer: AuthPeer): readonly string[]
  /**
   * Tells, within a second, that somebody logged in or out, or renewed, in this process or another: what failed for want of a
   * login may be tried again.
   *
   * @returns the way to stop.
   */
  watch(listener: () => void): () => void
  close(): void
}

const LOOK_MS = 1_000

export function createLoginDesk(options: LoginDeskOptions): LoginDesk {
  const { store, tokenKey, now, note, guard } = options
  const tokens = createTokenDoor({ store, ...(tokenKey === undefined ? {} : { key: tokenKey }) })
  const clients = {
    loadClient: (issuer: string, peer: string, id?: string) =>
      tokens.open().loadClient(issuer, peer, id),
    saveClient: (peer: string, client: RegisteredClient) => tokens.open().saveClient(peer, client),
    removeClient: (issuer: string, peer: string) => tokens.open().removeClient(issuer, peer),
  }
  const oauth = createOAuth({ clients, now, ...(guard === undefined ? {} : { guard }) })
  const logins = createLogins({ oauth, tokens })
  const parts = { oauth, tokens, logins, now, ...(note === undefined ? {} : { note }) }
  const made = new Map<string, PeerCredentials>()

  return {
    credentialsOf(peer) {
      const known = made.get(peer.name) ?? createCredentials(peer, parts)
      made.set(peer.name, known)
      return known
    },
    begin: ({ principal, peer, scopes }, signal) =>
      inComitysWords(async () => {
        const refusal = await provoke(peer, signal)
        const granted = grantedTo(tokens, principal, peer.name)
        const earlier = [...new Set([...granted, ...scopes])]
        const request = { principal, peer, earlier, ...(refusal === undefined ? {} : { refusal }) }
        return logins.begin(request, signal)
      }),
    obtain: (peer, earlier, signal) =>
      inComitysWords(async () => {
        const refusal = await provoke(peer, signal)
        const held = createHeldTokens(peer, parts)
        const last = held.of(GATEWAY_ITSELF)?.tokens.accessToken
        const got = await held.obtain(GATEWAY_ITSELF, {
          earlier,
          ...(refusal === undefined ? {} : { refusal }),
          ...(last === undefined ? {} : { refused: last }),
        })
        return standingAt(got.place, got.tokens, peer)
      }),
    logOut: (principal, peer, signal) =>
      inComitysWords(async () => {
        const store = tokens.openIfThere()
        return store === undefined
          ? []
          : logOut({ oauth, store }, ownerOf(principal, peer), peer, signal)
      }),
    standingOf(principal, peer) {
      const store = tokens.openIfThere()
      const places = store?.placesOf(ownerOf(principal, peer), peer.name) ?? []
      return places.flatMap((place) => {
        const kept = store?.load(place)
        return kept === undefined ? [] : [standingAt(place, kept.tokens, peer)]
      })
    },
    registeredItselfAt(principal, peer) {
      const store = tokens.openIfThere()
      const places = store?.placesOf(ownerOf(principal, peer), peer.name) ?? []
      // A client that the operator registered, or whose document he put up, is kept nowhere here.
      return places.flatMap((place) => {
        const id = store?.load(place)?.tokens.clientId
        const client = id === undefined ? id : store?.loadClient(place.issuer, peer.name, id)
        return client === undefined ? [] : [place.issuer]
      })
    },
    watch: (listener) => watchTokens(tokens, listener),
    close() {
      logins.close()
      tokens.close()
    },
  }
}

function watchTokens(tokens: TokenDoor, listener: () => void): () => void {
  let last = revisionOf(tokens)
  const timer = setInterval(() => {
    const now = revisionOf(tokens)
    if (now === last) return
    last = now
    listener()
  }, LOOK_MS).unref()
  return () => clearInterval(timer)
}

/** Scopes that were granted already. */
function grantedTo(tokens: TokenDoor, principal: string, peer: string): readonly string[] {
  const store = tokens.openIfThere()
  return (store?.placesOf(principal, peer) ?? []).flatMap((place) => {
    try {
      return store?.load(place)?.tokens.scopes ?? []
    } catch (error) {
      // Damaged ones are about to be replaced.
      if (error instanceof ComityError && error.code === 'store_corrupt') return []
      throw error
    }
  })
}

/** @returns undefined where there is nothing, or nothing that can be read: who needs it is told why. */
function revisionOf(tokens: TokenDoor): number | undefined {
  try {
    return tokens.openIfThere()?.revision()
  } catch (error) {
    if (error instanceof ComityError) return undefined
    throw error
  }
}

function ownerOf(principal: string, { auth }: AuthPeer): string {
  return auth.grant === 'authorization_code' ? principal : GATEWAY_ITSELF
}

/** What of tokens may be shown. */
export function standingAt(place: TokenPlace, tokens: TokenSet, { auth }: AuthPeer): Standing {
  const { expiresAt, scopes, refreshToken } = tokens
  return {
    ...place,
    scopes,
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
    renewable: refreshToken !== undefined || auth.grant !== 'authorization_code',
  }
}

/** What was granted, in a sentence. */
export function sayStanding(standing: Standing, byPerson: boolean): string {
  const { principal, peer, issuer, scopes, expiresAt, renewable } = standing
  const who = byPerson ? `${principal} is` : 'the gateway is'
  const what = scopes.length === 0 ? '' : `, scopes ${scopes.join(' ')}`
  const until =
    expiresAt === undefined
      ? ''
      : renewable
        ? `; the token lasts until ${expiresAt} and is renewed by itself`
        : `; until ${expiresAt}`
  return `${who} logged in to ${peer} at ${issuer}${what}${until}`
}

const PROVOKE_MS = 10_000
/** Nothing is done by it, should it be answered after all. */
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

/**
 * Asks a peer for a refusal: only it may say where its metadata lies, and which scopes it wants.
 *
 * @source MCP 2026-07-28, authorization, protected resource metadata discovery (the header comes first)
 */
async function provoke(
  { url, headers }: PersonsPeer,
  signal: AbortSignal,
): Promise<RefusalWords | undefined> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: PING,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(PROVOKE_MS)]),
    })
    await answer.body?.cancel()
    const challenge = answer.headers.get('www-authenticate')
    return answer.status === 401 && challenge !== null ? { challenges: [challenge] } : undefined
  } catch {
    // What is asked next says better what is wrong.
    signal.throwIfAborted()
    return undefined
  }
}

/** Whose the fault is, for exit codes. */
const CODES = {
  config: 'config_invalid',
  client_needed: 'config_invalid',
  rejected: 'not_allowed',
  untrustworthy: 'not_allowed',
  forbidden_address: 'not_allowed',
  unreachable: 'conflict',
  no_metadata: 'conflict',
} as const satisfies Record<OAuthFailureReason, ComityError['code']>

async function inComitysWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthFailure)) throw error
    throw new ComityError(CODES[error.reason], error.message, { cause: error })
  }
}
