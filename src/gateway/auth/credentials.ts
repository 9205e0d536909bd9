/**
 * What messages to one peer bear, and what becomes of a refusal: credentials that are there, renewed ones, or a person who is asked.
 *
 * Each principal has its own; grants without a person are the gateway's. A bearer goes to its own peer's origin and nowhere
 * else. Every way through a refusal ends: what was renewed a moment ago is not renewed again, and scopes that were asked
 * for are not asked for twice.
 *
 * @source MCP 2026-07-28, authorization.
 */
import { ComityError } from '../../core/words/errors.ts'
import { LOCAL } from '../../core/words/principal.ts'
import { maskSecrets } from '../../mcp/upstream/supervise.ts'
import type {
  AfterRefusal,
  Bearing,
  Credentials,
  LoginAddress,
  Refusal,
} from '../../mcp/upstream/credentials.ts'
import { parseChallenges } from './challenge.ts'
import { createHeldTokens, type Held, type HeldTokens } from './credentials-held.ts'
import { sayFailure, scopesWanted, unless, type Logins } from './login.ts'
import { mayOpen } from './open-browser.ts'
import { OAuthFailure } from './oauth-failure.ts'
import type { AuthPeer, OAuth } from './oauth.ts'
import type { TokenDoor } from './token-store.ts'

export interface CredentialsParts {
  readonly oauth: OAuth
  readonly tokens: TokenDoor
  readonly logins: Logins
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Told of what no caller hears: a renewal that failed while the old tokens still held. No secret. */
  readonly note?: (what: string) => void
}

/** A peer's credentials. */
export interface PeerCredentials extends Credentials {
  /** A text without the tokens that this process knows of. */
  mask(text: string): string
}

type Headers = Readonly<Record<string, string>>

const NOTHING: Headers = {}

/** Whose tokens those are that no person logged in for. A peer has either these or those of people. */
export const GATEWAY_ITSELF = '(gateway)'

/** So long before they run out tokens are renewed, milliseconds. */
const RENEW_BEFORE_MS = 20_000
/** What just failed is not tried again at once, milliseconds. */
const REST_MS = 5_000
const ASKED_MS = 600_000
/** So often in that time: each may be for another scope, and a server may think of ever more. */
const MOST_ASKED = 20
const MAX_SECRETS = 200
/** Of scopes in a message, characters. */
const MAX_SHOWN = 500

export function createCredentials(peer: AuthPeer, parts: CredentialsParts): PeerCredentials {
  return new OAuthCredentials(peer, parts)
}

class OAuthCredentials implements PeerCredentials {
  readonly #peer: AuthPeer
  readonly #parts: CredentialsParts
  readonly #held: HeldTokens
  readonly #origin: string
  readonly #byPerson: boolean
  /** By owner: what failed last. */
  readonly #rests = new Map<string, { readonly until: number; readonly detail: string }>()
  /** By owner: the scopes that were asked for of late, and given or not. */
  readonly #asked = new Map<string, Asked>()
  readonly #secrets = new Set<string>()

  constructor(peer: AuthPeer, parts: CredentialsParts) {
    this.#peer = peer
    this.#parts = parts
    this.#held = createHeldTokens(peer, parts)
    this.#origin = new URL(peer.url).origin
    this.#byPerson = peer.auth.grant === 'authorization_code'
  }

