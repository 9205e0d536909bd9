/**
 * Features of the protocol that are deprecated or gone, counted where the wire shows them in use: what a server only declares is
 * none of it.
 *
 * @source MCP 2026-07-28, deprecated features and changelog; 2025-03-26, changelog (HTTP+SSE).
 */
import type { DeprecatedUse } from '../../core/ports/migration.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import type { Question } from '../../core/words/question.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { RpcError, RpcResult } from '../wire/json-rpc.ts'

type Facts = Pick<DeprecatedUse, 'feature' | 'state' | 'since' | 'removal' | 'instead'>

const A_YEAR = 'not before the first revision from 2027-07-28 on'

/** What is deprecated, since when, and what to use instead. */
export const DEPRECATED = {
  roots: {
    feature: 'roots',
    state: 'deprecated',
    since: '2026-07-28',
    removal: A_YEAR,
    instead: 'arguments or resource URIs that name the folders',
  },
  sampling: {
    feature: 'sampling',
    state: 'deprecated',
    since: '2026-07-28',
    removal: A_YEAR,
    instead: "the server's own access to a model",
  },
  includeContext: {
    feature: 'sampling with includeContext',
    state: 'deprecated',
    since: '2025-11-25',
    removal: 'with sampling',
    instead: 'leaving includeContext out',
  },
  logging: {
    feature: 'logging',
    state: 'deprecated',
    since: '2026-07-28',
    removal: A_YEAR,
    instead: 'standard error, or OpenTelemetry',
  },
  httpSse: {
    feature: 'HTTP+SSE transport',
    state: 'deprecated',
    since: '2025-03-26',
    removal: 'three months after SEP-2596 is final',
    instead: 'Streamable HTTP',
  },
  sessions: {
    feature: 'sessions (Mcp-Session-Id)',
    state: 'gone',
    since: '2026-07-28',
    instead: 'requests that stand alone, and handles in arguments and results',
  },
  coreTasks: {
    feature: 'core tasks of 2025-11-25',
    state: 'gone',
    since: '2026-07-28',
    instead: 'the extension io.modelcontextprotocol/tasks',
  },
  urlError: {
    feature: 'error -32042 (an address to open)',
    state: 'gone',
    since: '2026-07-28',
    instead: 'a result input_required with a question of mode url',
  },
  notFoundError: {
    feature: 'error -32002 (resource not found)',
    state: 'gone',
    since: '2026-07-28',
    instead: 'error -32602',
  },
} as const satisfies Readonly<Record<string, Facts>>

export type DeprecatedFeature = keyof typeof DEPRECATED

const CODES: Readonly<Record<number, DeprecatedFeature>> = {
  [-32_042]: 'urlError',
  [-32_002]: 'notFoundError',
}

interface AnsweredCall {
  /** Such as the name of the tool that was called. */
  readonly where: string
  /** By a revision with sessions. */
  readonly isSession: boolean
  /** Of its transport. */
  readonly features: readonly DeprecatedFeature[]
}

interface Seen {
  count: number
  where: string
  lastAt: number
}

/** What one server was seen to use. */
export class DeprecatedUses {
  readonly #now: () => number
  readonly #seen = new Map<DeprecatedFeature, Seen>()

  /** @param now epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** @param where such as the name of the tool that was called. */
  note(feature: DeprecatedFeature, where: string): void {
    const seen = this.#seen.get(feature)
    const lastAt = this.#now()
    if (seen === undefined) {
      this.#seen.set(feature, { count: 1, where: where.slice(0, 200), lastAt })
      return
    }
    seen.count += 1
    seen.lastAt = lastAt
    if (seen.where !== where) seen.where = where.slice(0, 200)
  }

  /** The server asked something. */
  question({ kind, native }: Pick<Question, 'kind' | 'native'>, where: string): void {
    if (kind === 'roots') this.note('roots', where)
    if (kind !== 'sampling') return
    this.note('sampling', where)
    const asked = native?.value()
    const params = isObject(asked) && isObject(asked.params) ? asked.params : {}
    const context = params.includeContext
    if (context === 'thisServer' || context === 'allServers') this.note('includeContext', where)
  }

  /** A call was answered. */
  answer(
    answer: RpcResult | RpcError,
    outcome: Outcome,
    { where, isSession, features }: AnsweredCall,
  ): void {
    for (const feature of features) this.note(feature, where)
    if (answer.kind === 'error') {
      const feature = CODES[answer.code]
      if (feature !== undefined) this.note(feature, where)
    }
    // Only the core tasks of sessions make long work of a call there.
    if (isSession && outcome.state === 'working') this.note('coreTasks', where)
    if (outcome.state === 'input_required')
      for (const question of outcome.questions) this.question(question, where)
  }

  list(): readonly DeprecatedUse[] {
    return [...this.#seen].map(([feature, { count, where, lastAt }]) => ({
      ...DEPRECATED[feature],
      count,
      where,
      lastAt: new Date(lastAt).toISOString(),
    }))
  }
}
