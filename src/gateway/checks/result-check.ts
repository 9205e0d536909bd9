/**
 * The result check: what a tool says it did against the schema that it promised. A result that breaks it is no success.
 *
 * A tool's own error is its own and looked at by no schema. What cannot be checked, for its schema or for time, passes as it
 * came: unlike arguments, it has happened already.
 *
 * @source MCP 2026-07-28, server, tools, output schema: results must conform, clients should check
 */
import type { Upstream } from '../../core/ports/upstream.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import type { Route } from '../../core/words/route.ts'
import type { DefinitionOf } from './argument-check.ts'
import { type CompileSchema, createCompileSchema } from './compile-schema.ts'
import { createDeadline, DeadlinePassed } from './deadline.ts'
import { sayFaults } from './say-faults.ts'

/** The outcome as it is to be told and recorded. */
export type ResultCheck = (route: Route, outcome: Outcome) => Outcome

const MAX_VALIDATORS = 1000

/** Makes the check. Schemas are compiled once per fingerprint. */
export function createResultCheck(definitionOf: DefinitionOf): ResultCheck {
  const compile = createCompileSchema(createDeadline())
  const validators = new Map<string, ReturnType<CompileSchema> | undefined>()
  const validatorOf = (route: Route): ReturnType<CompileSchema> | undefined => {
    const { fingerprint } = route
    const known = validators.get(fingerprint)
    if (known !== undefined || validators.has(fingerprint)) return known
    const schema = fieldOf(definitionOf(route)?.value(), 'outputSchema')
    const made = schema === undefined ? undefined : compile(schema, false)
    validators.set(fingerprint, made)
    const [oldest] = validators.keys()
    if (validators.size > MAX_VALIDATORS && oldest !== undefined) validators.delete(oldest)
    return made
  }
  return (route, outcome) => {
    if (route.kind !== 'tool' || outcome.state !== 'completed' || outcome.toolError) return outcome
    const validator = validatorOf(route)
    if (validator === undefined || 'refused' in validator) return outcome
    const result = outcome.native.value()
    const fault = isThere(result)
      ? faultOf(validator, fieldOf(result, 'structuredContent'))
      : 'it has no structuredContent'
    if (fault === undefined) return outcome
    return {
      state: 'failed',
      origin: 'protocol',
      ran: 'yes',
      code: 'protocol_violation',
      detail: `${route.peer}/${route.capability} ran, and its result breaks its own schema: ${fault}`,
      native: outcome.native,
    }
  }
}

/** The same upstream, what its tools answer held against what they promised. */
export function checkResults(upstream: Upstream, check: ResultCheck): Upstream {
  return {
    ...upstream,
    call: (call, exchange, dispatched, late) =>
      upstream.call(call, exchange, dispatched, late).then((outcome) => check(call.route, outcome)),
  }
}

function faultOf(
  validator: Exclude<ReturnType<CompileSchema>, { readonly refused: string }>,
  value: unknown,
): string | undefined {
  try {
    const errors = validator.validate(value)
    if (errors.length === 0) return undefined
    return sayFaults(errors, validator.schema)
      .map(({ path, expected }) => `structuredContent${path}: ${expected}`)
      .join('; ')
  } catch (error) {
    if (error instanceof DeadlinePassed || error instanceof RangeError) return undefined
    throw error
  }
}

function isThere(result: unknown): boolean {
  return typeof result === 'object' && result !== null && Object.hasOwn(result, 'structuredContent')
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined
}
