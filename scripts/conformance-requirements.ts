/**
 * Which scenarios of the official suite are run, read from the lists that the suite itself publishes.
 *
 * Extensions are left out, save tasks and those of authorization, which comity has all of.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'

/** Revisions that the suite has a list for. */
export const REVISIONS = ['2026-07-28', '2025-11-25'] as const
/** It has two scenarios left, and no list: how clients of newer revisions log in to servers of it. */
export const OLD_REVISION = '2025-03-26' as const
const OLD_SCENARIOS = [
  'auth/2025-03-26-oauth-metadata-backcompat',
  'auth/2025-03-26-oauth-endpoint-fallback',
]
export type Revision = (typeof REVISIONS)[number] | typeof OLD_REVISION

/** Which side of the protocol is under test. */
export const LEGS = ['server', 'client'] as const
export type Leg = (typeof LEGS)[number]

/** One scenario of a list. */
export interface Listed {
  readonly scenario: string
  /** False for what the suite runs and reports without counting it. */
  readonly scored: boolean
}

const require = createRequire(import.meta.url)

/** The suite's program. */
export const SUITE = require.resolve('@modelcontextprotocol/conformance/dist/index.js')

/** Reads the list of one revision and one side. @throws Error when the suite's file has another form. */
export function loadRequirements(revision: Revision, leg: Leg): readonly Listed[] {
  if (revision === OLD_REVISION) {
    return leg === 'client' ? OLD_SCENARIOS.map((scenario) => ({ scenario, scored: false })) : []
  }
  const file = join(dirname(SUITE), '../requirements', `${revision}.yaml`)
  const list: unknown = parse(readFileSync(file, 'utf8'))
  const scored = field(list, leg)
  const unscored = field(list, 'not_scored')
  if (!Array.isArray(scored) || !Array.isArray(unscored)) {
    throw new Error(`${file}: expected lists under ${leg} and not_scored`)
  }
  return [
    ...scored.map((name: unknown) => ({ scenario: String(name), scored: true })),
    ...unscored
      .filter((entry: unknown) => field(entry, 'leg') === leg)
      .map((entry: unknown) => ({
        scenario: String(field(entry, 'scenario')),
        scored: false,
        extension: field(entry, 'reason') === 'extension',
      }))
      .filter(({ scenario, extension }) => !extension || isLogin(scenario) || isTask(scenario))
      .map(({ scenario, scored: counts }) => ({ scenario, scored: counts })),
  ]
}

/** Whether a scenario is about the Tasks extension. */
export function isTask(scenario: string): boolean {
  return scenario.startsWith('tasks-')
}

/** Whether a scenario is about logging in. */
export function isLogin(scenario: string): boolean {
  return scenario.startsWith('auth/')
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
}
