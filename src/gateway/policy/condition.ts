/**
 * CEL conditions of rules: parsed and type-checked when the config is loaded, evaluated per call.
 *
 * Whole numbers in arguments are ints, exact to 64 bits; `matches` is RE2. What to do when one throws is policy.ts's.
 */
import { createRequire } from 'node:module'
import type * as cel from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'
import type { JsonText } from '../../core/words/native.ts'
import { celNames, celTokens, renameMatches } from './cel-tokens.ts'
import type { CelToken } from './cel-tokens.ts'

/** What a condition may look at. */
export interface ConditionFacts {
  readonly principal: {
    readonly id: string
    readonly groups: readonly string[]
    readonly via: string
  }
  readonly peer: string
  readonly capability: string
  readonly kind: string
  readonly risk: string
  /** From `celArguments`. */
  readonly arguments: unknown
}

export interface Condition {
  readonly source: string
  /** Whether the outcome may depend on the arguments, or on the risk. */
  readonly usesArguments: boolean
  readonly usesRisk: boolean
  /** @throws Error when it does not come out as true or false. */
  holds(facts: ConditionFacts): boolean
}

const require = createRequire(import.meta.url)
const MAX_SOURCE = 4000
const MAX_PATTERN = 1000
const MATCHES = 'comityMatches'

/**
 * Parses and type-checks one condition.
 *
 * @throws Error saying what is wrong: syntax, an unknown variable, or a condition that is not true or false.
 */
export function parseCondition(source: string): Condition {
  if (source.length > MAX_SOURCE) {
    throw new Error(`expected at most ${MAX_SOURCE} characters, got ${source.length}`)
  }
  const tokens = celTokens(source)
  const environment = createEnvironment()
  const rewritten = renameMatches(source, tokens, MATCHES)
  const checked = environment.check(rewritten)
  if (!checked.valid) throw new Error(sayCelError(checked.error))
  if (checked.type !== 'bool' && checked.type !== 'dyn') {
    throw new Error(`expected a condition that is true or false, this one is ${checked.type}`)
  }
  checkPatterns(tokens, environment)
  const evaluate = environment.parse(rewritten)
  const names = celNames(tokens)
  return {
    source,
    usesArguments: names.has('arguments'),
    usesRisk: names.has('risk'),
    holds: (facts) => {
      const result: unknown = evaluate({ ...facts })
      if (typeof result !== 'boolean') throw new Error('the condition is neither true nor false')
      return result
    },
  }
}

/** A pattern that is written out is compiled at load, so that a bad one is the operator's mistake and not a call's. */
function checkPatterns(tokens: readonly CelToken[], environment: cel.Environment): void {
  for (const [index, token] of tokens.entries()) {
    const before = tokens.slice(Math.max(0, index - 3), index).map(({ text }) => text)
    if (token.kind !== 'text' || before.join(' ') !== '. matches (') continue
    const pattern: unknown = environment.evaluate(token.text)
    if (typeof pattern !== 'string') continue
    try {
      RE2JS.compile(pattern)
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'not understood'
      throw new Error(`expected an RE2 pattern (no look-ahead, no back-references): ${reason}`, {
        cause: error,
      })
    }
  }
}

/** Loaded with the first condition: most rules have none. */
function createEnvironment(): cel.Environment {
  const { Environment } = require('@marcbachmann/cel-js') as typeof cel
  const compiled = new Map<string, RE2JS>()
  return new Environment({ limits: { maxAstNodes: 1000, maxDepth: 64 } })
    .registerVariable({
      name: 'principal',
      schema: { id: 'string', groups: 'list<string>', via: 'string' },
    })
    .registerVariable('peer', 'string')
    .registerVariable('capability', 'string')
    .registerVariable('kind', 'string')
    .registerVariable('risk', 'string')
    .registerVariable('arguments', 'map')
    .registerFunction(`string.${MATCHES}(string): bool`, (text: string, pattern: string) =>
      compilePattern(pattern, compiled).matcher(text).find(),
    )
}

/** A pattern may be built from arguments: the cache is bounded, and RE2 keeps the time linear. */
function compilePattern(pattern: string, compiled: Map<string, RE2JS>): RE2JS {
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  if (pattern.length > MAX_PATTERN) throw new Error('the pattern is too long')
  const made = RE2JS.compile(pattern)
  if (compiled.size >= 16) compiled.clear()
  compiled.set(pattern, made)
  return made
}

function sayCelError(error: unknown): string {
  if (!(error instanceof Error)) return 'the condition does not parse'
  const summary =
    'summary' in error && typeof error.summary === 'string' ? error.summary : undefined
  return (summary ?? error.message.split('\n')[0] ?? '').replaceAll(MATCHES, 'matches')
}

const MIN_INT64 = -(2n ** 63n)
const MAX_INT64 = 2n ** 63n - 1n

/**
 * Arguments as CEL sees them: a whole number is an int when 64 bits hold it, from its digits, not from a double.
 *
 * @param json scanned strictly already.
 */
export function celArguments(json: JsonText): unknown {
  const text = new TextDecoder().decode(json.bytes)
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? celNumber(value, context?.source) : value,
  )
}

function celNumber(value: number, source: string | undefined): number | bigint {
  if (!Number.isInteger(value)) return value
  // 1.0 and 1e3 are whole too; written that way, a double holds them only up to 2^53.
  const exact = source !== undefined && /^-?[0-9]+$/.test(source) ? BigInt(source) : undefined
  if (exact === undefined) return Number.isSafeInteger(value) ? BigInt(value) : value
  return exact >= MIN_INT64 && exact <= MAX_INT64 ? exact : value
}
