/**
 * What one server offers as it was last listed, and whether a call may still go by it: nothing is
 * sent under a definition that the present connection has not shown.
 *
 * A new connection is listed first. On the same one a list ends with a notice of change or with its
 * time; calls then wait for the new one, reads are served meanwhile. Accepting a changed definition
 * is the gate's: here a call decided on another one is refused, unsent.
 *
 * @source MCP 2026-07-28, server, caching (`ttlMs`); 2025-11-25, server, tools (`listChanged`).
 */
import type { OutboundCall } from '../../core/words/call.ts'
import { refused, type Failed } from '../../core/words/outcome.ts'
import { linkedFingerprint, type Route } from '../../core/words/route.ts'
import type { ParamHeader } from '../wire/headers.ts'
import { abortable } from './abortable.ts'
import type { CancelSignal } from './cancel.ts'
import type { Connected } from './connect.ts'
import type { TaskSupport } from './legacy-task-terms.ts'
import { LinkFailure } from './link.ts'
import type { ServerListing } from './list.ts'

export interface OfferDeps {
  readonly peer: string
  /** Lists the server. @throws LinkFailure */
  list(connected: Connected): Promise<ServerListing>
  /** Whether this connection would now tell of any change to what is listed. */
  tells(connected: Connected): boolean
  /** Milliseconds that only grow. */
  monotonic(): number
  /** Told when a listing made for a call is not what was offered before. */
  onDifferent(): void
}

export interface OfferOptions {
  /** Least time a list is taken for current, whatever its `ttlMs`, milliseconds. Default 10000. */
  readonly shortestTtlMs?: number
  /** Time of a list that has none, from a server that does not tell of changes, milliseconds. Default 60000. */
  readonly assumedTtlMs?: number
  /** How long a call waits for a new list on a connection that was listed before, milliseconds. Default 10000. */
  readonly relistWaitMs?: number
}

/** A listing and how long it may be taken for current. */
export interface Offered {
  readonly listing: ServerListing
  /** Left out: until a notice of change. */
  readonly freshForMs?: number
}

export interface Offer {
  /** What is offered now; one made for a call is handed out once before the server is asked again. @throws LinkFailure */
  listing(connected: Connected): Promise<Offered>
  /**
   * Whether the call may go out on this connection. A promise where that is not known yet.
   *
   * @returns the refusal; nothing was sent.
   * @throws LinkFailure unsent, when the connection or the caller's patience ended meanwhile.
   */
  refusal(
    connected: Connected,
    call: OutboundCall,
    signal: CancelSignal,
  ): Promise<Failed | undefined> | Failed | undefined
  /** The server said that a list changed. */
  outdate(): void
  paramHeaders(tool: string): readonly ParamHeader[] | undefined
  /** How far the tool is called as a task of 2025-11-25; undefined when it is not. */
  taskSupport(tool: string): TaskSupport | undefined
}

const LONGEST_TTL_MS = 300_000
const DEFAULTS = { shortestTtlMs: 10_000, assumedTtlMs: 60_000, relistWaitMs: 10_000 }
/** A list that could not be made anew is not tried again sooner, milliseconds. */
const RELIST_PAUSE_MS = 10_000

interface Kept extends Offered {
  readonly connected: Connected
  /** Notices of change that had come when it was asked for. */
  readonly notices: number
  readonly askedAt: number
  /** Fingerprints by kind and name; of a list that could not be read, those shown before on this connection. */
  readonly fingerprints: ReadonlyMap<string, string>
  handedOut: boolean
  /** Until then calls go by it although it is old: it could not be made anew. */
  graceUntil: number
}

interface Run {
  readonly connected: Connected
  readonly notices: number
  readonly listed: Promise<Kept>
  /** The one after it, for whoever asks after a notice that this one may not show. */
  next?: Promise<Kept>
}

/** Makes the keeper; asks nothing yet. */
export function createOffer(deps: OfferDeps, options: OfferOptions = {}): Offer {
  return new KeptOffer(deps, { ...DEFAULTS, ...options })
}

