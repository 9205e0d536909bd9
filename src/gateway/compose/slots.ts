/**
 * Each peer's place in the catalogue: its listing as it comes, changes and goes.
 *
 * A peer that cannot be listed is tried again in the background, ever less often; what it offered before stays known, so
 * that a call by its name is told what is wrong with the peer instead of "unknown".
 */
import type { Peer, PeerListing } from '../../core/ports/peer.ts'
import type { Capability, LeftOut } from '../../core/words/capability.ts'
import { ComityError } from '../../core/words/errors.ts'
import { riskOf } from '../../core/words/risk.ts'
import type { ListingKeeper } from './kept-listing.ts'

export interface Slot {
  readonly peer: Peer
  listing?: PeerListing
  /** The listing that stands is of an earlier run, when the peer was last listed: ISO string. Nothing is called by it. */
  storedAt?: string
  error?: string
  /** The first listing, ready or failed. Never rejects. */
  readonly first: Promise<void>
  /** The first listing, or the new one of a peer that stood; a retry is not waited for. Never rejects. */
  settled: Promise<void>
  /** The first listing is over. */
  done: boolean
  /** When the listing that stands was asked for, in milliseconds that only grow. */
  listedAt?: number
}

export interface Slots {
  readonly all: readonly Slot[]
  /** Lists peers anew, in the background, whose listing is older than they said it would stand. */
  renew(): void
  /** Waits for a first ready peer, then a little for the rest. */
  patient(): Promise<void>
  /** Waits until every peer was ready or failed once, at most `timeoutMs`. */
  settledOnce(timeoutMs: number): Promise<void>
  /** Waits beyond that for new listings of peers that stood. */
  settled(timeoutMs: number): Promise<void>
  close(): void
}

export interface Patience {
  /** How long after a first one is ready lists wait for peers that are still starting, milliseconds. */
  readonly patienceMs: number
  /** How long it waits when none is ready yet, or a name is asked for whose peer is starting, milliseconds. */
  readonly firstMs: number
}

/** Records a first sight, or how a definition stands to the accepted one; each is on record before anyone sees the listing. */
export type Sight = (peer: Peer, capability: Capability) => Promise<unknown>

export interface SlotPorts {
  /** Called for each capability of each new listing, before anyone sees it. */
  readonly sight: Sight
  /** Called after each. */
  changed(): void
  /** Where listings are kept for the next run. Left out: nowhere. */
  readonly keeper?: ListingKeeper
}

const FIRST_RETRY_MS = 2_000
const LONGEST_RETRY_MS = 60_000

/**
 * Starts every peer at once, in the background; what each offered last stands until it is there.
 *
 * @param patience how long lists wait for peers of which nothing is kept.
 */
export function openSlots(peers: readonly Peer[], patience: Patience, ports: SlotPorts): Slots {
  const kept = peers.map((peer) => keepListed(peer, ports))
  const all = kept.map(({ slot }) => slot)
  const settledOnce = (): Promise<unknown> => Promise.all(all.map((slot) => slot.first))
  // Waited out once, and together: a peer that hangs costs not everyone who asks, each time.
  let patientUntil: number | undefined
  void firstReady(all).then(() => (patientUntil = performance.now() + patience.patienceMs))

  return {
    all,
    renew() {
      for (const { renew } of kept) renew()
    },
    async patient() {
      const unknown = all.filter((slot) => !slot.done && slot.listing === undefined)
      // Nearly always; waiting for what is over costs more than the list.
      if (unknown.length === 0) return
      await within(patience.firstMs, firstReady(all))
      const leftMs = (patientUntil ?? Infinity) - performance.now()
      if (leftMs <= 0) return
      await within(
        Math.min(leftMs, patience.patienceMs),
        Promise.all(unknown.map((slot) => slot.first)),
      )
    },
    settledOnce: (timeoutMs) => within(timeoutMs, settledOnce()),
    settled: (timeoutMs) => within(timeoutMs, Promise.all(all.map((slot) => slot.settled))),
    close() {
      for (const { close } of kept) close()
    },
  }
}

