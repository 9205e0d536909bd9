/**
 * Logins that a person is asked for: one open at a time per principal and peer, so that everybody who needs it is handed the
 * same address, and ten minutes to come back from it.
 *
 * What came back is judged and exchanged by oauth.ts; where a login is asked for, and by whom, is credentials.ts's and the CLI's.
 */
import { ComityError } from '../../core/words/errors.ts'
import { parseChallenges, pickChallenge, scopesOf } from './challenge.ts'
import { openLoopback, type Loopback, type LoginPage } from './loopback.ts'
import { OAuthFailure } from './oauth-failure.ts'
import type { AuthPeer, BegunLogin, Discovered, OAuth, RefusalWords } from './oauth.ts'
import type { TokenDoor } from './token-store.ts'
import type { TokenPlace, TokenSet, TokenStore } from './words.ts'

export interface LoginRequest {
  readonly principal: string
  readonly peer: AuthPeer
  /** What the peer refused with, if it did. */
  readonly refusal?: RefusalWords
  /** Scopes to ask for besides what the refusal names. */
  readonly earlier?: readonly string[]
}

/** How a login ended. */
export type LoginEnd =
  | { readonly kind: 'logged_in'; readonly place: TokenPlace; readonly tokens: TokenSet }
  /** @property detail for the person; no secret. */
  | { readonly kind: 'failed'; readonly detail: string }

export interface OpenLogin {
  /** Where the person goes; good once. */
  readonly url: string
  /** Of the authorization server. */
  readonly issuer: string
  /** That are asked for. */
  readonly scopes: readonly string[]
  /** Never rejects. */
  readonly ended: Promise<LoginEnd>
}

export interface Logins {
  /**
   * The login that is open for this principal and peer, or a new one.
   *
   * @throws OAuthFailure, or ComityError `conflict` when the port of its way back is taken.
   */
  begin(request: LoginRequest, signal: AbortSignal): Promise<OpenLogin>
  /** Ends those that are open. */
  close(): void
}

export interface LoginParts {
  readonly oauth: OAuth
  readonly tokens: TokenDoor
  /** How long a person has to come back, milliseconds. Default ten minutes. */
  readonly openMs?: number
}

const OPEN_MS = 600_000
/** All requests of one beginning, or of one end, together. */
const REQUESTS_MS = 45_000

interface Opened extends OpenLogin {
  /** Scopes that it was begun for, those among them that are never asked for too. */
  readonly wanted: readonly string[]
  abandon(why: string): void
}

export function createLogins(parts: LoginParts): Logins {
  const open = new Map<string, Promise<Opened>>()

  const start = (key: string, request: LoginRequest): Promise<Opened> => {
    const opening = openLogin(parts, request)
    open.set(key, opening)
    const forget = (): void => {
      if (open.get(key) === opening) open.delete(key)
    }
    void opening.then(({ ended }) => ended).then(forget, forget)
    return opening
  }

  return {
    async begin(request, signal) {
      const key = JSON.stringify([request.principal, request.peer.name])
      const wanted = scopesOfRequest(request)
      let next = request
      for (;;) {
        const opening = open.get(key)
        if (opening === undefined) return unless(signal, start(key, next))
        const before = await unless(signal, opening)
        const covered = new Set([...before.scopes, ...before.wanted])
        if (wanted.every((scope) => covered.has(scope))) return before
        // It would not suffice: whoever has the old address learns so when coming back to it.
        next = { ...request, earlier: [...new Set([...before.scopes, ...wanted])] }
        if (open.get(key) !== opening) continue
        open.delete(key)
        before.abandon('another login was begun that asks for more')
      }
    },
    close() {
      for (const opening of open.values())
        void opening.then(
          ({ abandon }) => abandon('comity ended'),
          () => undefined,
        )
    },
  }
}

function scopesOfRequest({ earlier = [], refusal }: LoginRequest): readonly string[] {
  return [...earlier, ...scopesWanted(refusal)]
}

/** The scopes that a refusal names. */
export function scopesWanted(refusal: RefusalWords | undefined): readonly string[] {
  return scopesOf(pickChallenge(parseChallenges(refusal?.challenges ?? []))) ?? []
}

