/**
 * The tokens of one peer that are at hand: read when anybody has written, renewed before they run out, and never by two at once.
 *
 * What a refusal means, and whether a person is asked, is credentials.ts's.
 */
import type { AuthPeer, Discovered, OAuth, RefusalWords } from './oauth.ts'
import { ComityError } from '../../core/words/errors.ts'
import { coversPeer } from './well-known.ts'
import type { TokenDoor } from './token-store.ts'
import type { KeptTokens, TokenPlace, TokenStore } from './words.ts'

/** Tokens and where they lie. */
export interface Held extends KeptTokens {
  readonly place: TokenPlace
}

export type Renewal =
  | { readonly kind: 'renewed'; readonly held: Held }
  /** There is nothing to renew any more. @property detail no secret. */
  | { readonly kind: 'over'; readonly detail: string }
  /** They may be worth something still, and the authorization server renews them not now. @property detail no secret. */
  | { readonly kind: 'refused'; readonly detail: string }

export interface HeldTokens {
  /** What there is now. @throws ComityError when the tokens cannot be read. */
  of(owner: string): Held | undefined
  /** As `of`, for each message: what another process did may be unknown for a moment. */
  glance(owner: string): Held | undefined
  /** The next glance looks. */
  forget(owner: string): void
  /** Exchanges tokens for new ones, unless somebody has. @throws OAuthFailure, ComityError. */
  renew(held: Held, refusal?: RefusalWords): Promise<Renewal>
  /** Obtains tokens without a person, unless somebody has. @param refused the access token that was refused. */
  obtain(owner: string, ask: ObtainAsk): Promise<Held>
  /** This process got these itself a moment ago: asking for others again would bring no better ones. */
  isFresh(held: Held): boolean
}

export interface ObtainAsk {
  readonly refused?: string
  readonly refusal?: RefusalWords
  readonly earlier: readonly string[]
  /** Called when these very scopes were asked for, and not when somebody else's answer was taken. */
  readonly whenAsked?: () => void
}

export interface HeldParts {
  readonly oauth: OAuth
  readonly tokens: TokenDoor
}

/** All requests of one renewal together, milliseconds. */
const REQUESTS_MS = 45_000
const FRESH_MS = 30_000
/** So long the same renewal is not asked for after a refusal, milliseconds. */
const REFUSED_MS = 60_000
/** So long a glance trusts the last look, milliseconds. */
const GLANCE_MS = 50
/** Principals whose tokens are remembered; with more, all are read again. */
const MAX_OWNERS = 1000

const NO_STORE = -1

/** What was found at a look. */
interface Look {
  readonly at: number
  readonly revision: number
  readonly held: Held | undefined
}

export function createHeldTokens(peer: AuthPeer, { oauth, tokens }: HeldParts): HeldTokens {
  const cache = new Map<string, Look>()
  const flights = new Map<string, Promise<unknown>>()
  const fresh = new Map<string, { readonly token: string; readonly at: number }>()

  const unlessRefused = rememberRefusals()

  const gotNew = (held: Held): Held => {
    const { principal } = held.place
    fresh.set(principal, { token: held.tokens.accessToken, at: performance.now() })
    cache.delete(principal)
    return held
  }
  /** Whoever comes while it runs waits for the same. */
  const once = <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const running = flights.get(what)
    if (running !== undefined) return running as Promise<T>
    const flight = work().finally(() => flights.delete(what))
    flights.set(what, flight)
    return flight
  }

  const look = (owner: string): Held | undefined => {
    const store = tokens.openIfThere()
    const revision = store?.revision() ?? NO_STORE
    const known = cache.get(owner)
    const held =
      known?.revision === revision
        ? known.held
        : store === undefined
          ? undefined
          : loadBest(store, peer, owner)
    if (cache.size >= MAX_OWNERS) cache.clear()
    cache.set(owner, { at: performance.now(), revision, held })
    return held
  }

  return {
    of: look,
    glance(owner) {
      const known = cache.get(owner)
      return known !== undefined && performance.now() - known.at < GLANCE_MS
        ? known.held
        : look(owner)
    },
    forget: (owner) => void cache.delete(owner),
    renew: (held, refusal) =>
      once(`renew ${held.place.principal}`, () =>
        unlessRefused(held, () =>
          tokens
            .open()
            .exclusively(held.place, () =>
              renewAlone({ oauth, store: tokens.open(), peer, gotNew }, held, refusal),
            ),
        ),
      ),
    obtain: (owner, ask) =>
      once(`obtain ${owner}`, async () => {
        const signal = AbortSignal.timeout(REQUESTS_MS)
        const discovered = await oauth.discover(peer, ask.refusal, signal)
        const place = oauth.placeOf(owner, peer, discovered)
        return tokens.open().exclusively(place, async () => {
          const store = tokens.open()
          const kept = loadReadable(store, place)
          if (kept !== undefined && kept.tokens.accessToken !== ask.refused)
            return { ...kept, place }
          const version = store.versionOf(place)
          const given = await oauth.obtain(peer, discovered, ask.refusal, ask.earlier, signal)
          ask.whenAsked?.()
          const held = { place, version: version + 1, tokens: given }
          if (!store.save(place, given, version)) return { ...held, ...store.load(place) }
          return gotNew(held)
        })
      }),
    isFresh({ place, tokens: { accessToken } }) {
      const last = fresh.get(place.principal)
      return last?.token === accessToken && performance.now() - last.at < FRESH_MS
    },
  }
}

