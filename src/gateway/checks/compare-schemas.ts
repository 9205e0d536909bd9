/**
 * Whether a changed input schema takes more or less than before, as far as its form tells.
 *
 * Not a proof: a known keyword that moved one way is counted that way, everything else is `other`. A new optional
 * property is `widened`: there is a place for data that there was not before, which is what a person must see.
 */
import { isObject } from '../../core/words/is-object.ts'
import type { PinClass } from '../../core/words/pin.ts'
import { sameJson } from './same-json.ts'

const TEXT_KEYS = new Set(['title', 'description', 'examples', '$comment', 'default', 'deprecated'])
/** Larger means it takes more, or less. */
const UPPER = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'])
const LOWER = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'])
const SCHEMAS = new Set(['properties', '$defs', 'definitions', 'patternProperties'])
/** Keywords that only narrow: taken away they widen, added they narrow, otherwise nothing is known. */
const NARROWING = new Set(['pattern', 'format', 'multipleOf', 'const', 'uniqueItems', 'not', 'if'])
const MAX_DEPTH = 100

type Change = Extract<PinClass, 'text' | 'widened' | 'narrowed' | 'other'>

/** @returns every class that some part of the change has; empty when the two are equal. */
export function compareSchemas(before: unknown, after: unknown, depth = 0): ReadonlySet<Change> {
  const found = new Set<Change>()
  if (sameJson(before, after)) return found
  const left = asSchema(before)
  const right = asSchema(after)
  if (left === undefined || right === undefined || depth > MAX_DEPTH) {
    found.add('other')
    return found
  }
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    if (sameJson(left[key], right[key])) continue
    for (const change of compareKey(key, left[key], right[key], depth)) found.add(change)
  }
  return found
}

/** `true` is the schema that takes everything. */
function asSchema(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (value === true) return {}
  return isObject(value) ? value : undefined
}

function compareKey(key: string, left: unknown, right: unknown, depth: number): Iterable<Change> {
  if (TEXT_KEYS.has(key)) return ['text']
  if (UPPER.has(key)) return [bound(left, right)]
  if (LOWER.has(key)) return [bound(negated(left), negated(right))]
  if (key === 'required') return opposite(members(left ?? [], right ?? []))
  if (key === 'enum') {
    if (left === undefined) return ['narrowed']
    return right === undefined ? ['widened'] : members(left, right)
  }
  if (key === 'type') return types(left, right)
  if (key === 'additionalProperties' || key === 'unevaluatedProperties') {
    return openness(left, right, depth)
  }
  if (SCHEMAS.has(key)) return named(key, left, right, depth)
  if (key === 'items' && left !== undefined && right !== undefined) {
    return compareSchemas(left, right, depth + 1)
  }
  if (NARROWING.has(key) || key === 'items') {
    if (left === undefined) return ['narrowed']
    return right === undefined ? ['widened'] : ['other']
  }
  return ['other']
}

function bound(left: unknown, right: unknown): Change {
  if (left === undefined) return 'narrowed'
  if (right === undefined) return 'widened'
  if (typeof left !== 'number' || typeof right !== 'number') return 'other'
  return right > left ? 'widened' : 'narrowed'
}

function negated(value: unknown): unknown {
  return typeof value === 'number' ? -value : value
}

/** What a list of allowed things gained or lost. */
function members(left: unknown, right: unknown): Change[] {
  if (!Array.isArray(left) || !Array.isArray(right)) return ['other']
  const has = (list: readonly unknown[], item: unknown): boolean =>
    list.some((other) => sameJson(other, item))
  const changes: Change[] = []
  if (right.some((item: unknown) => !has(left, item))) changes.push('widened')
  if (left.some((item: unknown) => !has(right, item))) changes.push('narrowed')
  return changes
}

function opposite(changes: readonly Change[]): Change[] {
  return changes.map((change) =>
    change === 'widened' ? 'narrowed' : change === 'narrowed' ? 'widened' : change,
  )
}

function types(left: unknown, right: unknown): Change[] {
  if (left === undefined) return ['narrowed']
  if (right === undefined) return ['widened']
  // Every integer is a number.
  const listOf = (value: unknown): unknown[] => {
    const list: unknown[] = Array.isArray(value) ? value : [value]
    return list.includes('number') ? [...list, 'integer'] : list
  }
  return members(listOf(left), listOf(right))
}

/** Left out means open, as `true` does. */
function openness(left: unknown, right: unknown, depth: number): Iterable<Change> {
  const before = left ?? true
  const after = right ?? true
  if (sameJson(before, after)) return []
  if (before === false || after === true) return ['widened']
  if (before === true || after === false) return ['narrowed']
  return compareSchemas(before, after, depth + 1)
}

function named(key: string, left: unknown, right: unknown, depth: number): Iterable<Change> {
  const before = asSchema(left ?? {})
  const after = asSchema(right ?? {})
  if (before === undefined || after === undefined) return ['other']
  const changes = new Set<Change>()
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const had = Object.hasOwn(before, name)
    const has = Object.hasOwn(after, name)
    if (had && has) {
      for (const change of compareSchemas(before[name], after[name], depth + 1)) changes.add(change)
    } else if (key === 'properties') changes.add(has ? 'widened' : 'narrowed')
    // A definition takes nothing by itself: what refers to it is compared where it stands.
    else if (key === 'patternProperties') changes.add('other')
  }
  return changes
}