async function openLogin(parts: LoginParts, request: LoginRequest): Promise<Opened> {
  const { oauth, tokens } = parts
  const { principal, peer, refusal, earlier } = request
  const signal = AbortSignal.timeout(REQUESTS_MS)
  const discovered = await oauth.discover(peer, refusal, signal)
  const place = oauth.placeOf(principal, peer, discovered)
  // Of all processes one registers the client, the others find it.
  const registration: TokenPlace = { ...place, principal: '' }
  const { loopback, begun } = await tokens.open().exclusively(registration, async () => {
    const wish = portOfClient(tokens.open(), discovered.server.issuer, peer.name)
    const loopback = await openLoopback({
      ...(peer.auth.redirectPort === undefined ? {} : { port: peer.auth.redirectPort }),
      ...(wish === undefined ? {} : { wish }),
    })
    try {
      const { redirectUri } = loopback
      const login = {
        discovered,
        redirectUri,
        ...(refusal === undefined ? {} : { refusal }),
        ...(earlier === undefined ? {} : { earlier }),
      }
      return { loopback, begun: await oauth.begin(peer, login, signal) }
    } catch (error) {
      loopback.close()
      throw error
    }
  })
  const wanted = scopesOfRequest(request)
  return waitFor(parts, { peer, place, discovered, loopback, begun, wanted })
}

interface Waiting {
  readonly peer: AuthPeer
  readonly place: TokenPlace
  readonly discovered: Discovered
  readonly loopback: Loopback
  readonly begun: BegunLogin
  readonly wanted: readonly string[]
}

function waitFor(
  { oauth, tokens, openMs = OPEN_MS }: LoginParts,
  { peer, place, discovered, loopback, begun, wanted }: Waiting,
): Opened {
  const { promise: ended, resolve } = Promise.withResolvers<LoginEnd>()
  const end = (how: LoginEnd): void => {
    clearTimeout(timer)
    loopback.close()
    resolve(how)
  }
  const abandon = (why: string): void => end({ kind: 'failed', detail: why })
  const timer = setTimeout(
    () => abandon(`nobody came back from ${discovered.server.issuer} in time`),
    openMs,
  ).unref()

  loopback.expect(begun.pending.state, async (parameters): Promise<LoginPage> => {
    // From here on it ends by itself, and the address is used up.
    clearTimeout(timer)
    try {
      const signal = AbortSignal.timeout(REQUESTS_MS)
      const given = await oauth.finish(peer, begun.pending, parameters, signal)
      keepLogin(tokens.open(), place, given)
      end({ kind: 'logged_in', place, tokens: given })
      return { done: true, text: `comity may use ${peer.name} for ${place.principal} now.` }
    } catch (error) {
      const detail = sayFailure(error)
      end({ kind: 'failed', detail })
      return { done: false, text: `The login to ${peer.name} failed: ${detail}` }
    }
  })
  return {
    url: begun.authorizationUrl,
    issuer: discovered.server.issuer,
    scopes: begun.pending.scopes,
    wanted,
    ended,
    abandon,
  }
}

/** Why it failed, in words that may be shown; anything else is a fault of ours and says nothing. */
export function sayFailure(error: unknown): string {
  return error instanceof OAuthFailure || error instanceof ComityError
    ? error.message
    : 'a fault of comity itself'
}

/**
 * What a person just logged in to replaces whatever lay there, and at other authorization servers for the same peer: of two
 * logins the later one is meant.
 */
export function keepLogin(store: TokenStore, place: TokenPlace, tokens: TokenSet): void {
  while (!store.save(place, tokens, store.versionOf(place)));
  for (const other of store.placesOf(place.principal, place.peer)) {
    if (other.issuer !== place.issuer || other.resource !== place.resource)
      store.remove(other, store.versionOf(other))
  }
}

/** The port that the client at this authorization server was registered with. */
function portOfClient(store: TokenStore, issuer: string, peer: string): number | undefined {
  const ports = (store.loadClient(issuer, peer)?.redirectUris ?? []).flatMap((text) => {
    const url = URL.parse(text)
    return url?.hostname === '127.0.0.1' && url.port !== '' ? [Number(url.port)] : []
  })
  return ports[0]
}

/** Others may wait for the same: whoever gives up leaves it running. */
export function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    // Heard in any case: what fails for nobody is no fault of the process.
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
  })
}
