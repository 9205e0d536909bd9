/**
 * One peer with two connections of different revisions inside: callers, pins, policy and the record know one.
 *
 * Lists come from the older revision until a person promotes the newer. Which one a call takes hangs on its principal; a call
 * of which nothing left may go to the older one instead, one of which bytes may have left is never sent again.
 */
import type { DeprecatedUse, MigrationReport } from '../../core/ports/migration.ts'
import type { Migrating, RevisionDecision, RevisionMove } from '../../core/ports/migration.ts'
import type { PeerCounts, PeerListing, PeerQuery, PeerReport } from '../../core/ports/peer.ts'
import type { QueryAnswer } from '../../core/ports/peer.ts'
import type { Exchange, Upstream, WireFacts, Work } from '../../core/ports/upstream.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import type { Handle, Outcome } from '../../core/words/outcome.ts'
import { linkedFingerprint, type Route } from '../../core/words/route.ts'
import type { McpPeer } from '../../mcp/upstream/client.ts'
import { MODERN_REVISION } from '../../mcp/wire/rev-2026-07-28.ts'
import { within } from '../compose/slots.ts'
import { WHOLE } from '../config/share.ts'
import { type CallerSplit, createCallerSplit } from './caller-split.ts'
import { CanaryOffer } from './canary-offer.ts'
import { createFaultWindow, type FaultLimits, type FaultWindow } from './fault-window.ts'
import { faultOf, unsentBecause } from './judge-outcome.ts'
import { addUses } from './add-uses.ts'
import { RevisionSide } from './revision-side.ts'
import { createRevisionWork, revisionOf } from './revision-work.ts'

export interface CanaryDeps {
  /** Makes the peer locked to a revision; starts and sends nothing until it is first used. */
  make(revision: string): McpPeer
  digest(text: string): string
  /** Milliseconds that only grow. */
  monotonic(): number
  /** What was decided earlier about exactly this move. */
  decided(move: RevisionMove): RevisionDecision | undefined
}

export interface CanaryOptions extends FaultLimits {
  /** How long a list of the older revision waits for one of the newer, milliseconds. Default 5000. */
  readonly listWaitMs?: number
  /** Before the newer one is listed again after that failed; doubles. Milliseconds. Default 1000. */
  readonly retryMs?: number
}

/** What was asked for. */
export type CanaryMove = Pick<RevisionMove, 'from' | 'to' | 'share'>

/** Makes the peer. */
export function createCanaryPeer(
  move: CanaryMove,
  deps: CanaryDeps,
  options: CanaryOptions = {},
): McpPeer & { readonly migration: Migrating } {
  return new CanaryPeer(move, deps, options)
}

interface Watch {
  readonly uri: string
  readonly listener: (uri: string) => void
  stop: () => void
}

class CanaryPeer implements McpPeer {
  readonly name: string
  readonly protocol = 'mcp'
  readonly endpoint: string
  readonly trusted: boolean
  readonly upstream: Upstream
  readonly migration: Migrating
  readonly #move: RevisionMove
  readonly #from: RevisionSide
  readonly #to: RevisionSide
  readonly #split: CallerSplit
  readonly #faults: FaultWindow
  readonly #offer: CanaryOffer
  readonly #listWaitMs: number
  readonly #listeners = new Set<() => void>()
  readonly #watches = new Set<Watch>()
  #decision: RevisionDecision | undefined
  #fellBack = 0
  #kept = 0

