/** Runs the official suite as its own program and reads what it wrote about each scenario. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { SUITE, type Leg, type Listed, type Revision } from './conformance-requirements.ts'
import type { Check, ScenarioRun } from './conformance-report.ts'
import { runTool } from './run-tool.ts'

const ROOT = join(import.meta.dirname, '..')
/** A scenario takes a second, one with logins a few; one that waits in vain for an answer is ended after this. */
const SCENARIO_TIMEOUT_MS = 30_000
const RUN_TIMEOUT_MS = 4 * 60_000

/** Where a run of the suite is made and what it is asked for. */
export interface SuiteRequest {
  readonly leg: Leg
  readonly revision: Revision
  readonly scenarios: readonly Listed[]
  /** `--url` of a server, or `--command` of a client. */
  readonly target: string
  /** An own folder for the suite's files. */
  readonly folder: string
}

/** Runs a whole list of server scenarios as one run of the suite. */
export async function runList(request: SuiteRequest): Promise<readonly ScenarioRun[]> {
  const { leg, revision, target, folder } = request
  const { code, output } = await runSuite(folder, [
    leg,
    ...targetOf(leg, target),
    '--requirements',
    revision,
  ])
  const runs = request.scenarios.map((listed) => readRun(request, listed))
  // Its exit code counts scored scenarios, as we do; one that says more than its files is told.
  const silent = code !== 0 && runs.every(({ checks }) => checks.every(isGood))
  return silent ? runs.map((run) => ({ ...run, note: lastLines(output) })) : runs
}

/** Runs scenarios one by one, at most `atOnce` at a time. */
export async function runEach(
  request: SuiteRequest,
  atOnce: number,
): Promise<readonly ScenarioRun[]> {
  const { leg, revision, target, scenarios } = request
  const runs = new Map<Listed, ScenarioRun>()
  const waiting = [...scenarios]
  const work = async (): Promise<void> => {
    for (let listed = waiting.shift(); listed !== undefined; listed = waiting.shift()) {
      const folder = join(request.folder, listed.scenario.replaceAll('/', '_'))
      const { code, output } = await runSuite(folder, [
        leg,
        ...targetOf(leg, target),
        '--scenario',
        listed.scenario,
        '--spec-version',
        revision,
        '--force',
      ])
      const run = readRun({ ...request, folder }, listed)
      const silent = code !== 0 && run.checks.every(isGood)
      runs.set(listed, silent ? { ...run, note: lastLines(output) } : run)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return scenarios.flatMap((listed) => runs.get(listed) ?? [])
}

function targetOf(leg: Leg, target: string): string[] {
  return leg === 'server' ? ['--url', target] : ['--command', target]
}

async function runSuite(
  folder: string,
  args: readonly string[],
): Promise<{ code: number; output: string }> {
  mkdirSync(folder, { recursive: true })
  const path = SUITE.slice(ROOT.length + 1)
  const limits = ['--timeout', String(SCENARIO_TIMEOUT_MS), '--output-dir', folder]
  return runTool(ROOT, [path, ...args, ...limits], { timeoutMs: RUN_TIMEOUT_MS, quiet: true })
}

/** The suite names a scenario's folder by the scenario, slashes and all, and the time. */
function readRun({ leg, folder }: SuiteRequest, { scenario, scored }: Listed): ScenarioRun {
  const stem = leg === 'server' ? `server-${scenario}` : scenario
  const parent = join(folder, dirname(stem))
  const name = `${basename(stem)}-`
  const [found] = listFolders(parent).filter(
    (one) => one.startsWith(name) && /^\d{4}-\d\d-\d\dT[\d-]+Z$/u.test(one.slice(name.length)),
  )
  if (found === undefined) return { scenario, scored, checks: [] }
  return { scenario, scored, checks: readChecks(join(parent, found, 'checks.json')) }
}

function listFolders(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function readChecks(file: string): readonly Check[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    // A scenario that threw leaves a folder without checks.
    return []
  }
  const checks: unknown = JSON.parse(text)
  if (!Array.isArray(checks)) throw new Error(`${file}: expected a list of checks`)
  return checks.flatMap((check: unknown) => (isCheck(check) ? [check] : []))
}

function isCheck(value: unknown): value is Check {
  return typeof value === 'object' && value !== null && 'id' in value && 'status' in value
}

function isGood({ status }: Check): boolean {
  return status !== 'FAILURE' && status !== 'WARNING'
}

function lastLines(output: string): string {
  return output.trimEnd().split('\n').slice(-8).join(' | ')
}