  mask(text: string): string {
    return maskSecrets(text, [...this.#secrets])
  }

  headersFor(bearing: Bearing): Headers | Promise<Headers> {
    if (!this.#isOurs(bearing.url)) return NOTHING
    try {
      const owner = this.#ownerOf(bearing.principal)
      const held = this.#held.glance(owner)
      if (held === undefined) return NOTHING
      return this.#isOld(held) ? this.#bearRenewed(held, bearing) : this.#bear(held, bearing)
    } catch (error) {
      return this.#noteAndBear(error, undefined, bearing)
    }
  }

  async afterRefusal(refusal: Refusal, signal: AbortSignal): Promise<AfterRefusal> {
    const { name } = this.#peer
    if (!this.#isOurs(refusal.url))
      return { kind: 'login', detail: `${name} led elsewhere, where its credentials do not go` }
    const owner = this.#ownerOf(refusal.principal)
    try {
      return await unless(signal, this.#decide(owner, refusal))
    } catch (error) {
      return { kind: 'login', detail: this.#rest(owner, error) }
    }
  }

  /** What failed is not tried again at once. @returns why, in words. */
  #rest(owner: string, error: unknown): string {
    if (!(error instanceof OAuthFailure || error instanceof ComityError)) throw error
    const detail = `${this.#peer.name} wants a login, which failed: ${sayFailure(error)}`
    this.#rests.set(owner, { until: performance.now() + REST_MS, detail })
    return detail
  }

  async #decide(owner: string, refusal: Refusal): Promise<AfterRefusal> {
    this.#parts.oauth.noteNonce(refusal.url, refusal.nonce)
    if (wantsOtherNonce(refusal)) return { kind: 'again' }
    const held = this.#held.of(owner)
    // Somebody logged in or renewed since it was sent.
    if (held !== undefined && held.tokens.accessToken !== tokenIn(refusal.sent))
      return { kind: 'again' }
    const rest = this.#rests.get(owner)
    if (rest !== undefined && performance.now() < rest.until)
      return { kind: 'login', detail: rest.detail }
    if (refusal.status === 403 && held !== undefined) return this.#stepUp(held, refusal)
    let why = held === undefined ? undefined : 'the login is not accepted any more'
    if (held?.tokens.refreshToken !== undefined && !this.#held.isFresh(held)) {
      const renewal = await this.#held.renew(held, refusal)
      if (renewal.kind === 'renewed') return { kind: 'again' }
      why = renewal.detail
    }
    if (this.#byPerson) return this.#askPerson(refusal, { why, earlier: [], scopes: [] })
    if (held !== undefined && this.#held.isFresh(held))
      return {
        kind: 'login',
        detail: `${this.#peer.name} refuses the token that ${held.place.issuer} has just given for it`,
      }
    await this.#held.obtain(owner, {
      refusal,
      earlier: [],
      ...(held === undefined ? {} : { refused: held.tokens.accessToken }),
    })
    return { kind: 'again' }
  }

  /** @source MCP 2026-07-28, authorization, scope challenge handling */
  async #stepUp(held: Held, refusal: Refusal): Promise<AfterRefusal> {
    const { tokens, place } = held
    const wanted = scopesWanted(refusal)
    const asked = this.#askedOf(place.principal).scopes
    const { name } = this.#peer
    if (wanted.every((scope) => tokens.scopes.includes(scope)))
      return {
        kind: 'login',
        detail: `${name} refuses this with the scopes ${sayScopes(tokens.scopes)}, all that it asks for: the account may lack the right`,
      }
    if (wanted.every((scope) => tokens.scopes.includes(scope) || asked.includes(scope)))
      return {
        kind: 'login',
        detail: `${name} wants the scopes ${sayScopes(wanted)}; ${place.issuer} was asked for them and gave ${sayScopes(tokens.scopes)}`,
      }
    if (this.#askedOf(place.principal).times >= MOST_ASKED)
      return {
        kind: 'login',
        detail: `${name} wants other scopes again and again, now ${sayScopes(wanted)}: ${place.issuer} is not asked for more for a while`,
      }
    const why = `this needs the scopes ${sayScopes(wanted)}`
    if (this.#byPerson)
      return this.#askPerson(refusal, { why, earlier: tokens.scopes, scopes: wanted })
    await this.#held.obtain(place.principal, {
      refused: tokens.accessToken,
      refusal,
      earlier: tokens.scopes,
      whenAsked: () => this.#noteAsked(place.principal, [...tokens.scopes, ...wanted]),
    })
    return { kind: 'again' }
  }

  /** No login is begun for whoever cannot open its address: that would register a client, and open a port, for nobody. */
  #askPerson(refusal: Refusal, words: PersonWords): AfterRefusal {
    const detail = this.#sayLogin(refusal.principal, '', words)
    return { kind: 'login', detail, begin: (signal) => this.#begin(refusal, words, signal) }
  }

  async #begin(refusal: Refusal, words: PersonWords, signal: AbortSignal): Promise<LoginAddress> {
    const { principal } = refusal
    const { earlier } = words
    try {
      const request = { principal, peer: this.#peer, refusal, earlier }
      const login = await this.#parts.logins.begin(request, signal)
      void login.ended.then(({ kind }) => {
        if (kind !== 'logged_in') return
        this.#noteAsked(principal, [...login.scopes, ...words.scopes])
        // The very next message bears it.
        this.#held.forget(principal)
      })
      const detail = this.#sayLogin(principal, ` at ${login.issuer}`, words)
      return mayOpen(login.url) ? { url: login.url, detail } : { detail }
    } catch (error) {
      return { detail: this.#rest(this.#ownerOf(principal), error) }
    }
  }

  #sayLogin(principal: string, where: string, { why, scopes }: PersonWords): string {
    const { name } = this.#peer
    const because = why === undefined ? '' : ` (${why})`
    return `${name} wants ${principal} to log in${where}${because}; run: ${loginCommand(name, principal, scopes)}`
  }

  async #bearRenewed(held: Held, bearing: Bearing): Promise<Headers> {
    try {
      if (held.tokens.refreshToken === undefined) {
        const { principal } = held.place
        const earlier = held.tokens.scopes
        const refused = held.tokens.accessToken
        return this.#bear(await this.#held.obtain(principal, { refused, earlier }), bearing)
      }
      const renewal = await this.#held.renew(held)
      if (renewal.kind === 'refused') return await this.#bear(held, bearing)
      // Without any: the peer's refusal then says where to log in.
      return renewal.kind === 'renewed' ? await this.#bear(renewal.held, bearing) : {}
    } catch (error) {
      return this.#noteAndBear(error, held, bearing)
    }
  }

  /** What an authorization server did stops no message: the peer says what it thinks of the old tokens, or of none. */
  #noteAndBear(
    error: unknown,
    held: Held | undefined,
    bearing: Bearing,
  ): Headers | Promise<Headers> {
    const detail = sayFailure(error)
    this.#parts.note?.(`${this.#peer.name}: its login could not be renewed: ${detail}`)
    this.#rests.set(this.#ownerOf(bearing.principal), {
      until: performance.now() + REST_MS,
      detail: `${this.#peer.name} wants a login, which failed: ${detail}`,
    })
    return held === undefined ? {} : this.#bear(held, bearing)
  }

  #bear({ tokens }: Held, { method, url }: Bearing): Headers | Promise<Headers> {
    if (!this.#secrets.has(tokens.accessToken)) this.#noteSecrets(tokens)
    return this.#parts.oauth.headersFor(tokens, { method, url })
  }

  #noteSecrets({ accessToken, refreshToken }: Held['tokens']): void {
    for (const secret of [accessToken, refreshToken])
      if (secret !== undefined) this.#secrets.add(secret)
    // The oldest first: a peer may still repeat one that was just replaced.
    for (const old of this.#secrets) if (this.#secrets.size > MAX_SECRETS) this.#secrets.delete(old)
  }

  #isOld(held: Held): boolean {
    const { expiresAt, refreshToken } = held.tokens
    if (expiresAt === undefined || (refreshToken === undefined && this.#byPerson)) return false
    const left = expiresAt - this.#parts.now()
    // Tokens that never last that long are not renewed at every message.
    if (left > RENEW_BEFORE_MS || (left > 0 && this.#held.isFresh(held))) return false
    const rest = this.#rests.get(held.place.principal)
    return rest === undefined || performance.now() >= rest.until
  }

  #isOurs(url: string): boolean {
    return url === this.#peer.url || URL.parse(url)?.origin === this.#origin
  }

  #ownerOf(principal: string): string {
    return this.#byPerson ? principal : GATEWAY_ITSELF
  }

  #noteAsked(owner: string, scopes: readonly string[]): void {
    const last = this.#askedOf(owner)
    const all = [...new Set([...last.scopes, ...scopes])]
    this.#asked.set(owner, { since: last.since, times: last.times + 1, scopes: all })
  }

  #askedOf(owner: string): Asked {
    const asked = this.#asked.get(owner)
    const now = performance.now()
    return asked !== undefined && now - asked.since < ASKED_MS
      ? asked
      : { since: now, times: 0, scopes: [] }
  }
}