  constructor(move: CanaryMove, deps: CanaryDeps, options: CanaryOptions) {
    const { make, monotonic } = deps
    const sideOf = (revision: string, onChanged: () => void): RevisionSide =>
      new RevisionSide({ revision, make, onChanged, monotonic })
    this.#from = sideOf(move.from, () => this.#changed(this.#from))
    this.#to = sideOf(move.to, () => this.#changed(this.#to))
    const { name, endpoint, trusted } = this.#from.peer
    this.name = name
    this.endpoint = endpoint
    this.trusted = trusted
    this.#move = { peer: name, endpoint, ...move }
    this.#decision = deps.decided(this.#move)
    this.#split = createCallerSplit(name, move.share, (text) => deps.digest(text))
    this.#faults = createFaultWindow(options)
    this.#listWaitMs = options.listWaitMs ?? 5_000
    this.#offer = new CanaryOffer(
      () => this.#to.using((peer) => peer.listing()),
      this.#faults,
      options.retryMs ?? 1_000,
    )
    this.upstream = {
      call: (call, exchange, dispatched, late) => this.#call(call, exchange, dispatched, late),
      work: createRevisionWork((handle) => this.#workOf(handle)),
    }
    this.migration = {
      move: this.#move,
      report: () => this.#report(),
      apply: (decision) => this.#apply(decision),
    }
  }

