/**
 * R168: the documents server before the official conformance suite, in both eras: every scenario
 * that needs no tools, resources or prompts of the suite's own reference server.
 *
 * A check counts as passed only when the suite says so by its id; a scenario without checks fails.
 */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { promisify, stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { createFolder, startHttp } from './documents-folder.ts'

const SUITE = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/conformance/dist/index.js',
)

/** Scenarios by revision, each with how many checks it has at the least. */
const SCENARIOS = {
  '2026-07-28': {
    'server-stateless': 21,
    'tools-list': 1,
    'resources-list': 1,
    'prompts-list': 1,
    caching: 8,
    'sep-2164-resource-not-found': 1,
    'http-header-validation': 1,
    'dns-rebinding-protection': 2,
    'server-sse-multiple-streams': 1,
    'input-required-result-unsupported-methods': 1,
  },
  '2025-11-25': {
    'server-initialize': 1,
    'server-session-lifecycle': 1,
    ping: 1,
    'tools-list': 1,
    'resources-list': 1,
    'prompts-list': 1,
    'dns-rebinding-protection': 2,
    'server-sse-multiple-streams': 1,
  },
} as const

/**
 * Checks of `server-stateless` that ask a tool of the suite's own server. A server of documents has
 * no use for tools like these, and does not list them for the sake of the suite; the gateway passes
 * the same checks in front of a peer that has them. Each must fail for this reason and no other.
 */
const NEEDS_THE_SUITES_TOOL: Readonly<Record<string, string>> = {
  'sep-2575-server-rejects-undeclared-capability': 'test_missing_capability',
  'sep-2575-missing-capability-http-400': 'test_missing_capability',
  'sep-2575-http-server-no-independent-requests-on-stream': 'test_streaming_elicitation',
  'sep-2575-server-no-log-without-loglevel': 'test_logging_tool',
}

interface Run {
  readonly passed: number
  readonly failed: readonly string[]
  readonly output: string
}

async function run(url: string, revision: string, scenario: string): Promise<Run> {
  const args = ['server', '--url', url, '--spec-version', revision, '--scenario', scenario]
  const { stdout } = await promisify(execFile)(process.execPath, [SUITE, ...args]).catch(
    (error: { stdout: string }) => error,
  )
  const output = stripVTControlCharacters(stdout)
  const ids = (state: string): string[] =>
    [...output.matchAll(new RegExp(`^\\S+ \\[(\\S+)\\s*\\] ${state} `, 'gmu'))].map(
      ([, id = '']) => id,
    )
  return { passed: ids('SUCCESS').length, failed: ids('FAILURE'), output }
}

test.each(Object.entries(SCENARIOS))(
  'R168: the scenarios of %s that concern it',
  async (revision, scenarios) => {
    const url = await startHttp(createFolder())
    for (const [scenario, least] of Object.entries(scenarios)) {
      const { passed, failed, output } = await run(url, revision, scenario)
      const left = scenario === 'server-stateless' ? Object.keys(NEEDS_THE_SUITES_TOOL) : []
      expect(failed.toSorted(), `${scenario}\n${output}`).toEqual(left.toSorted())
      expect(passed, `${scenario}\n${output}`).toBeGreaterThanOrEqual(least)
      for (const tool of new Set(left.map((id) => NEEDS_THE_SUITES_TOOL[id]))) {
        expect(output).toContain(
          `Not testable: server does not list the diagnostic tool '${tool}' in tools/list`,
        )
      }
    }
  },
  240_000,
)
