import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, onTestFinished, test } from 'vitest'
import { writeComityYaml } from '../host/comity-yaml.ts'
import { findInput } from '../host/input.ts'
import type { HostMessage } from '../host/main.ts'
import { docsCommand, startAgent, startHost } from '../host/processes.ts'
import { MANIFEST, realTarget } from './real-input.ts'

const demo = fileURLToPath(new URL('../demo.ts', import.meta.url))
const comity = fileURLToPath(new URL('../../../bin/comity.js', import.meta.url))
const SOURCE = '--conditions=comity-source'
const MAX_MS = 60_000

async function makeOut(): Promise<string> {
  const out = await mkdtemp(join(tmpdir(), 'comity-demo-'))
  onTestFinished(() => rm(out, { recursive: true, force: true }))
  return out
}

/** Runs a program to its end. */
async function run(...args: readonly string[]) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  // SIGTERM lets the demo end its own processes; a test that is over leaves none behind.
  onTestFinished(() => void child.kill('SIGTERM'))
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  return { code, output, errors }
}

async function runDemo(...flags: readonly string[]) {
  const out = await makeOut()
  return { out, ...(await run(SOURCE, demo, '--out', out, ...flags)) }
}

/** What a comity command says for machines. */
async function ask<T>(out: string, ...command: readonly string[]): Promise<T> {
  const { output } = await run(comity, ...command, '--json', '-c', join(out, 'comity.yaml'))
  return JSON.parse(output) as T
}

interface Task {
  readonly state: string
  readonly verdict: { readonly state: string; readonly reasons?: readonly string[] }
}

interface Ledger {
  readonly entries: readonly {
    readonly kind: string
    readonly facts: { readonly route?: { readonly capability?: string } }
  }[]
}

interface SentPart {
  readonly text?: string
  readonly data?: unknown
}

/** What the agent received, by its own record of its only task. */
function receivedBy(out: string): readonly (readonly SentPart[])[] {
  const files = readdirSync(join(out, 'agent'))
  expect(files).toHaveLength(1)
  const record = JSON.parse(readFileSync(join(out, 'agent', files[0] ?? ''), 'utf8')) as {
    readonly task: {
      readonly history: readonly { readonly role: string; readonly parts: readonly SentPart[] }[]
    }
  }
  return record.task.history.flatMap(({ role, parts }) => (role === 'ROLE_USER' ? [parts] : []))
}

function compileSchema(name: string) {
  const path = new URL(`../schemas/${name}.schema.json`, import.meta.url)
  return new Ajv2020({ allowUnionTypes: true }).compile(
    JSON.parse(readFileSync(path, 'utf8')) as object,
  )
}

test(
  'the demo ends accepted: its steps, what the agent received, the report, the verdict, the explanation',
  async () => {
    const { code, output, errors, out } = await runDemo()
    expect([code, errors]).toEqual([0, ''])
    const steps = [
      'the research agent is up',
      'comity is open and has met both peers',
      'found and read through MCP',
      'delegated through A2A as task t-',
      'the agent asked, the host answered',
      'the agent works',
      'ACCEPTED: the agent says completed',
      'citations resolved through docs/read_document to the same bytes',
      "all 34 added and 13 removed rows covered with their lines in differences.json and report.md, counted by the host's own parser",
      'The report: ',
      '$ comity explain t-',
      'by which rule',
      'ACCEPTED · task t-',
    ]
    const places = steps.map((step) => output.indexOf(step))
    expect(places).not.toContain(-1)
    // The verdict's word comes twice: in full, and as the last line.
    expect(places.slice(0, -1)).toEqual(places.slice(0, -1).toSorted((a, b) => a - b))

    const report = readFileSync(join(out, 'delivery', 'report.md'), 'utf8')
    expect(report).toContain('## What touches @modelcontextprotocol/server-everything')
    const isReport = compileSchema('report')
    const differences = readFileSync(join(out, 'delivery', 'differences.json'), 'utf8')
    expect(isReport(JSON.parse(differences)), JSON.stringify(isReport.errors)).toBe(true)

    const { entries } = await ask<Ledger>(out, 'ledger', '--limit', '1000')
    const opened = entries.flatMap(({ kind, facts }) =>
      kind === 'opened' ? [facts.route?.capability] : [],
    )
    const countOf = (capability: string) => opened.filter((one) => one === capability).length
    expect([countOf('search_documents'), countOf('research')]).toEqual([3, 2])
    // Three readings of the host, and one look at each citation.
    const cited = Number(/(\d+) citations resolved/.exec(output)?.[1])
    expect(countOf('read_document')).toBe(3 + cited)

    const [brief, answer] = receivedBy(out)
    const [words, data] = brief ?? []
    for (const word of ['Goal: ', 'Scope: ', 'Acceptance: ', 'report.md', 'to the same bytes']) {
      expect(words?.text).toContain(word)
    }
    const isBrief = compileSchema('brief')
    expect(isBrief(data?.data), JSON.stringify(isBrief.errors)).toBe(true)
    expect(JSON.stringify(data?.data)).not.toContain('sdkRange')
    expect(answer).toMatchObject([
      { data: { sdkRange: '^1.30.0', citation: { ...realTarget().citation, document: MANIFEST } } },
    ])
  },
  MAX_MS,
)

