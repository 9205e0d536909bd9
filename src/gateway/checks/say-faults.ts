/**
 * The validator's errors as faults a model can act on: a JSON pointer and what was expected there, in words.
 *
 * Says nothing of the values that came: those may be secrets. Words of the peer's schema are cut and made visible.
 */
import type { ErrorObject } from 'ajv'
import type { ArgumentFault } from '../../core/ports/checks.ts'
import { createBranches, foldAlternatives, sayAlternatives } from './fold-alternatives.ts'
import { visibleStart } from './visible-text.ts'

/** More than these are not said. */
export const MAX_FAULTS = 8
const MAX_ERRORS = 200
const MAX_LISTED = 10

/**
 * At most eight faults; what `anyOf` and `oneOf` report of all their branches is folded into one.
 *
 * @param schema the one the errors come from, for its references.
 */
export function sayFaults(
  errors: readonly ErrorObject[],
  schema: object,
): readonly ArgumentFault[] {
  const faults: ArgumentFault[] = []
  const seen = new Set<string>()
  const folded = foldAlternatives(errors.slice(0, MAX_ERRORS), createBranches(schema))
  for (const { error, children } of folded) {
    const fault =
      children === undefined ? faultOf(error) : sayAlternatives(error, children, faultOf)
    const key = `${fault.path} ${fault.expected}`
    if (!seen.has(key)) faults.push(fault)
    seen.add(key)
    if (faults.length >= MAX_FAULTS) break
  }
  // Errors never come out as no fault, whatever the folding makes of them.
  if (faults.length === 0) return [{ path: '', expected: 'what its schema says' }]
  return faults
}

function faultOf(error: ErrorObject): ArgumentFault {
  const extra = extraPath(error)
  return {
    path:
      extra === undefined ? error.instancePath : `${error.instancePath}/${escapePointer(extra)}`,
    expected: sayExpected(error),
  }
}

function extraPath({ keyword, params }: ErrorObject): string | undefined {
  const named = params as Readonly<Record<string, unknown>>
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
    case 'dependencies':
      return textOf(named['missingProperty'])
    case 'additionalProperties':
      return textOf(named['additionalProperty'])
    case 'unevaluatedProperties':
      return textOf(named['unevaluatedProperty'])
    default:
      return undefined
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? visibleStart(value, 60) : undefined
}

/** @source RFC 6901, 3 */
function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function sayExpected(error: ErrorObject): string {
  const params = error.params as Readonly<Record<string, unknown>>
  const limit = String(params['limit'])
  switch (error.keyword) {
    case 'required':
      return 'required, it is missing'
    case 'dependentRequired':
    case 'dependencies':
      return `required beside ${visibleStart(String(params['property']), 60)}, it is missing`
    case 'type':
      return sayTypes(params['type'])
    case 'enum':
      return `one of ${listed(params['allowedValues'])}`
    case 'const':
      return `exactly ${listed([params['allowedValue']])}`
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return `a number ${String(params['comparison'])} ${limit}`
    case 'multipleOf':
      return `a multiple of ${String(params['multipleOf'])}`
    case 'minLength':
      return `at least ${limit} characters`
    case 'maxLength':
      return `at most ${limit} characters`
    case 'pattern':
      return `text matching ${visibleStart(String(params['pattern']), 120)}`
    case 'format':
      return `text in the form of a ${visibleStart(String(params['format']), 40)}`
    case 'minItems':
      return `at least ${limit} items`
    case 'maxItems':
    case 'items':
    case 'additionalItems':
      return `at most ${limit} items`
    case 'uniqueItems':
      return 'items that are all different'
    case 'minProperties':
      return `at least ${limit} properties`
    case 'maxProperties':
      return `at most ${limit} properties`
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return sayUnknown(error.parentSchema)
    case 'propertyNames':
      return 'another property name'
    case 'false schema':
      return 'nothing here'
    default:
      return visibleStart(error.message ?? `what ${error.keyword} says`, 160)
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

function sayTypes(types: unknown): string {
  const list: readonly unknown[] = Array.isArray(types) ? types : [types]
  return list.map((type) => TYPES[String(type)] ?? 'another type').join(' or ')
}

function listed(values: unknown): string {
  const list: readonly unknown[] = Array.isArray(values) ? values : []
  const said = list
    .slice(0, MAX_LISTED)
    .map((value) => visibleStart(JSON.stringify(value) ?? 'null', 60))
  return list.length > MAX_LISTED ? `${said.join(', ')} and others` : said.join(', ')
}

function sayUnknown(schema: unknown): string {
  const properties =
    typeof schema === 'object' && schema !== null && 'properties' in schema ? schema.properties : {}
  const known = Object.keys(typeof properties === 'object' && properties !== null ? properties : {})
  if (known.length === 0) return 'no such property'
  const said = known.slice(0, MAX_LISTED).map((name) => visibleStart(name, 60))
  const more = known.length > MAX_LISTED ? ' and others' : ''
  return `no such property; known are ${said.join(', ')}${more}`
}