interface Asked {
  /** The first of these times, by the clock of `performance`. */
  readonly since: number
  readonly times: number
  readonly scopes: readonly string[]
}

/** Why a person is asked. */
interface PersonWords {
  readonly why: string | undefined
  /** That are granted. */
  readonly earlier: readonly string[]
  /** That are wanted besides. */
  readonly scopes: readonly string[]
}

/** The command that logs a principal in. */
function loginCommand(peer: string, principal: string, scopes: readonly string[]): string {
  const asked = scopes.filter((scope) => /^[\w.:/@+~-]+$/.test(scope))
  return [
    `comity login ${peer}`,
    ...(principal === LOCAL.id ? [] : [`--as ${principal}`]),
    ...asked.map((scope) => `--scope ${scope}`),
  ].join(' ')
}

function sayScopes(scopes: readonly string[]): string {
  const text = scopes.join(' ')
  if (text === '') return '(none)'
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

function tokenIn(sent: Headers): string | undefined {
  return sent['authorization']?.replace(/^\S+\s+/, '')
}

/** A proof that bore another nonce than the one that is wanted now. @source RFC 9449, section 9 */
function wantsOtherNonce({ challenges, nonce, sent }: Refusal): boolean {
  const proof = sent['dpop']
  if (nonce === undefined || proof === undefined) return false
  return (
    parseChallenges(challenges).some(({ error }) => error === 'use_dpop_nonce') &&
    nonceIn(proof) !== nonce
  )
}

function nonceIn(proof: string): unknown {
  try {
    const payload = Buffer.from(proof.split('.')[1] ?? '', 'base64url').toString('utf8')
    const said: unknown = JSON.parse(payload)
    return typeof said === 'object' && said !== null && 'nonce' in said ? said.nonce : undefined
  } catch {
    return undefined
  }
}