/** One peer, listed now, at every change and, while it fails, ever less often. One listing at a time, one retry due. */
function keepListed(
  peer: Peer,
  { sight, changed, keeper }: SlotPorts,
): { readonly slot: Slot; renew(): void; close(): void } {
  let timer: NodeJS.Timeout | undefined
  let pauseMs = FIRST_RETRY_MS
  let running = false
  let again = false
  let closed = false
  let firstOver: () => void = () => undefined
  const first = new Promise<void>((resolve) => (firstOver = resolve))
  const kept = keeper?.find(peer)
  const stored = kept === undefined ? {} : { listing: kept.listing, storedAt: kept.at }
  const slot: Slot = { peer, first, settled: first, done: false, ...stored }

  const listUntilCurrent = async (): Promise<void> => {
    let failed: boolean
    do {
      again = false
      const before = { ...slot }
      failed = await loadListing(slot, sight)
      if (!failed && slot.listing !== undefined && !saysTheSame(before, slot))
        keeper?.keep(peer, slot.listing)
      slot.done = true
      firstOver()
      // A listing that only grew old and says the same is no news: callers would list for nothing.
      if (!closed && !saysTheSame(before, slot)) changed()
      // What fails is not asked again at once, however often it says that it changed.
    } while (again && !failed && !closed)
    running = false
    if (closed) return
    if (!failed) {
      pauseMs = FIRST_RETRY_MS
      return
    }
    timer = setTimeout(load, pauseMs)
    timer.unref()
    pauseMs = Math.min(pauseMs * 2, LONGEST_RETRY_MS)
  }
  const load = (): void => {
    again = true
    if (running || closed) return
    clearTimeout(timer)
    running = true
    const ended = listUntilCurrent()
    if (slot.error === undefined) slot.settled = ended
  }
  load()
  const stop = peer.onChanged(load)
  return {
    slot,
    renew() {
      if (!running && isOld(slot)) load()
    },
    close() {
      closed = true
      clearTimeout(timer)
      stop()
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

/** @returns whether the peer is to be asked again although nothing changed. */
async function loadListing(slot: Slot, sight: Sight): Promise<boolean> {
  try {
    const listedAt = performance.now()
    const { listing, unrecorded } = await recordSights(slot.peer, await slot.peer.listing(), sight)
    slot.listing = listing
    slot.listedAt = listedAt
    delete slot.storedAt
    delete slot.error
    return unrecorded
  } catch (error) {
    slot.error = sayFault(error)
    return true
  }
}

function isOld({ listing, listedAt, error }: Slot): boolean {
  // What failed is tried again in its own time.
  if (listing?.freshForMs === undefined || listedAt === undefined || error !== undefined)
    return false
  return performance.now() - listedAt >= listing.freshForMs
}

function saysTheSame(before: Slot, now: Slot): boolean {
  if (before.done !== now.done || before.error !== now.error) return false
  if (before.storedAt !== now.storedAt) return false
  return textOf(before.listing) === textOf(now.listing)
}

/** Everything that a list could show of it. */
function textOf(listing: PeerListing | undefined): string {
  if (listing === undefined) return ''
  const { capabilities, leftOut, instructions, features } = listing
  const shown = capabilities.map(({ kind, name, fingerprint }) => [kind, name, fingerprint])
  return JSON.stringify([shown, leftOut, instructions, features?.tasks])
}

/** While the record takes nothing, reads go on: they are listed unseen. What has effects would be refused, and is left out. */
async function recordSights(
  peer: Peer,
  listing: PeerListing,
  sight: Sight,
): Promise<{ readonly listing: PeerListing; readonly unrecorded: boolean }> {
  const capabilities: Capability[] = []
  const leftOut: LeftOut[] = [...listing.leftOut]
  let unrecorded = false
  const recorded = await Promise.allSettled(
    listing.capabilities.map((capability) => sight(peer, capability)),
  )
  for (const [index, capability] of listing.capabilities.entries()) {
    const record = recorded[index]
    const fault: unknown = record?.status === 'rejected' ? record.reason : undefined
    const unwritable = fault instanceof ComityError && fault.code === 'store_unwritable'
    unrecorded ||= unwritable
    const reads = riskOf(capability.kind, capability.hints, peer.trusted) === 'read'
    if (fault === undefined || (unwritable && reads)) capabilities.push(capability)
    else {
      const reason = `its definition could not be recorded: ${sayFault(fault)}`
      leftOut.push({ peer: peer.name, kind: capability.kind, name: capability.name, reason })
    }
  }
  return { listing: { ...listing, capabilities, leftOut }, unrecorded }
}

function sayFault(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault)
}

/** Resolves when one peer is ready, or when none can be any more. */
async function firstReady(all: readonly Slot[]): Promise<void> {
  const ready = all.map(async (slot) => {
    if (slot.listing === undefined) await slot.first
    if (slot.listing === undefined || slot.error !== undefined) throw new Error('not ready')
  })
  await Promise.any(ready).catch(() => undefined)
}
