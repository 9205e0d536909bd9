/**
 * `comity compat`: what would be different for callers if this server was spoken to by another revision.
 *
 * Two connections of its own, closed at the end; nothing is called but what only reads.
 */
import type { OfferDifference } from '../../core/ports/migration.ts'
import type { PeerListing } from '../../core/ports/peer.ts'
import type { Upstream } from '../../core/ports/upstream.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import { ComityError } from '../../core/words/errors.ts'
import type { Live } from '../admin/operator.ts'
import type { HostParts } from '../admin/parts.ts'
import type { LockedPeer } from '../compose/peers.ts'
import { STABLE_REVISION } from '../config/check-canary.ts'
import { MCP_REVISIONS } from '../config/config.ts'
import { addUses } from './add-uses.ts'
import { compareClaims } from './compare-claims.ts'
import { compareOffers, sameDefinition } from './compare-offers.ts'
import { serverOf } from './decide.ts'
import { findRecordedReads } from './recorded-reads.ts'
import { type Replay, replayReads } from './replay.ts'
import type { ComparedSide, CompatInput, CompatReport } from './words.ts'

const DEFAULT_CALLS = 20
const MOST_CALLS = 500
const NEWEST: string = MCP_REVISIONS[0]
const UNKEPT = 'their arguments are not kept (above 4 KiB, or deleted)'
const NOTHING: Replay = { calls: { replayed: 0, same: 0, different: [], left: [], unsteady: 0 } }

/** @throws ComityError `not_found`, `usage` */
export async function compareRevisions(
  parts: HostParts,
  input: CompatInput,
  live: Live,
): Promise<CompatReport> {
  const { name, revision, canary } = serverOf(parts, input.peer)
  const to = knownRevision(input.to ?? canary?.revision ?? NEWEST)
  const own = revision === undefined || revision === to ? STABLE_REVISION : revision
  const from = knownRevision(input.from ?? own)
  if (from === to)
    throw new ComityError('usage', `expected two revisions to compare, got ${from} twice`)
  const sides = [await reach(parts, name, from), await reach(parts, name, to)] as const
  try {
    return await compareSides(parts, input, sides, live)
  } finally {
    await Promise.all(sides.map(({ looked }) => looked.peer.close()))
  }
}

interface Side {
  readonly revision: string
  readonly looked: LockedPeer
  readonly listing?: PeerListing
  readonly problem?: string
}

async function compareSides(
  parts: HostParts,
  { peer, calls = DEFAULT_CALLS }: CompatInput,
  [from, to]: readonly [Side, Side],
  live: Live,
): Promise<CompatReport> {
  const isReached = from.listing !== undefined && to.listing !== undefined
  const claims = isReached
    ? compareClaims(from.looked.declared() ?? {}, to.looked.declared() ?? {})
    : []
  const offers = isReached
    ? compareOffers(from.listing, to.listing)
    : { same: new Map<string, unknown>(), differences: [] as readonly OfferDifference[] }
  await parts.store.flush()
  const wanted = Math.min(Math.max(calls, 0), MOST_CALLS)
  const { reads, unkept } = findRecordedReads(parts.store, peer, wanted)
  const replay = isReached
    ? await replayReads(parts, peer, reads, [sideOf(parts, from), sideOf(parts, to)], live)
    : NOTHING
  const isSame =
    claims.every(({ ofRevision }) => ofRevision !== undefined) &&
    offers.differences.length === 0 &&
    replay.calls.different.length === 0
  const left = unkept === 0 ? [] : [{ reason: UNKEPT, count: unkept }]
  return {
    peer,
    verdict: isReached ? (isSame ? 'same' : 'different') : 'could_not',
    from: describe(from, replay.fromMs),
    to: describe(to, replay.toMs),
    claims,
    offers: { same: offers.same.size, different: offers.differences },
    calls: {
      found: reads.length,
      ...replay.calls,
      left: [...replay.calls.left, ...left],
    },
    deprecated: usedBy(parts, peer, [from, to]),
  }
}

/** Never rejects for what the server does. */
async function reach(parts: HostParts, name: string, revision: string): Promise<Side> {
  const looked = parts.lockedAt(name, revision)
  if (looked === undefined) throw new ComityError('internal', `${name} cannot be made`)
  try {
    return { revision, looked, listing: await looked.peer.listing() }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { revision, looked, problem }
  }
}

function sideOf(
  parts: HostParts,
  { revision, looked, listing }: Side,
): { readonly revision: string; readonly dispatch: ReturnType<HostParts['dispatchThrough']> } {
  const { upstream } = looked.peer
  const own: Upstream = {
    call: (call, ...rest) => upstream.call(asShown(parts, call, listing), ...rest),
  }
  return { revision, dispatch: parts.dispatchThrough(own) }
}

/** Under the fingerprint that this revision showed, where both mean the same: else it is refused unsent. */
function asShown(
  { catalogue }: HostParts,
  call: OutboundCall,
  listing: PeerListing | undefined,
): OutboundCall {
  const { route } = call
  const { kind, name } = route.pinned ?? { kind: route.kind, name: route.capability }
  const accepted = catalogue.definitionOf(route)
  const shown = listing?.capabilities.find((one) => one.kind === kind && one.name === name)
  if (accepted === undefined || shown === undefined || !sameDefinition(accepted, shown)) return call
  return { ...call, route: { ...route, fingerprint: shown.fingerprint } }
}

function describe({ revision, looked, problem }: Side, medianMs: number | undefined): ComparedSide {
  const { callsItself } = looked.peer.report()
  return {
    revision,
    ...(problem === undefined ? {} : { problem }),
    ...(callsItself === undefined ? {} : { callsItself }),
    ...(medianMs === undefined ? {} : { medianMs }),
  }
}

/** By the two connections, and by the one that callers are served through. */
function usedBy(
  { peers }: HostParts,
  peer: string,
  sides: readonly Side[],
): CompatReport['deprecated'] {
  const served = peers.find(({ name }) => name === peer)
  return addUses(
    [...sides.map(({ looked }) => looked.peer), served].flatMap((one) => one?.deprecated?.() ?? []),
  )
}

function knownRevision(revision: string | undefined): string {
  const known = MCP_REVISIONS.find((one) => one === revision)
  if (known !== undefined) return known
  throw new ComityError(
    'usage',
    `expected a revision, one of ${MCP_REVISIONS.join(', ')}; got ${String(revision).slice(0, 40)}`,
  )
}
