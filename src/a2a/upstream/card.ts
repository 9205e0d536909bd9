/**
 * Fetches an agent's card and keeps it as long as it may be kept.
 *
 * Says what is there; whether a changed card may still be used is the gate's decision, by the
 * fingerprint. A card that cannot be fetched again does not stop work in flight: the last usable one
 * stands, and the report says so.
 *
 * @source A2A 1.0.1, 8.2 (discovery) and 8.6 (caching)
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../../core/ports/world.ts'
import type { FailureCode } from '../../core/words/outcome.ts'
import { type Connections, type HttpResponse, openHttp, readText } from '../bindings/http.ts'
import type { AgentCard } from '../wire/card-messages.ts'
import { canonicalCard, type ChosenInterface, type Finding, readCard } from '../wire/card.ts'
import { A2A_VERSION, VERSION_HEADER } from '../wire/rev-1-0.ts'

/** Where the card lies and what the operator laid down about it. */
export interface CardOptions {
  /** A direct URL, or one that ends in `/`: then the well-known path under it is meant. */
  readonly url: string
  /** Sent to the card's origin only. */
  readonly headers?: Readonly<Record<string, string>>
  /** Origins at which an interface may lie besides the card's own. */
  readonly allowedOrigins?: readonly string[]
  /** Bytes. Default 1 MiB. */
  readonly maxBytes?: number
  /** Milliseconds a card is kept when its answer does not say. Default 5 minutes. */
  readonly keepMs?: number
  /** Milliseconds for one fetch. Default 10 s. */
  readonly timeoutMs?: number
}

/** A card that can be used. */
export interface UsableCard {
  readonly kind: 'usable'
  readonly card: AgentCard
  readonly interface: ChosenInterface
  readonly findings: readonly Finding[]
  /** Hex SHA-256 of the canonical card without signatures. */
  readonly fingerprint: string
  /** The card as received. */
  readonly text: string
  /** Why the present one could not be fetched, when this is the last one that could. */
  readonly stale?: string
}

/** No card to work with, and why. */
export interface NoCard {
  readonly kind: 'unusable' | 'unreachable'
  readonly code: FailureCode
  readonly detail: string
  readonly findings: readonly Finding[]
}

/** One agent's card over time. */
export interface CardSource {
  /** The URL the card is fetched from. */
  readonly url: string
  /** The card in force, fetched or revalidated when its time is over. Never rejects. */
  current(signal: AbortSignal): Promise<UsableCard | NoCard>
  /** What was seen last, without fetching. */
  last(): UsableCard | NoCard | undefined
  /** Calls back when the fingerprint, or whether it can be used, changed; returns the way to stop. */
  onChanged(listener: () => void): () => void
}

const MAX_KEEP_MS = 24 * 3_600_000
const MAX_REDIRECTS = 3

/** What the cache holds about the card in force. */
interface Kept {
  readonly card: UsableCard
  readonly etag?: string
}

/** Makes the source of one agent's card. Nothing is fetched before it is asked for. */
export function createCardSource(
  deps: { readonly connections: Connections; readonly clock: Clock },
  options: CardOptions,
): CardSource {
  const url = cardUrl(options.url)
  const listeners = new Set<() => void>()
  let kept: Kept | undefined
  let last: UsableCard | NoCard | undefined
  let freshUntil = 0
  let running: Promise<UsableCard | NoCard> | undefined

  const take = (fetched: Fetched): UsableCard | NoCard => {
    freshUntil = deps.clock.now() + (fetched.keepMs ?? options.keepMs ?? 300_000)
    const before = shownBy(last)
    if (fetched.kind === 'same' && kept !== undefined) {
      const { stale: _stale, ...card } = kept.card
      last = card
    } else if (fetched.kind === 'card') {
      kept = { card: fetched.card, ...(fetched.etag === undefined ? {} : { etag: fetched.etag }) }
      last = fetched.card
    } else if (fetched.kind === 'none') {
      // Unreachable is no news about the card; unusable is: the agent now says something else.
      const { none } = fetched
      const stands = kept !== undefined && none.kind === 'unreachable'
      last = stands ? { ...kept!.card, stale: none.detail } : none
      // Not asked again at once by each of many callers, and soon enough for an agent that is starting.
      freshUntil = deps.clock.now() + 1_000
    }
    if (before !== undefined && shownBy(last) !== before) {
      for (const listener of listeners) listener()
    }
    return last!
  }

  return {
    url,
    last: () => last,
    onChanged: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async current(signal) {
      if (last !== undefined && deps.clock.now() < freshUntil) return last
      // One fetch for all who ask at once; it has its own time, not the first asker's.
      running ??= fetchCard(deps.connections, url, options, kept?.etag)
        .then(take)
        .finally(() => (running = undefined))
      return orAborted(running, signal)
    },
  }
}

/** The address of a card by what the operator wrote. */
export function cardUrl(given: string): string {
  const url = new URL(given)
  if (url.pathname.endsWith('/')) url.pathname += '.well-known/agent-card.json'
  return url.href
}

/** What changes for whoever lists this agent: its fingerprint, or that it cannot be used. */
function shownBy(card: UsableCard | NoCard | undefined): string | undefined {
  return card?.kind === 'usable' ? card.fingerprint : card?.kind
}

type Fetched =
  | {
      readonly kind: 'card'
      readonly card: UsableCard
      readonly etag?: string
      readonly keepMs?: number
    }
  | { readonly kind: 'same'; readonly keepMs?: number }
  | { readonly kind: 'none'; readonly none: NoCard; readonly keepMs?: number }

