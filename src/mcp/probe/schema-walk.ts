/**
 * A walk over every subschema of a JSON Schema, each with where it is: for checks of keywords, not of values. Bounded; follows no
 * reference.
 *
 * @source JSON Schema 2020-12, core 10 and validation; draft-07 for `definitions` and `dependencies`.
 */
import { isObject } from '../../core/words/is-object.ts'

/** One subschema. */
export interface SchemaPart {
  readonly schema: Readonly<Record<string, unknown>>
  /** JSON pointer, empty for the root. */
  readonly at: string
  /** Objects and arrays around it, as models count levels. */
  readonly depth: number
  readonly steps: number
}

const ONE = new Set([
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
])
const MANY = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'])
const NAMED = new Set([
  '$defs',
  'definitions',
  'dependentSchemas',
  'patternProperties',
  'properties',
])
/** A value of these lies one level deeper. */
const DEEPER = new Set([
  'additionalProperties',
  'items',
  'patternProperties',
  'prefixItems',
  'properties',
])
const MOST_PARTS = 5_000
/** Steps from the root: what lies deeper is not walked. */
const MOST_STEPS = 256

/** @returns all of them, the root first. @param most larger schemas are cut there. */
export function partsOf(schema: unknown, most = MOST_PARTS): readonly SchemaPart[] {
  if (!isObject(schema)) return []
  const parts: SchemaPart[] = []
  const open: SchemaPart[] = [{ schema, at: '', depth: 0, steps: 0 }]
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    parts.push(part)
    if (parts.length + open.length > most || part.steps >= MOST_STEPS) continue
    open.push(...below(part).toReversed())
  }
  return parts
}

function below({ schema, at, depth, steps }: SchemaPart): SchemaPart[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const inner = DEEPER.has(keyword) ? depth + 1 : depth
    const part = (one: unknown, path: string): SchemaPart[] =>
      isObject(one) ? [{ schema: one, at: `${at}/${path}`, depth: inner, steps: steps + 1 }] : []
    if (MANY.has(keyword) && Array.isArray(value)) {
      return value.slice(0, 500).flatMap((one, index) => part(one, `${keyword}/${index}`))
    }
    if (ONE.has(keyword)) return part(value, keyword)
    if (!NAMED.has(keyword) || !isObject(value)) return []
    return Object.entries(value).flatMap(([name, one]) => part(one, `${keyword}/${escaped(name)}`))
  })
}

/** A reference that the schema does not hold itself, if there is one. */
export function externalReference(parts: readonly SchemaPart[]): string | undefined {
  const ids = new Set(parts.map(({ schema: { $id } }) => $id))
  for (const { schema: part } of parts) {
    for (const key of ['$ref', '$dynamicRef']) {
      const target = part[key]
      if (typeof target !== 'string' || target.startsWith('#')) continue
      const [document = ''] = target.split('#')
      if (!ids.has(document) && !ids.has(target)) return target
    }
  }
  return undefined
}

/** Whether a part of the schema refers to one that it lies in. */
export function isRecursive(parts: readonly SchemaPart[]): boolean {
  return parts.some(({ schema: { $ref }, at }) => {
    if ($ref === '#') return true
    if (typeof $ref !== 'string' || !$ref.startsWith('#/')) return false
    const target = $ref.slice(1)
    return at === target || at.startsWith(`${target}/`)
  })
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1').slice(0, 100)
}
