/**
 * The argument check: a tool's arguments against its full schema, as the peer sent it; a prompt's against its list.
 *
 * What cannot be checked is refused with the reason: a call never leaves unchecked. Resources and agents have no schema.
 */
import type { ArgumentCheck, ArgumentFault } from '../../core/ports/checks.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Route } from '../../core/words/route.ts'
import { type CompileSchema, createCompileSchema } from './compile-schema.ts'
import { createDeadline, DeadlinePassed } from './deadline.ts'
import { MAX_FAULTS, sayFaults } from './say-faults.ts'
import { visibleStart } from './visible-text.ts'

/** The capability's definition as the peer sent it; undefined when it is not known (any more). */
export type DefinitionOf = (route: Route) => JsonText | undefined

interface Validator {
  /** Counts up with each use of any: the lowest was unused longest. */
  usedAt: number
  /** Stops at the first fault: for every call. */
  readonly first: ReturnType<CompileSchema>
  readonly madeAt: number
  /** Finds all: compiled when a call first failed. */
  all?: ReturnType<CompileSchema>
}

const NO_FAULTS: readonly ArgumentFault[] = []
const MAX_VALIDATORS = 1000
/** A schema refused by the clock is compiled again after this pause: the moment may have been slow, not the schema. */
const LATE_PAUSE_MS = 10_000
/** Finding every fault of a large value is the caller's to pay for, not ours. */
const MAX_BYTES_FOR_ALL = 256 * 1024

function isDueAgain({ first, madeAt }: Validator): boolean {
  return 'refused' in first && first.late === true && performance.now() - madeAt > LATE_PAUSE_MS
}

/** Makes the check. Schemas are compiled once per fingerprint. */
export function createArgumentCheck(definitionOf: DefinitionOf): ArgumentCheck {
  const compile = createCompileSchema(createDeadline())
  const validators = new Map<string, Validator>()
  let uses = 0

  const validatorOf = (fingerprint: string, definition: JsonText): Validator => {
    const known = validators.get(fingerprint)
    uses += 1
    if (known !== undefined && !isDueAgain(known)) {
      known.usedAt = uses
      return known
    }
    const schema = schemaOf(definition)
    const made = { first: compile(schema, false), madeAt: performance.now(), usedAt: uses }
    if (validators.size >= MAX_VALIDATORS) forgetOldest(validators)
    validators.set(fingerprint, made)
    return made
  }

  const checkTool = (route: Route, args: JsonText): readonly ArgumentFault[] => {
    const definition = definitionOf(route)
    if (definition === undefined) return refuse('its definition is not known')
    const validator = validatorOf(route.fingerprint, definition)
    if ('refused' in validator.first) return refuse(validator.first.refused)
    try {
      const errors = validator.first.validate(args.value())
      if (errors.length === 0) return NO_FAULTS
      if (args.bytes.length > MAX_BYTES_FOR_ALL) return sayFaults(errors, validator.first.schema)
      validator.all ??= compile(schemaOf(definition), true)
      if ('refused' in validator.all) return sayFaults(errors, validator.first.schema)
      return sayFaults(validator.all.validate(args.value()), validator.all.schema)
    } catch (error) {
      if (error instanceof DeadlinePassed) {
        return refuse(`checking them by its schema ${error.message}`)
      }
      // A recursive schema follows the arguments down until the stack ends.
      if (error instanceof RangeError) return refuse('they are nested too deeply for its schema')
      throw error
    }
  }

  return {
    check: (route, args) => {
      switch (route.kind) {
        case 'tool':
          return checkTool(route, args)
        case 'prompt':
          return checkPrompt(definitionOf(route), args)
        case 'resource':
        case 'template':
        case 'agent':
          return NO_FAULTS
      }
    },
  }
}

function schemaOf(definition: JsonText): unknown {
  return fieldOf(definition.value(), 'inputSchema')
}

function forgetOldest(validators: Map<string, Validator>): void {
  let oldest: readonly [string, Validator] | undefined
  for (const one of validators)
    if (oldest === undefined || one[1].usedAt < oldest[1].usedAt) oldest = one
  if (oldest !== undefined) validators.delete(oldest[0])
}

/** Nothing is wrong with the arguments as far as is known: they cannot be checked. */
function refuse(reason: string): readonly ArgumentFault[] {
  return [{ path: '', expected: `arguments that can be checked; ${reason}` }]
}

/** @source MCP 2026-07-28, server/prompts: arguments are named texts, some required */
function checkPrompt(definition: JsonText | undefined, args: JsonText): readonly ArgumentFault[] {
  if (definition === undefined) return refuse('its definition is not known')
  const given = args.value()
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return [{ path: '', expected: 'an object' }]
  }
  const listed = fieldOf(definition.value(), 'arguments')
  const required = (Array.isArray(listed) ? listed : [])
    .filter((argument: unknown) => fieldOf(argument, 'required') === true)
    .map((argument: unknown) => String(fieldOf(argument, 'name')))
  const missing = required
    .filter((name) => !Object.hasOwn(given, name))
    .map((name) => ({ path: pointer(name), expected: 'required, it is missing' }))
  const notText = Object.entries(given)
    .filter(([, value]) => typeof value !== 'string')
    .map(([name]) => ({ path: pointer(name), expected: 'text' }))
  return [...missing, ...notText].slice(0, MAX_FAULTS)
}

function pointer(name: string): string {
  return `/${visibleStart(name, 60).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined
}
