/**
 * Whether one call came to the same on two revisions. Pure.
 *
 * What the revisions themselves add to a result is taken away first; what differs between two answers of one revision too (a
 * clock, a counter) says nothing of the other, and is left out by its place.
 */
import { isObject } from '../../core/words/is-object.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import { errorCodeOf } from './judge-outcome.ts'

export interface ComparedAnswers {
  readonly same: boolean
  /** JSON pointers, bounded. */
  readonly places: readonly string[]
  /** Places that were left out. */
  readonly unsteady: number
}

const MOST_PLACES = 50
/** @source MCP 2026-07-28, results and caching hints */
const OF_THE_REVISION = ['resultType', 'ttlMs', 'cacheScope']
const OF_THE_PROTOCOL = 'io.modelcontextprotocol/'
/** @source MCP 2026-07-28, changelog: what was -32002 is -32602 */
const RENUMBERED: Readonly<Record<number, number>> = { [-32_002]: -32_602 }

/** @param again a second answer of the revision of `from`; left out where there is none. */
export function compareAnswers(from: Outcome, to: Outcome, again?: Outcome): ComparedAnswers {
  if (summaryOf(from) !== summaryOf(to)) return { same: false, places: [], unsteady: 0 }
  const before = bodyOf(from)
  const unsteady = again === undefined ? [] : placesBetween(before, bodyOf(again))
  const places = placesBetween(before, bodyOf(to)).filter(
    (place) => !unsteady.some((one) => isWithin(place, one) || isWithin(one, place)),
  )
  return {
    same: places.length === 0,
    places: places.slice(0, MOST_PLACES),
    unsteady: unsteady.length,
  }
}

/** How a call ended, in a few words; equal for what is the same on both revisions. */
export function summaryOf(outcome: Outcome): string {
  if (outcome.state === 'completed')
    return outcome.toolError ? 'completed, the tool reports an error' : 'completed'
  if (outcome.state !== 'failed') return outcome.state
  const code = errorCodeOf(outcome)
  return code === undefined
    ? `failed (${outcome.code})`
    : `failed with error ${RENUMBERED[code] ?? code}`
}

/** Messages of errors are words for people; only their codes are compared. */
function bodyOf(outcome: Outcome): unknown {
  return outcome.state === 'completed' ? withoutRevision(outcome.native.value()) : undefined
}

function withoutRevision(result: unknown): unknown {
  if (!isObject(result)) return result
  const { _meta: meta, ...rest } = result
  const kept = Object.entries(rest).filter(([key]) => !OF_THE_REVISION.includes(key))
  const own = isObject(meta)
    ? Object.entries(meta).filter(([key]) => !key.startsWith(OF_THE_PROTOCOL))
    : []
  return {
    ...Object.fromEntries(kept),
    ...(own.length === 0 ? {} : { _meta: Object.fromEntries(own) }),
  }
}

/** Where two values differ, the deepest places. */
export function placesBetween(one: unknown, other: unknown, at = ''): readonly string[] {
  if (Object.is(one, other)) return []
  if (Array.isArray(one) && Array.isArray(other)) {
    const most = Math.max(one.length, other.length)
    return Array.from({ length: most }, (_, index) => index).flatMap((index) =>
      placesBetween(one[index], other[index], `${at}/${index}`),
    )
  }
  if (isObject(one) && isObject(other) && !Array.isArray(one) && !Array.isArray(other)) {
    const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])].toSorted()
    return keys.flatMap((key) => placesBetween(one[key], other[key], `${at}/${escaped(key)}`))
  }
  return [at === '' ? '/' : at]
}

/** @source RFC 6901, section 3 */
function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1').slice(0, 100)
}

function isWithin(place: string, outer: string): boolean {
  return place === outer || place.startsWith(`${outer}/`)
}
