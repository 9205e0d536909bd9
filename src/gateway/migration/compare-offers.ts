/**
 * What two revisions of a peer offer, side by side. Pure.
 *
 * Definitions are the same when nothing is left between them but what one of the revisions does not know at all.
 */
import type { OfferDifference } from '../../core/ports/migration.ts'
import type { PeerListing } from '../../core/ports/peer.ts'
import type { Capability, CapabilityKind } from '../../core/words/capability.ts'
import { isObject } from '../../core/words/is-object.ts'
import { diffDefinitions } from '../checks/definition-change.ts'
import { sameJson } from '../checks/same-json.ts'

export interface ComparedOffers {
  /** Capabilities that both offer alike: the fingerprint that each showed, by `offerKey`. */
  readonly same: ReadonlyMap<string, { readonly from: string; readonly to: string }>
  readonly differences: readonly OfferDifference[]
}

/** @source MCP 2026-07-28, changelog: `execution.taskSupport` went with the core tasks of 2025-11-25 */
const OF_ONE_REVISION = ['execution']

/** Names one capability within a listing. */
export function offerKey(kind: CapabilityKind, name: string): string {
  return `${kind} ${name}`
}

/** Compares item by item. */
export function compareOffers(from: PeerListing, to: PeerListing): ComparedOffers {
  const newer = new Map(to.capabilities.map((one) => [offerKey(one.kind, one.name), one]))
  const same = new Map<string, { from: string; to: string }>()
  const differences: OfferDifference[] = []
  for (const one of from.capabilities) {
    const key = offerKey(one.kind, one.name)
    const other = newer.get(key)
    newer.delete(key)
    if (other === undefined) differences.push(differenceOf(one, 'missing', []))
    else if (sameDefinition(one, other))
      same.set(key, { from: one.fingerprint, to: other.fingerprint })
    else differences.push(differenceOf(one, 'changed', linesOf(one, other)))
  }
  for (const one of newer.values()) differences.push(differenceOf(one, 'added', []))
  return { same, differences: [...differences, ...unlike(from, to)] }
}

/** Whether two definitions mean the same to a caller. */
export function sameDefinition(one: Capability, other: Capability): boolean {
  if (one.fingerprint === other.fingerprint) return true
  return sameJson(plain(one), plain(other))
}

function plain({ definition }: Capability): unknown {
  const value = definition.value()
  if (!isObject(value)) return value
  const known = Object.entries(value).filter(([key]) => !OF_ONE_REVISION.includes(key))
  return Object.fromEntries(known)
}

function linesOf(one: Capability, other: Capability): readonly string[] {
  const textOf = ({ definition }: Capability): string =>
    Buffer.from(definition.bytes).toString('utf8')
  return diffDefinitions(textOf(one), textOf(other))
}

function differenceOf(
  { kind, name }: Pick<Capability, 'kind' | 'name'>,
  change: OfferDifference['change'],
  lines: readonly string[],
): OfferDifference {
  return { kind, name, change, lines }
}

/** What is said of the whole: instructions to models, and what could not be read. */
function unlike(from: PeerListing, to: PeerListing): readonly OfferDifference[] {
  const instructions: OfferDifference[] =
    from.instructions === to.instructions
      ? []
      : [{ kind: 'instructions', name: '', change: 'changed', lines: [] }]
  const known = new Set(from.leftOut.map(leftKey))
  const left = to.leftOut
    .filter((one) => !known.has(leftKey(one)))
    .map(({ kind, name, reason }): OfferDifference => ({
      kind,
      name,
      change: 'changed',
      lines: [`left out: ${reason}`],
    }))
  return [...instructions, ...left]
}

function leftKey({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind} ${name}`
}
