/**
 * The conformance run in short: the peer alone passes everything that the suite has, and a handful of
 * scenarios pass through comity in both directions, logins among them. The whole run is `npm run conformance:mcp`.
 */
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import {
  isLogin,
  loadRequirements,
  OLD_REVISION,
  REVISIONS,
  SUITE,
} from '../../scripts/conformance-requirements.ts'
import { runTool } from '../../scripts/run-tool.ts'

const ROOT = join(import.meta.dirname, '../..')

async function conformance(
  ...args: string[]
): Promise<{ code: number; output: string; last: string }> {
  const limits = { timeoutMs: 110_000, quiet: true }
  const { code, output } = await runTool(ROOT, ['scripts/conformance.ts', ...args], limits)
  return { code, output, last: output.trimEnd().split('\n').at(-1) ?? '' }
}

test('the peer itself passes every scenario, so that what fails is comity', async () => {
  const { code, output, last } = await conformance('--direct')
  expect(output).not.toMatch(/FAILED|MISSED/u)
  expect(last).toMatch(/^2\d\d passed, 0 failed$/u)
  expect(code).toBe(0)
}, 120_000)

test('a handful passes through comity: as a server of both revisions, and as a client', async () => {
  const handful = ['tools-list', 'tools-call-with-progress', 'resources-read-binary', 'tools_call']
  const { code, output, last } = await conformance(...handful.flatMap((name) => ['--only', name]))
  expect(output.match(/^ {2}ok {5}tools-call-with-progress/gmu)).toHaveLength(5)
  expect(output.match(/^ {2}ok {5}tools_call/gmu)).toHaveLength(2)
  expect(last).toMatch(/^\d+ passed, 0 failed$/u)
  expect(code).toBe(0)
}, 120_000)

test('three logins pass through comity: without a registration, with more scopes later, and at an old server', async () => {
  const three = ['basic-cimd', 'scope-step-up', '2025-03-26-oauth-endpoint-fallback']
  const { code, output, last } = await conformance(
    ...three.flatMap((name) => ['--only', `auth/${name}`]),
  )
  expect(output.match(/^ {2}ok {5}auth\//gmu)).toHaveLength(5)
  expect(output).not.toMatch(/FAILED|MISSED/u)
  expect(last).toMatch(/^\d\d+ passed, 0 failed$/u)
  expect(code).toBe(0)
}, 120_000)

test('tasks pass through comity: made, asked, answered, canceled', async () => {
  const three = ['mrtr-input', 'required-task-error', 'mrtr-composition']
  const { code, output, last } = await conformance(
    ...three.flatMap((name) => ['--only', `tasks-${name}`]),
  )
  expect(output.match(/^ {2}ok {5}tasks-/gmu)).toHaveLength(3)
  expect(last).toBe('9 passed, 0 failed')
  expect(code).toBe(0)
}, 120_000)

test('every login that the suite has for clients is one that is run', async () => {
  const args = [relative(ROOT, SUITE), 'list', '--client']
  const { output } = await runTool(ROOT, args, { timeoutMs: 60_000, quiet: true })
  const offered = [...output.matchAll(/^ +- (\S+)/gmu)].flatMap(([, name = '']) => name)
  const run = [...REVISIONS, OLD_REVISION].flatMap((revision) =>
    loadRequirements(revision, 'client').map(({ scenario }) => scenario),
  )
  expect(offered.filter(isLogin).toSorted()).toEqual([...new Set(run.filter(isLogin))].toSorted())
  expect(offered.filter(isLogin).length).toBeGreaterThan(30)
}, 60_000)

test('a scenario that nobody knows is said, not passed over', async () => {
  const { code, output } = await conformance('--only', 'tools-lsit')
  expect(output).toContain('no scenario is called tools-lsit; expected of server-stateless,')
  expect(code).toBe(1)
})
