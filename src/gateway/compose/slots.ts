/**
 * Each peer's place in the catalogue: its listing as it comes, changes and goes.
 *
 * A peer that cannot be listed is tried again in the background, ever less often; what it offered before stays known, so
 * that a call by its name is told what is wrong with the peer instead of "unknown".
 */
import type { Peer, PeerListing } from '../../core/ports/peer.ts'
import type { Capability } from '../../core/words/capability.ts'

export interface Slot {
  readonly peer: Peer
  listing?: PeerListing
  error?: string
  /** The listing under way, or the last one. Never rejects. */
  settled: Promise<void>
  done: boolean
}

export interface Slots {
  readonly all: readonly Slot[]
  /** Waits for a first ready peer, then a little for the rest. */
  patient(): Promise<void>
  /** Waits until every peer is ready or failed, at most `timeoutMs`. */
  settled(timeoutMs: number): Promise<void>
  close(): void
}

export interface Patience {
  /** How long a list waits for peers that are still starting once one is ready, milliseconds. */
  readonly patienceMs: number
  /** How long it waits when none is ready yet, or a name is asked for whose peer is starting, milliseconds. */
  readonly firstMs: number
}

/** Records a first sight, or how a definition stands to the accepted one; each is on record before anyone sees the listing. */
export type Sight = (peer: Peer, capability: Capability) => Promise<unknown>

const FIRST_RETRY_MS = 2_000
const LONGEST_RETRY_MS = 60_000

/**
 * Starts every peer at once, in the background.
 *
 * @param sight called for each capability of each new listing, before anyone sees it.
 * @param changed called after each.
 */
export function openSlots(
  peers: readonly Peer[],
  patience: Patience,
  sight: Sight,
  changed: () => void,
): Slots {
  const all: Slot[] = peers.map((peer) => ({ peer, settled: Promise.resolve(), done: false }))
  const timers = new Set<NodeJS.Timeout>()
  let closed = false

  const load = (slot: Slot, retryMs: number): void => {
    slot.done = false
    slot.settled = loadListing(slot, sight).then(() => {
      slot.done = true
      if (closed) return
      changed()
      if (slot.error === undefined) return
      const timer = setTimeout(() => {
        timers.delete(timer)
        load(slot, Math.min(retryMs * 2, LONGEST_RETRY_MS))
      }, retryMs)
      timer.unref()
      timers.add(timer)
    })
  }
  const stops = all.map((slot) => {
    load(slot, FIRST_RETRY_MS)
    return slot.peer.onChanged(() => load(slot, FIRST_RETRY_MS))
  })
  const settled = (): Promise<unknown> => Promise.all(all.map((slot) => slot.settled))

  return {
    all,
    async patient() {
      await within(patience.firstMs, firstReady(all))
      await within(patience.patienceMs, settled())
    },
    settled: (timeoutMs) => within(timeoutMs, settled()),
    close() {
      closed = true
      for (const timer of timers) clearTimeout(timer)
      for (const stop of stops) stop()
    },
  }
}

/** Waits for `promise`, at most `ms`. */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([promise, late])
  clearTimeout(timer)
}

async function loadListing(slot: Slot, sight: Sight): Promise<void> {
  try {
    const listing = await slot.peer.listing()
    await Promise.all(listing.capabilities.map((capability) => sight(slot.peer, capability)))
    slot.listing = listing
    delete slot.error
  } catch (error) {
    slot.error = error instanceof Error ? error.message : String(error)
  }
}

/** Resolves when one peer is ready, or when none can be any more. */
async function firstReady(all: readonly Slot[]): Promise<void> {
  const ready = all.map(async (slot) => {
    await slot.settled
    if (slot.listing === undefined) throw new Error('not ready')
  })
  await Promise.any(ready).catch(() => undefined)
}
