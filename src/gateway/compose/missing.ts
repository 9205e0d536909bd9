/**
 * What one principal may know of peers that gave nothing, or not all: hidden looks unknown here too.
 *
 * A peer is named to whom something of it is visible. What it said when it failed may hold anything, so callers from
 * elsewhere are told only that it was not reached; the whole reason is for this machine's user.
 */
import type { ListKind } from '../../core/ports/catalogue.ts'
import type { PolicyCheck } from '../../core/ports/checks.ts'
import type { CapabilityKind } from '../../core/words/capability.ts'
import type { Principal } from '../../core/words/principal.ts'
import { type Clash, bareCapability, routeOf } from './route-table.ts'
import type { Slot } from './slots.ts'

/** Something that is missing in a list. */
export interface Missing {
  readonly peer: string
  readonly reason: string
}

const KINDS: readonly CapabilityKind[] = ['tool', 'resource', 'template', 'prompt', 'agent']

/** Whether anything this peer offers is visible to the principal; where that is not known yet, whether something could be. */
export function knowsPeer(
  policy: PolicyCheck,
  principal: Principal,
  { peer, listing }: Slot,
): boolean {
  const known = listing?.capabilities ?? []
  if (known.length > 0)
    return known.some((capability) =>
      policy.visible(principal, routeOf(peer, capability, capability.name)),
    )
  if (principal.via !== 'token') return true
  return KINDS.some((kind) => knowsCapability(policy, principal, { peer, kind, name: '' }))
}

/** Peers that cannot be listed and capabilities that were left out of one kind's list, as this principal is told of them. */
export function missingFor(
  principal: Principal,
  kind: ListKind,
  from: {
    readonly policy: PolicyCheck
    /** The peers this principal may know of. */
    readonly known: readonly Slot[]
    readonly clashes: readonly Clash[]
  },
): readonly Missing[] {
  const { policy, known, clashes } = from
  return known.flatMap((slot) => [
    ...peerMissing(principal, slot),
    ...leftOutOf(slot, clashes, principal)
      .filter((left) => kindMatches(left.kind, kind))
      .filter((left) => knowsCapability(policy, principal, { ...left, peer: slot.peer }))
      .map(({ name, reason }) => ({ peer: slot.peer.name, reason: `${name}: ${reason}` })),
  ])
}

function peerMissing({ via }: Principal, { peer, listing, error, done }: Slot): readonly Missing[] {
  if (error !== undefined)
    return [{ peer: peer.name, reason: via === 'token' ? 'not reached' : error }]
  return !done && listing === undefined ? [{ peer: peer.name, reason: 'still starting' }] : []
}

interface Left {
  readonly kind: CapabilityKind
  readonly name: string
  readonly reason: string
}

function leftOutOf(
  { peer, listing }: Slot,
  clashes: readonly Clash[],
  { via }: Principal,
): readonly Left[] {
  const clashed = clashes
    .filter((clash) => clash.peer === peer.name)
    // The holder of the name may be hidden.
    .map((clash) => (via === 'token' ? { ...clash, reason: 'its exposed name is taken' } : clash))
  return [...(listing?.leftOut ?? []), ...clashed]
}

function knowsCapability(
  policy: PolicyCheck,
  principal: Principal,
  of: { readonly peer: Slot['peer']; readonly kind: CapabilityKind; readonly name: string },
): boolean {
  const { peer, kind, name } = of
  return policy.visible(principal, routeOf(peer, bareCapability(peer, kind, name), name))
}

function kindMatches(left: CapabilityKind, kind: ListKind): boolean {
  return left === kind || (left === 'agent' && kind === 'tool')
}