class KeptOffer implements Offer {
  readonly #deps: OfferDeps
  readonly #options: Required<OfferOptions>
  #kept: Kept | undefined
  #run: Run | undefined
  #notices = 0

  constructor(deps: OfferDeps, options: Required<OfferOptions>) {
    this.#deps = deps
    this.#options = options
  }

  async listing(connected: Connected): Promise<Offered> {
    const fresh = this.#fresh(connected)
    const kept =
      fresh === undefined || fresh.handedOut ? await this.#relist(connected, false) : fresh
    kept.handedOut = true
    return kept
  }

  outdate(): void {
    this.#notices += 1
  }

  paramHeaders(tool: string): readonly ParamHeader[] | undefined {
    return this.#kept?.listing.paramHeaders.get(tool)
  }

  taskSupport(tool: string): TaskSupport | undefined {
    return this.#kept?.listing.taskSupport?.get(tool)
  }

  refusal(
    connected: Connected,
    call: OutboundCall,
    signal: CancelSignal,
  ): Promise<Failed | undefined> | Failed | undefined {
    if (!standsOnDefinition(call.route)) return undefined
    const fresh = this.#fresh(connected)
    return fresh === undefined
      ? this.#refusalAnew(connected, call, signal)
      : judgeRoute(call.route, fresh)
  }

  async #refusalAnew(
    connected: Connected,
    call: OutboundCall,
    signal: CancelSignal,
  ): Promise<Failed | undefined> {
    let kept: Kept
    try {
      kept = await this.#renewed(connected, call, signal)
    } catch (error) {
      return this.#unlisted(error, signal)
    }
    return judgeRoute(call.route, kept)
  }

  #fresh(connected: Connected): Kept | undefined {
    const kept = this.#kept
    if (kept?.connected !== connected || kept.notices !== this.#notices) return undefined
    const { freshForMs } = kept
    if (freshForMs === undefined) return kept
    return this.#deps.monotonic() - kept.askedAt < freshForMs ? kept : undefined
  }

  /** What a call goes by when no list is current. */
  async #renewed(connected: Connected, call: OutboundCall, signal: CancelSignal): Promise<Kept> {
    const { monotonic } = this.#deps
    const old = this.#kept?.connected === connected ? this.#kept : undefined
    if (old === undefined) return abortable(this.#relist(connected, true), signal)
    if (monotonic() < old.graceUntil) return old
    const relisted = this.#relist(connected, true).catch(() => undefined)
    // Has no effects by the protocol's word; whoever reads is not to wait.
    if (call.operation !== 'call') return old
    const found = await abortable(within(relisted, this.#options.relistWaitMs), signal)
    if (found !== undefined) return found
    // Its own earlier word on this same connection is better than a server that cannot be used.
    old.graceUntil = monotonic() + RELIST_PAUSE_MS
    return old
  }

  /** One list at a time, shared; never one that was asked for before the last notice. */
  #relist(connected: Connected, forCall: boolean): Promise<Kept> {
    const run = this.#run
    if (run?.connected === connected) {
      if (run.notices === this.#notices) return run.listed
      const again = (): Promise<Kept> => this.#relist(connected, forCall)
      return (run.next ??= run.listed.then(again, again))
    }
    const notices = this.#notices
    const started: Run = {
      connected,
      notices,
      listed: this.#list(connected, notices, forCall).finally(() => {
        if (this.#run === started) this.#run = undefined
      }),
    }
    this.#run = started
    return started.listed
  }

  async #list(connected: Connected, notices: number, forCall: boolean): Promise<Kept> {
    const askedAt = this.#deps.monotonic()
    const toldBefore = this.#deps.tells(connected)
    const listing = await this.#deps.list(connected)
    const before = this.#kept
    // What changed while nothing was heard would never be told.
    const told = toldBefore && this.#deps.tells(connected)
    const freshForMs = freshFor(connected, listing, told, this.#options)
    const kept: Kept = {
      connected,
      notices,
      askedAt,
      listing,
      ...(freshForMs === undefined ? {} : { freshForMs }),
      fingerprints: fingerprintsOf(listing, before?.connected === connected ? before : undefined),
      handedOut: false,
      graceUntil: 0,
    }
    // The list of a connection that was replaced meanwhile says nothing of the present one.
    if (this.#run?.connected !== connected) return kept
    this.#kept = kept
    if (forCall && before !== undefined && !sameOffer(before, kept)) this.#deps.onDifferent()
    return kept
  }

  #unlisted(error: unknown, signal: CancelSignal): Failed {
    if (!(error instanceof LinkFailure)) throw error
    const { reason, message, status, login } = error
    if (signal.aborted) throw new LinkFailure('aborted', false, 'canceled before sending')
    // The list was sent, the call was not.
    if (reason === 'broken' || reason === 'unauthorized')
      throw new LinkFailure(reason, false, message, {
        ...(status === undefined ? {} : { status }),
        login,
      })
    const { peer } = this.#deps
    return refused(
      'transport',
      'not_sent',
      `what ${peer} offers on its new connection could not be read, nothing was sent: ${message}`,
    )
  }
}