async function fetchCard(
  connections: Connections,
  url: string,
  options: CardOptions,
  etag: string | undefined,
): Promise<Fetched> {
  const response = await get(connections, new URL(url), options, etag)
  if ('none' in response) return { kind: 'none', none: response.none }
  const keepMs = keepTime(response.headers['cache-control'])
  const keep = keepMs === undefined ? {} : { keepMs }
  if (response.status === 304) {
    response.close()
    return { kind: 'same', ...keep }
  }
  if (response.status !== 200) {
    response.close()
    return { kind: 'none', none: refuseStatus(url, response.status) }
  }
  const body = await readText(response, options.maxBytes ?? 1024 * 1024)
  if (body.kind === 'broken') return none('unreachable', 'peer_unreachable', url, body.detail)
  if (body.kind !== 'text') {
    const what = body.kind === 'too_large' ? 'it is too large' : 'it is not UTF-8'
    return none('unusable', 'protocol_violation', url, what)
  }
  const read = readText200(url, body.text, options)
  if (read.kind !== 'usable') return { kind: 'none', none: read }
  const tag = response.headers['etag']
  return { kind: 'card', card: read, ...keep, ...(tag === undefined ? {} : { etag: tag }) }
}

/** A GET that follows redirects within the card's origin only: headers and trust end there. */
async function get(
  connections: Connections,
  start: URL,
  options: CardOptions,
  etag: string | undefined,
): Promise<HttpResponse | { readonly none: NoCard }> {
  let url = start
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const response = await openHttp(connections.reads, {
      url,
      method: 'GET',
      headers: {
        ...options.headers,
        accept: 'application/json',
        [VERSION_HEADER.toLowerCase()]: A2A_VERSION,
        ...(etag === undefined ? {} : { 'if-none-match': etag }),
      },
      signal: AbortSignal.timeout(options.timeoutMs ?? 10_000),
      headTimeoutMs: options.timeoutMs ?? 10_000,
    })
    if (response.kind !== 'response') {
      return none('unreachable', 'peer_unreachable', url.href, response.detail)
    }
    const location = response.headers['location']
    const redirects = response.status >= 300 && response.status < 400 && response.status !== 304
    if (!redirects || location === undefined) return response
    response.close()
    const target = URL.canParse(location, url) ? new URL(location, url) : undefined
    if (target?.origin !== start.origin) {
      const where = target === undefined ? 'an unreadable address' : target.origin
      const what = `it redirects to ${where}; configure the card's own address if that is right`
      return none('unusable', 'peer_unreachable', url.href, what)
    }
    url = target
  }
  return none('unusable', 'peer_unreachable', start.href, 'it redirects in circles')
}

function readText200(url: string, text: string, options: CardOptions): UsableCard | NoCard {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return none('unusable', 'protocol_violation', url, 'it is not JSON').none
  }
  const allowed = options.allowedOrigins
  const read = readCard(value, {
    cardUrl: url,
    ...(allowed === undefined ? {} : { allowedOrigins: allowed }),
  })
  if (read.card === undefined || read.interface === undefined) {
    const errors = read.findings.filter((found) => found.severity === 'error')
    const list = errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
    const detail = `the card at ${url} cannot be used: ${list.join('; ')}`
    return { kind: 'unusable', code: 'protocol_violation', detail, findings: read.findings }
  }
  const fingerprint = createHash('sha256').update(canonicalCard(value)).digest('hex')
  const { card, findings } = read
  return { kind: 'usable', card, interface: read.interface, findings, fingerprint, text }
}

function none(
  kind: NoCard['kind'],
  code: FailureCode,
  url: string,
  what: string,
): { readonly kind: 'none'; readonly none: NoCard } {
  const verb = kind === 'unreachable' ? 'could not be fetched' : 'cannot be used'
  const detail = `the card at ${url} ${verb}: ${what}`
  return { kind: 'none', none: { kind, code, detail, findings: [] } }
}

function refuseStatus(url: string, status: number): NoCard {
  if (status === 401 || status === 403) {
    const what = `HTTP ${status}: it wants credentials; set \`headers\` for this agent`
    return none('unreachable', 'credentials_missing', url, what).none
  }
  // A server in trouble says nothing about the card; one that says there is none does.
  const kind = status >= 500 || status === 429 ? 'unreachable' : 'unusable'
  return none(kind, 'peer_unreachable', url, `HTTP ${status} where a card was expected`).none
}

/** Milliseconds by Cache-Control, bounded by a day; undefined when it does not say. */
function keepTime(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  if (/(?:^|,)\s*no-(?:store|cache)\b/i.test(header)) return 0
  const match = /(?:^|,)\s*max-age\s*=\s*"?(\d{1,10})/i.exec(header)
  return match === null ? undefined : Math.min(Number(match[1]) * 1000, MAX_KEEP_MS)
}

async function orAborted(
  work: Promise<UsableCard | NoCard>,
  signal: AbortSignal,
): Promise<UsableCard | NoCard> {
  const given: NoCard = {
    kind: 'unreachable',
    code: 'deadline_before_send',
    detail: 'given up while the card was fetched',
    findings: [],
  }
  if (signal.aborted) return given
  return new Promise((resolve) => {
    const stop = (): void => resolve(given)
    signal.addEventListener('abort', stop, { once: true })
    void work.then((card) => {
      signal.removeEventListener('abort', stop)
      resolve(card)
    })
  })
}
