/**
 * R168: the documents server before the official conformance suite, in both eras: every scenario
 * that needs no tools, resources or prompts of the suite's own reference server.
 */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createFolder, startHttp } from './documents-folder.ts'

const SUITE = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/conformance/dist/index.js',
)

const SCENARIOS = {
  '2026-07-28': [
    'tools-list',
    'resources-list',
    'sep-2164-resource-not-found',
    'http-header-validation',
    'dns-rebinding-protection',
    'server-sse-multiple-streams',
    'input-required-result-unsupported-methods',
  ],
  '2025-11-25': [
    'server-initialize',
    'server-session-lifecycle',
    'ping',
    'tools-list',
    'resources-list',
    'dns-rebinding-protection',
  ],
} as const

test.each(Object.entries(SCENARIOS))(
  'R168: the scenarios of %s that concern it',
  async (revision, scenarios) => {
    const url = await startHttp(createFolder())
    const failed: string[] = []
    for (const scenario of scenarios) {
      const args = ['server', '--url', url, '--spec-version', revision, '--scenario', scenario]
      const run = promisify(execFile)(process.execPath, [SUITE, ...args])
      const { stdout } = await run.catch((error: { stdout: string }) => error)
      if (!/Passed: [1-9]\d*\/\d+, 0 failed/u.test(stdout)) failed.push(`${scenario}\n${stdout}`)
    }
    expect(failed).toEqual([])
  },
  120_000,
)