/** A linked resource has no definition, and a route without a fingerprint claims none. */
function standsOnDefinition({ fingerprint, capability }: Route): boolean {
  return fingerprint !== '' && fingerprint !== linkedFingerprint(capability)
}

function judgeRoute(route: Route, { listing, fingerprints }: Kept): Failed | undefined {
  const { kind, name } = route.pinned ?? { kind: route.kind, name: route.capability }
  const shown = fingerprints.get(keyOf(kind, name))
  const what = `${route.peer}/${name}`
  if (shown === route.fingerprint) return undefined
  if (shown !== undefined) {
    return refused(
      'policy',
      'pin_changed',
      `the definition of ${what} changed after this call was decided on; nothing was sent. ` +
        `See the difference with: comity pins, and accept it with: comity pins accept ${route.peer}`,
    )
  }
  // A server may serve what it does not list, and reading it has no effects.
  if (kind === 'resource') return undefined
  const unread = listing.leftOut.find((left) => left.kind === kind && left.name === '*')
  if (unread === undefined) {
    const detail = `${route.peer} no longer offers the ${kind} ${name}; nothing was sent`
    return refused('validation', 'unknown_capability', detail)
  }
  const detail = `whether ${route.peer} still offers the ${kind} ${name} could not be read, nothing was sent: ${unread.reason}`
  return refused('transport', 'not_sent', detail)
}

function freshFor(
  { facts }: Connected,
  { ttlMs, leftOut }: ServerListing,
  told: boolean,
  { shortestTtlMs, assumedTtlMs }: Required<OfferOptions>,
): number | undefined {
  // A list that could not be read whole is asked for again.
  if (told && leftOut.every(({ name }) => name !== '*')) return undefined
  if (facts.era === 'legacy') return assumedTtlMs
  return Math.min(Math.max(ttlMs ?? assumedTtlMs, shortestTtlMs), LONGEST_TTL_MS)
}

function fingerprintsOf(
  listing: ServerListing,
  before: Kept | undefined,
): ReadonlyMap<string, string> {
  const unread = listing.leftOut.filter(({ name }) => name === '*').map(({ kind }) => kind)
  const kept = [...(before?.fingerprints ?? [])].filter(([key]) =>
    unread.some((kind) => key.startsWith(keyOf(kind, ''))),
  )
  const shown = listing.capabilities.map(
    ({ kind, name, fingerprint }) => [keyOf(kind, name), fingerprint] as const,
  )
  return new Map([...kept, ...shown])
}

function sameOffer(one: Kept, other: Kept): boolean {
  if (one.fingerprints.size !== other.fingerprints.size) return false
  return [...one.fingerprints].every(
    ([key, fingerprint]) => other.fingerprints.get(key) === fingerprint,
  )
}

function keyOf(kind: string, name: string): string {
  return `${kind} ${name}`
}

/** @returns undefined when it takes longer. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
