/**
 * `npm run conformance:mcp`: the official conformance suite, as a caller through comity to the
 * conforming peer, and as a server that comity calls. The last line is `N passed, N failed` in checks.
 *
 * Options: `--only <scenario>` (repeatable), `--direct` (the peer without comity), `--verbose`.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Era } from '../src/testkit/conforming-peer/server.ts'
import {
  judgeBlocks,
  parseExpected,
  type Block,
  type Impossible,
  type ScenarioRun,
} from './conformance-report.ts'
import {
  isLogin,
  isTask,
  loadRequirements,
  LEGS,
  OLD_REVISION,
  REVISIONS,
  type Leg,
  type Listed,
  type Revision,
} from './conformance-requirements.ts'
import { runEach, runList, type SuiteRequest } from './conformance-suite.ts'
import { endAll, startGateway, startPeer } from './conformance-under-test.ts'

const EXPECTED = join(import.meta.dirname, '../test/conformance/expected-failures.yaml')
/** As the suite starts it, from the root: it takes a command apart at its spaces. */
const CLIENT = 'node scripts/conformance-client.ts'
/** Blocks and client scenarios at once: two cores are what everything here is measured on. */
const AT_ONCE = 2

interface Options {
  readonly only: readonly string[]
  readonly direct: boolean
  readonly verbose: boolean
}

/** A block that is still to be run. */
interface Plan {
  readonly title: string
  readonly leg: Leg
  readonly revision: Revision
  readonly decides: boolean
  /** About logging in, or about everything else. */
  readonly logins: boolean
  readonly impossible?: readonly Impossible[]
  readonly run: (request: Omit<SuiteRequest, 'target'>) => Promise<readonly ScenarioRun[]>
}

/** Peers that speak one era only, in front of callers of either. */
const PAIRS: readonly (readonly [Revision, Era, readonly Impossible[]])[] = [
  [
    '2026-07-28',
    'legacy',
    [
      ...[
        'sep-2575-server-rejects-undeclared-capability',
        'sep-2575-missing-capability-http-400',
      ].map((check) => ({
        scenario: 'server-stateless',
        check,
        reason: 'a peer of 2025-11-25 has no error for it and asks; the question is declined',
      })),
      {
        scenario: 'input-required-result-basic-elicitation',
        check: 'sep-2322-elicitation-incomplete',
        reason: 'questions of 2025-11-25 have no keys of their own',
      },
      {
        scenario: 'input-required-result-capability-check',
        check: 'sep-2322-respect-client-capabilities',
        reason: 'a session of 2025-11-25 declares capabilities once, for all calls on it',
      },
      {
        scenario: 'input-required-result-ignore-extra-params',
        check: 'sep-2322-ignore-unexpected-params',
        reason: 'a call of 2025-11-25 cannot bring answers along',
      },
    ],
  ],
  ['2025-11-25', 'legacy', []],
  ['2025-11-25', 'modern', []],
]

async function main(args: string[]): Promise<number> {
  const options = readOptions(args)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void endAll().finally(() => process.exit(1)))
  }
  const folder = mkdtempSync(join(tmpdir(), 'comity-conformance-'))
  try {
    const blocks = await runPlans(plan(options), options, folder)
    const expected = parseExpected(readFileSync(EXPECTED, 'utf8'))
    const { lines, failed } = judgeBlocks(blocks, expected, options.only.length === 0)
    for (const line of lines) console.log(line)
    return failed === 0 && blocks.length > 0 ? 0 : 1
  } finally {
    if (options.verbose) console.error(`the suite's own files are in ${folder}`)
    else rmSync(folder, { recursive: true, force: true })
  }
}

function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      direct: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
    },
  })
  const known = [...REVISIONS, OLD_REVISION].flatMap((revision) =>
    LEGS.flatMap((leg) => loadRequirements(revision, leg).map(({ scenario }) => scenario)),
  )
  const unknown = values.only.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw new Error(
      `no scenario is called ${unknown.join(', ')}; expected of ${[...new Set(known)].join(', ')}`,
    )
  }
  return values
}