type Refused = Extract<Renewal, { kind: 'refused' }>

/** What was refused a moment ago is refused: the same request would bring the same answer. */
function rememberRefusals(): (held: Held, work: () => Promise<Renewal>) => Promise<Renewal> {
  const refusals = new Map<string, { readonly version: number; readonly until: number } & Refused>()
  return async ({ place: { principal }, version }, work) => {
    const last = refusals.get(principal)
    if (last?.version === version && performance.now() < last.until) return last
    const renewal = await work()
    refusals.delete(principal)
    if (renewal.kind === 'refused')
      refusals.set(principal, { ...renewal, version, until: performance.now() + REFUSED_MS })
    return renewal
  }
}

interface RenewParts {
  readonly oauth: OAuth
  readonly store: TokenStore
  readonly peer: AuthPeer
  gotNew(held: Held): Held
}

/** With nobody else at these tokens: what lies there now is looked at first. */
async function renewAlone(
  { oauth, store, peer, gotNew }: RenewParts,
  { place, version }: Held,
  refusal: RefusalWords | undefined,
): Promise<Renewal> {
  const kept = store.load(place)
  if (kept === undefined) return { kind: 'over', detail: 'it was logged out of' }
  if (kept.version !== version) return { kind: 'renewed', held: { ...kept, place } }
  const signal = AbortSignal.timeout(REQUESTS_MS)
  const discovered = await oauth.discover(peer, refusal, signal)
  if (!isAt(place, oauth.placeOf(place.principal, peer, discovered))) {
    // Never to another server than the one that gave them. @source MCP 2026-07-28, authorization, authorization server binding
    return { kind: 'over', detail: `${peer.name} names another authorization server than before` }
  }
  const refreshed = await oauth.refresh(peer, discovered, kept.tokens, signal)
  if (refreshed.kind === 'refused') return refreshed
  if (refreshed.kind === 'revoked') {
    store.remove(place, kept.version)
    return orNewer(store, place, refreshed.detail)
  }
  if (store.save(place, refreshed.tokens, kept.version)) {
    const held = { place, version: kept.version + 1, tokens: refreshed.tokens }
    return { kind: 'renewed', held: gotNew(held) }
  }
  const newer = orNewer(store, place, 'it was logged out of')
  // Nobody knows of these but us: they would live on for nobody.
  await giveBack(oauth, peer, discovered, refreshed.tokens)
  return newer
}

async function giveBack(
  oauth: OAuth,
  peer: AuthPeer,
  discovered: Discovered,
  tokens: KeptTokens['tokens'],
): Promise<void> {
  try {
    await oauth.revoke(peer, discovered, tokens, AbortSignal.timeout(REQUESTS_MS))
  } catch {
    // They run out by themselves.
  }
}

function orNewer(store: TokenStore, place: TokenPlace, detail: string): Renewal {
  const kept = store.load(place)
  return kept === undefined
    ? { kind: 'over', detail }
    : { kind: 'renewed', held: { ...kept, place } }
}

/** Of several authorization servers' tokens, those that last longest; never any that were given for another address. */
function loadBest(store: TokenStore, peer: AuthPeer, owner: string): Held | undefined {
  const lasts = ({ tokens }: Held): number => tokens.expiresAt ?? Number.MAX_SAFE_INTEGER
  return store
    .placesOf(owner, peer.name)
    .filter(({ issuer }) => peer.auth.issuer === undefined || peer.auth.issuer === issuer)
    .filter(({ resource }) => coversPeer(resource, peer.url))
    .flatMap((place): Held[] => {
      const kept = store.load(place)
      return kept === undefined ? [] : [{ ...kept, place }]
    })
    .reduce<Held | undefined>(
      (best, held) => (best === undefined || lasts(held) > lasts(best) ? held : best),
      undefined,
    )
}

/** What nobody gave by hand can be had again, so that damage need not stop anybody. */
function loadReadable(store: TokenStore, place: TokenPlace): KeptTokens | undefined {
  try {
    return store.load(place)
  } catch (error) {
    if (error instanceof ComityError && error.code === 'store_corrupt') return undefined
    throw error
  }
}

function isAt(left: TokenPlace, right: TokenPlace): boolean {
  return left.issuer === right.issuer && left.resource === right.resource
}