test(
  'one forged quote: the agent says completed, the delivery is refused and names the citation',
  async () => {
    const { code, output, out } = await runDemo('--forge')
    expect(code).toBe(1)
    expect(output).toMatch(
      /REFUSED: the agent says completed.*\n {2}- report\.md: requirements\/\S+\.yaml lines \d+-\d+: the quote is not what stands there: ".*"\n\n/,
    )
    expect(existsSync(join(out, 'delivery'))).toBe(false)
    const [task] = await ask<readonly Task[]>(out, 'tasks', '--all')
    expect(task).toMatchObject({ state: 'completed', verdict: { state: 'refused' } })
    expect(task?.verdict.reasons).toHaveLength(1)
  },
  MAX_MS,
)

test(
  'the agent killed half way and started again still ends accepted',
  async () => {
    const { code, output, out } = await runDemo('--kill-agent')
    expect([code, output]).toEqual([0, expect.stringContaining('ACCEPTED: ')])
    expect(output).toContain('the agent was killed half way (kill -9)')
    expect(receivedBy(out)).toHaveLength(2)
  },
  MAX_MS,
)

test(
  'no criteria: the delivery is there, unjudged, and that is said',
  async () => {
    const { code, output, out } = await runDemo('--no-criteria')
    expect([code, output]).toEqual([0, expect.stringContaining('NOT JUDGED: ')])
    expect(output).toContain('nobody has checked this delivery')
    expect(output).not.toMatch(/accepted because|ACCEPTED/)
    const [task] = await ask<readonly Task[]>(out, 'tasks', '--all')
    expect(task).toMatchObject({ state: 'completed', verdict: { state: 'not_judged' } })
  },
  MAX_MS,
)

test(
  'the host killed half way and started again on its store finishes and judges the same task',
  async () => {
    const { code, output, out } = await runDemo('--kill-host')
    expect([code, output]).toEqual([0, expect.stringContaining('ACCEPTED: ')])
    expect(output).toMatch(/the store holds task t-\w+\n.*working when last seen/)
    expect(receivedBy(out)).toHaveLength(2)
  },
  MAX_MS,
)

test(
  'the host killed at every stage of one task: nothing is lost, sent twice or judged without its sources',
  async () => {
    const out = await makeOut()
    const docs = docsCommand(findInput().folders)
    const log = join(out, 'agent.log')
    const state = join(out, 'agent')
    const agent = await startAgent({ state, docs, port: 0, paceMs: 400, forge: false, log })
    onTestFinished(() => agent.kill())
    writeFileSync(
      join(out, 'comity.yaml'),
      writeComityYaml({ docs, card: agent.card, criteria: true }),
    )

    /** Starts the host and kills it as soon as it tells something that matches. */
    const killAt = async (pattern: RegExp): Promise<void> => {
      const host = startHost(out, { criteria: true }, (message) => {
        if (pattern.test(JSON.stringify(message))) void host.kill()
      })
      expect(await host.ended).toBe('SIGKILL')
    }
    await killAt(/delegated through A2A/)
    await killAt(/the store holds task/)
    await killAt(/the host answered/)
    await killAt(/"tell":"works"/)

    const told: HostMessage[] = []
    const last = startHost(out, { criteria: true }, (message) => void told.push(message))
    onTestFinished(() => last.kill())
    expect(await last.ended).toBe(0)
    expect(told.at(-1)).toMatchObject({
      tell: 'verdict',
      task: { state: 'completed', verdict: { state: 'accepted' } },
    })
    expect(receivedBy(out)).toHaveLength(2)
    expect(await ask<readonly Task[]>(out, 'tasks', '--all')).toHaveLength(1)
    const { verified } = await ask<{ readonly verified: unknown }>(out, 'ledger', '--verify')
    expect(verified).toMatchObject({ ok: true })
  },
  MAX_MS,
)

test('a folder that the demo did not make is never emptied', async () => {
  const out = await makeOut()
  writeFileSync(join(out, 'mine.txt'), 'keep')
  const { code, errors } = await run(SOURCE, demo, '--out', out)
  expect([code, errors]).toEqual([2, expect.stringContaining('is not a folder of the demo')])
  expect(readdirSync(out)).toEqual(['mine.txt'])
})

test('an option that is not there ends with the options that are', async () => {
  const { code, errors } = await run(SOURCE, demo, '--nonsense')
  expect([code, errors]).toEqual([2, expect.stringContaining('usage: npm run demo')])
})