function plan({ only, direct, verbose }: Options): readonly Plan[] {
  const servers = (direct ? [] : PAIRS).map(([revision, era, impossible]): Plan => ({
    title: `server ${revision}, through comity to a peer that speaks ${era === 'legacy' ? '2025-11-25' : '2026-07-28'} only`,
    leg: 'server',
    revision,
    decides: false,
    logins: false,
    impossible,
    run: (request) => runServer(request, era, { direct, only, verbose }),
  }))
  return [
    ...REVISIONS.map((revision): Plan => ({
      title: `server ${revision}, ${direct ? 'the peer itself' : 'through comity to a peer that speaks both'}`,
      leg: 'server',
      revision,
      decides: true,
      logins: false,
      run: (request) => runServer(request, 'dual', { direct, only, verbose }),
    })),
    ...(direct ? [] : REVISIONS).map((revision) => planClient(revision, false)),
    ...(direct ? [] : [...REVISIONS, OLD_REVISION]).map((revision) => planClient(revision, true)),
    ...servers,
  ]
}

function planClient(revision: Revision, logins: boolean): Plan {
  return {
    title: `client ${revision}, comity ${logins ? 'logging in to' : 'calling'} the suite`,
    leg: 'client',
    revision,
    decides: true,
    logins,
    run: (request) => runEach({ ...request, target: CLIENT }, AT_ONCE),
  }
}

async function runServer(
  request: Omit<SuiteRequest, 'target'>,
  era: Era,
  { direct, only, verbose }: Options,
): Promise<readonly ScenarioRun[]> {
  const underTest = direct ? await startPeer(era) : await startGateway(era)
  try {
    const whole = { ...request, target: underTest.url }
    return only.length === 0 ? await runList(whole) : await runEach(whole, 1)
  } finally {
    const complaints = await underTest.stop()
    if (verbose && complaints !== '') console.error(`standard error of comity:\n${complaints}`)
  }
}

/** Runs the plans, some at a time; what they say comes in the order of the plans. */
async function runPlans(
  plans: readonly Plan[],
  { only, verbose }: Options,
  folder: string,
): Promise<readonly Block[]> {
  const blocks: Block[] = []
  const waiting = [...plans.entries()]
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, { run, ...block }] = next
      const listed = loadRequirements(block.revision, block.leg)
      const scenarios = select(listed, block, only)
      if (scenarios.length === 0) continue
      const started = performance.now()
      if (verbose) console.error(`begins: ${block.title}`)
      const request = { ...block, scenarios, folder: join(folder, String(index)) }
      const runs = await run(request).catch((error: unknown) => notRun(scenarios, error))
      blocks[index] = { ...block, runs, milliseconds: performance.now() - started }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return blocks.flatMap((block) => block)
}

/** What never began: every scenario of it is missing, and the reason is told once. */
function notRun(scenarios: readonly Listed[], error: unknown): readonly ScenarioRun[] {
  const note = error instanceof Error ? error.message : String(error)
  return [
    { scenario: 'start', scored: true, checks: [], note },
    ...scenarios.map((listed) => ({ ...listed, checks: [] })),
  ]
}

/** As a client every scenario counts that comity can be asked for, whenever the suite began to score it, and so do those of tasks. */
function select(
  listed: readonly Listed[],
  { decides, leg, logins }: Pick<Plan, 'decides' | 'leg' | 'logins'>,
  only: readonly string[],
): readonly Listed[] {
  return (
    listed
      .filter(({ scenario }) => isLogin(scenario) === logins)
      // A peer of 2025-11-25 knows nothing of this extension, and a call is a task only when it takes long.
      .filter(({ scenario }) => decides || !isTask(scenario))
      .filter(({ scenario }) => only.length === 0 || only.includes(scenario))
      .map((one) => (leg === 'client' || isTask(one.scenario) ? { ...one, scored: true } : one))
  )
}

process.exitCode = await main(process.argv.slice(2))
