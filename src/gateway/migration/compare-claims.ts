/** What a server declares of itself on two revisions, item by item. Pure. */
import { isObject } from '../../core/words/is-object.ts'
import { sameJson } from '../checks/same-json.ts'
import type { ClaimDifference } from './words.ts'

type Claims = Readonly<Record<string, unknown>>

const MOST = 200
const MOVED = 'core tasks of 2025-11-25 are an extension in 2026-07-28'
/** What only one revision has a place for. @source MCP 2026-07-28, changelog */
const OF_REVISION: readonly (readonly [RegExp, string])[] = [
  [/^tasks(\.|$)/u, MOVED],
  [/^extensions\.io\.modelcontextprotocol\/tasks$/u, MOVED],
]

/** @returns in the order of their names. */
export function compareClaims(from: Claims, to: Claims): readonly ClaimDifference[] {
  const before = itemsOf(from)
  const after = itemsOf(to)
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted().slice(0, MOST)
  return names.flatMap((name): ClaimDifference[] => {
    const [one, other] = [before.get(name), after.get(name)]
    if (sameJson(one, other)) return []
    const ofRevision = OF_REVISION.find(([pattern]) => pattern.test(name))?.[1]
    return [
      {
        name,
        ...(one === undefined ? {} : { from: said(one) }),
        ...(other === undefined ? {} : { to: said(other) }),
        ...(ofRevision === undefined ? {} : { ofRevision }),
      },
    ]
  })
}

/** A capability, and each of its settings. `false` says the same as nothing. */
function itemsOf(claims: Claims): ReadonlyMap<string, unknown> {
  const items = new Map<string, unknown>()
  for (const [name, value] of Object.entries(claims)) {
    if (!isObject(value)) {
      items.set(name, value)
      continue
    }
    if (name !== 'extensions' && name !== 'experimental') items.set(name, true)
    for (const [key, setting] of Object.entries(value))
      if (setting !== false) items.set(`${name}.${key}`, setting)
  }
  return items
}

function said(value: unknown): string {
  return value === true ? 'declared' : (JSON.stringify(value) ?? '').slice(0, 200)
}