  /** What was decided while it was listed holds for the list. */
  async listing(): Promise<PeerListing> {
    const side = this.#primary
    try {
      const listing = await this.#listSide(side)
      if (side === this.#primary) return listing
    } catch (error) {
      if (side === this.#primary) throw error
    }
    return this.listing()
  }

  report(): PeerReport {
    return this.#primary.peer.report()
  }

  counts(): PeerCounts | undefined {
    return this.#primary.peer.counts()
  }

  printed(): string {
    return this.#primary.peer.printed()
  }

  deprecated(): readonly DeprecatedUse[] {
    return addUses([...this.#from.peer.deprecated(), ...this.#to.peer.deprecated()])
  }

  declared(): Readonly<Record<string, unknown>> | undefined {
    return this.#primary.peer.declared()
  }

  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  query(query: PeerQuery, signal: AbortSignal): Promise<QueryAnswer> {
    return this.#primary.using((peer) => peer.query(query, signal))
  }

  watch(uri: string, listener: (uri: string) => void): () => void {
    const watch: Watch = { uri, listener, stop: this.#primary.peer.watch(uri, listener) }
    this.#watches.add(watch)
    return () => {
      this.#watches.delete(watch)
      watch.stop()
    }
  }

  readonly loginChanged = (): void => {
    this.#from.peer.loginChanged()
    this.#to.peer.loginChanged()
  }

  /** Ends a suspension too: whoever restarts a peer mended something. */
  async restart(): Promise<void> {
    this.#faults.reset()
    this.#split.release()
    await this.#primary.peer.restart()
    if (this.#decision !== undefined) return
    await this.#to.peer.restart().catch((error: unknown) => this.#faults.fault(wordsOf(error)))
    this.#tellChanged()
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#offer.close()
    await Promise.all([this.#from.close(), this.#to.close()])
  }

  async #listSide(side: RevisionSide): Promise<PeerListing> {
    const listed = side.using((peer) => peer.listing())
    if (this.#decision !== undefined) return listed
    // Both at once; the older one is not kept from being listed by the other.
    const other = this.#offer.refresh()
    const listing = await listed
    await within(this.#listWaitMs, other)
    this.#offer.compareWith(listing)
    return listing
  }

  /** Whose lists are the peer's. */
  get #primary(): RevisionSide {
    return this.#decision?.decided === 'promoted' ? this.#to : this.#from
  }

  async #call(
    call: OutboundCall,
    exchange: Exchange,
    dispatched: (facts: WireFacts) => void,
    late: ((outcome: Outcome) => void) | undefined,
  ): Promise<Outcome> {
    if (call.continuation !== undefined) {
      const side = this.#sideOf(call.continuation.handle)
      return side.call(call, exchange, dispatched, late)
    }
    const route = this.#canaryRoute(call)
    if (route === undefined) return this.#primary.call(call, exchange, dispatched, late)
    let left = false
    const outcome = await this.#to.call(
      route === call.route ? call : { ...call, route },
      exchange,
      (facts) => {
        left = true
        dispatched(facts)
      },
      late,
    )
    return this.#weigh(outcome, left, call, () => this.#from.call(call, exchange, dispatched, late))
  }

  /** What an outcome of the newer revision means for it, and whether the call goes to the older one. */
  #weigh(
    outcome: Outcome,
    left: boolean,
    { principal }: OutboundCall,
    fallBack: () => Promise<Outcome>,
  ): Outcome | Promise<Outcome> {
    const fault = faultOf(outcome)
    if (fault !== undefined) this.#faults.fault(fault)
    else if (left) this.#faults.sound()
    const because = left ? undefined : unsentBecause(outcome)
    if (because === undefined) return outcome
    if (because === 'definition') this.#kept += 1
    else {
      this.#fellBack += 1
      this.#split.keepBack(principal.id)
    }
    // Whatever made it fail will show in its list.
    this.#offer.relist()
    return fallBack()
  }

  /** The route under which a call goes to the newer revision; undefined where it does not go there. */
  #canaryRoute({ route, principal }: OutboundCall): Route | undefined {
    if (this.#decision !== undefined || this.#faults.suspended !== undefined) return undefined
    if (!this.#split.isChosen(principal.id)) return undefined
    if (!this.#offer.isKnown) {
      this.#split.keepBack(principal.id)
      this.#fellBack += 1
      return undefined
    }
    if (!standsOnDefinition(route)) return route
    const { kind, name } = route.pinned ?? { kind: route.kind, name: route.capability }
    const fingerprint = this.#offer.fingerprintOf(kind, name, route.fingerprint)
    if (fingerprint === undefined) this.#kept += 1
    else if (fingerprint !== route.fingerprint) return { ...route, fingerprint }
    return fingerprint === undefined ? undefined : route
  }

  /** What began by one revision goes on by it; of round trips only 2026-07-28 has any. */
  #sideOf(handle: Handle): RevisionSide {
    const revision = revisionOf(handle) ?? MODERN_REVISION
    return [this.#from, this.#to].find((side) => side.revision === revision) ?? this.#primary
  }

  #workOf(handle: Handle | undefined): Work {
    const side = handle === undefined ? this.#primary : this.#sideOf(handle)
    const { work } = side.peer.upstream
    if (work === undefined) throw new Error(`${this.name} has no long work`)
    return work
  }

  #apply(decision: RevisionDecision): void {
    const before = this.#primary
    this.#decision = decision
    this.#faults.reset()
    this.#split.release()
    this.#offer.close()
    const now = this.#primary
    now.leave(false)
    const left = now === this.#to ? this.#from : this.#to
    if (before !== now) {
      for (const watch of this.#watches) {
        watch.stop()
        watch.stop = now.peer.watch(watch.uri, watch.listener)
      }
      this.#tellChanged()
    }
    left.leave(true)
  }

  #report(): MigrationReport {
    const { decided } = this.#decision ?? {}
    const share =
      decided === 'promoted'
        ? 1
        : decided === 'rolled_back' || this.#faults.suspended !== undefined
          ? 0
          : this.#move.share / WHOLE
    const { suspended, faults } = this.#faults
    const { problem, differences } = this.#offer
    const isOpen = decided === undefined
    return {
      from: this.#from.counts(1 - share),
      to: this.#to.counts(share),
      ...(this.#decision === undefined ? {} : { decision: pickDecision(this.#decision) }),
      ...(isOpen && suspended !== undefined ? { suspended } : {}),
      ...(isOpen && problem !== undefined ? { unlisted: problem } : {}),
      faults,
      fellBack: this.#fellBack,
      kept: this.#kept,
      heldBack: this.#split.heldBack,
      differences: isOpen ? differences : [],
    }
  }

  #changed(side: RevisionSide): void {
    if (side === this.#primary) this.#tellChanged()
    else if (this.#decision === undefined) this.#offer.relist()
  }

  #tellChanged(): void {
    for (const listener of this.#listeners) listener()
  }
}

function pickDecision({
  decided,
  at,
  by,
}: RevisionDecision): NonNullable<MigrationReport['decision']> {
  return { decided, at, by }
}

/** A linked resource has no definition, and a route without a fingerprint claims none. */
function standsOnDefinition({ fingerprint, capability }: Route): boolean {
  return fingerprint !== '' && fingerprint !== linkedFingerprint(capability)
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
