/**
 * What the newer revision of a peer offers beside the older: listed in the background, compared, tried again with pauses.
 *
 * Until both were listed nothing is known to be the same, and no call goes to the newer one.
 */
import type { OfferDifference } from '../../core/ports/migration.ts'
import type { PeerListing } from '../../core/ports/peer.ts'
import type { CapabilityKind } from '../../core/words/capability.ts'
import { type ComparedOffers, compareOffers, offerKey } from './compare-offers.ts'
import type { FaultWindow } from './fault-window.ts'

const LONGEST_PAUSE_MS = 60_000

/** See above. */
export class CanaryOffer {
  readonly #list: () => Promise<PeerListing>
  readonly #faults: FaultWindow
  readonly #firstPauseMs: number
  #pauseMs: number
  #older: PeerListing | undefined
  #newer: PeerListing | undefined
  #compared: ComparedOffers | undefined
  #problem: string | undefined
  #running: Promise<void> | undefined
  #isStale = false
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  /** @param list lists the newer revision. */
  constructor(list: () => Promise<PeerListing>, faults: FaultWindow, retryMs: number) {
    this.#list = list
    this.#faults = faults
    this.#firstPauseMs = retryMs
    this.#pauseMs = retryMs
  }

  /** Both were listed, and the newer one could be when it was last tried. */
  get isKnown(): boolean {
    return this.#compared !== undefined && this.#problem === undefined
  }

  /** Why the newer one could not be listed the last time. */
  get problem(): string | undefined {
    return this.#problem
  }

  get differences(): readonly OfferDifference[] {
    return this.#compared?.differences ?? []
  }

  /** What the newer one showed for a capability that is the same there. @param accepted as the call was decided on. */
  fingerprintOf(kind: CapabilityKind, name: string, accepted: string): string | undefined {
    const pair = this.#compared?.same.get(offerKey(kind, name))
    return pair?.from === accepted ? pair.to : undefined
  }

  /** The older one was listed. */
  compareWith(older: PeerListing): void {
    this.#older = older
    this.#compare()
  }

  /** Lists the newer one; one at a time. Never rejects. */
  refresh(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    if (this.#running !== undefined) {
      this.#isStale = true
      return this.#running
    }
    clearTimeout(this.#timer)
    this.#running = this.#listUntilCurrent().finally(() => (this.#running = undefined))
    return this.#running
  }

  /** What it offers may have changed. */
  relist(): void {
    void this.refresh()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #listUntilCurrent(): Promise<void> {
    do {
      this.#isStale = false
      try {
        this.#newer = await this.#list()
        this.#problem = undefined
        this.#pauseMs = this.#firstPauseMs
        this.#compare()
      } catch (error) {
        if (!this.#isClosed) this.#failed(error instanceof Error ? error.message : String(error))
        return
      }
    } while (this.#isStale && !this.#isClosed)
  }

  #failed(why: string): void {
    this.#problem = why
    this.#faults.fault(why)
    if (this.#faults.suspended !== undefined) return
    this.#timer = setTimeout(() => this.relist(), this.#pauseMs)
    this.#timer.unref()
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
  }

  #compare(): void {
    if (this.#older !== undefined && this.#newer !== undefined)
      this.#compared = compareOffers(this.#older, this.#newer)
  }
}
