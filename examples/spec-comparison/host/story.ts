/**
 * The story: find and read through MCP, delegate through A2A, answer the agent's question, judge.
 *
 * What is next follows from the store alone. Killed at any point and opened again on the same
 * store, the host goes on with the task that is there and delegates nothing twice.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Operator, TaskReport } from 'comity'
import type { Sources } from './coverage.ts'
import { citeLine, findDocument, QUIET, readDocument, type Reading } from './documents.ts'
import { REVISIONS, TARGET } from './input.ts'
import { parseRows } from './requirement-rows.ts'

/** Tells whoever watches what has just happened. */
export interface Tell {
  /** A step of the story, and what there is to see of it. */
  step(title: string, lines: readonly string[]): void
  /** News of the agent at work. */
  works(lines: readonly string[]): void
}

/** What the host has read: the sources of every judgment, and the documents themselves. */
export interface Findings {
  readonly sources: Sources
  readonly manifest: Reading
}

const PEERS_MS = 20_000
const ACCEPT_MS = 20_000
const WHOLE_MS = 120_000
const LOOK_MS = 40
const SDK = '@modelcontextprotocol/sdk'
const DELIVERABLES = ['report.md', 'differences.json']

/** Starts both peers and says what they are. @throws Error when one of them cannot be used. */
export async function meetPeers(operator: Operator, tell: Tell): Promise<void> {
  const { peers } = await operator.status({ waitMs: PEERS_MS }, QUIET)
  const faults = peers.filter(({ state }) => state !== 'ready')
  if (faults.length > 0) {
    throw new Error(
      faults.map(({ peer, detail, state }) => `${peer}: ${detail ?? state}`).join('; '),
    )
  }
  const lines = peers.map(
    ({ peer, protocol, revision, transport, callsItself }) =>
      `${peer.padEnd(8)} ${protocol === 'mcp' ? 'MCP' : 'A2A'} ${revision ?? ''} over ${transport.replace(/^a2a /, '')}, calls itself ${callsItself ?? 'nothing'}`,
  )
  tell.step('comity is open and has met both peers', lines)
}

/** Finds and reads the two lists and the target's manifest. */
export async function research(operator: Operator, tell: Tell): Promise<Findings> {
  const [from, to] = await Promise.all(
    REVISIONS.map(async (revision) => {
      const query = `conformance requirements ${revision}`
      const document = await findDocument(operator, query, `/${revision}.yaml`)
      const reading = await readDocument(operator, document)
      return { reading, list: parseRows(document, reading.text) }
    }),
  )
  const manifest = await readDocument(
    operator,
    await findDocument(operator, `${TARGET} package.json dependencies`, '/package.json'),
  )
  if (from === undefined || to === undefined) throw new Error('two revisions are compared')
  tell.step('found and read through MCP, each call on the record', [
    ...[from, to].map(
      ({ reading, list }) => `${sayReading(reading)}, ${list.rows.length} requirements`,
    ),
    sayReading(manifest),
  ])
  return { sources: { from, to, target: readTarget(manifest) }, manifest }
}

/** The task that an earlier run of this host delegated, when the store holds one. */
export async function recall(operator: Operator, tell: Tell): Promise<Delegated | undefined> {
  const [earlier] = await operator.tasks({ all: true }, QUIET)
  if (earlier === undefined) return undefined
  tell.step(`the store holds task ${earlier.taskId}`, [
    `it was ${earlier.state} when last seen; the host goes on with it and delegates nothing twice`,
  ])
  return { taskId: earlier.taskId, resumed: true }
}

/** The task, and whether an earlier run of this host delegated it. */
export interface Delegated {
  readonly taskId: string
  readonly resumed: boolean
}

/** Delegates, with what the delivery will be judged by. @throws Error when the agent takes no task. */
export async function delegate(
  operator: Operator,
  { sources }: Findings,
  options: { readonly criteria: boolean },
  tell: Tell,
): Promise<Delegated> {
  const brief = writeBrief(sources, options.criteria)
  const { task, outcome } = await operator.delegate(
    { agent: 'research', message: sayBrief(brief), data: brief, acceptMs: ACCEPT_MS },
    QUIET,
  )
  if (task === undefined)
    throw new Error(`the agent took no task: ${outcome.detail ?? outcome.state}`)
  tell.step(`delegated through A2A as task ${task.taskId}`, [
    `goal   ${brief.goal}`,
    `scope  ${brief.scope.from} to ${brief.scope.to} for ${TARGET}; its SDK range is left out`,
    `judged ${brief.acceptance === undefined ? 'by nothing: no criteria are given' : 'by both files, every citation, every changed row'}`,
  ])
  return { taskId: task.taskId, resumed: false }
}

/** As the agent's brief.schema.json has it. */
interface Brief {
  readonly goal: string
  readonly scope: {
    readonly from: string
    readonly to: string
    readonly target: { readonly package: string }
  }
  readonly acceptance?: {
    readonly required: readonly string[]
    readonly citations: string
    readonly coverage: string
  }
}

function writeBrief({ from, to }: Sources, criteria: boolean): Brief {
  return {
    goal: `What does MCP ${REVISIONS[1]} ask of ${TARGET} that ${REVISIONS[0]} did not, and what no longer?`,
    scope: {
      from: from.reading.document,
      to: to.reading.document,
      target: { package: TARGET },
    },
    ...(criteria
      ? {
          acceptance: {
            required: DELIVERABLES,
            citations: 'every citation resolves through the documents server to the same bytes',
            coverage: 'every added and every removed row once, with its lines',
          },
        }
      : {}),
  }
}

/** Follows the task to its end, answering its question, and tells what the agent does. */
export async function follow(
  operator: Operator,
  { sources: { target } }: Findings,
  { taskId, resumed }: Delegated,
  tell: Tell,
): Promise<TaskReport> {
  const deadline = Date.now() + WHOLE_MS
  const watched = watch(tell)
  let begun = resumed
  while (Date.now() < deadline) {
    const task = await operator.task({ taskId, waitMs: LOOK_MS }, QUIET)
    if (task.state === 'input_required') {
      await answer(operator, task, target, tell)
      begun = true
      continue
    }
    if (begun || task.next === 'nobody') watched(task)
    if (task.state === 'auth_required')
      throw new Error('the agent waits for an authorisation, which the host cannot give')
    // After a kill it may be open whether the delegation arrived: comity looks for it, the host waits.
    if (task.state === 'unknown') await delay(LOOK_MS)
    if (task.next === 'nobody' && task.verdict.state !== 'pending') return task
  }
  throw new Error(`the task is not over after ${WHOLE_MS / 1000} s; it stays in the store`)
}

/** Tells each of the agent's sentences and each file once. */
function watch(tell: Tell): (task: TaskReport) => void {
  const told = new Set<string>()
  return (task) => {
    const lines = [
      ...(task.theirWords === undefined ? [] : [`"${task.theirWords}"`]),
      ...task.artifacts
        .filter((artifact) => artifact.complete)
        .map(
          ({ name, mediaType, bytes }) =>
            `${name ?? '?'} arrived: ${mediaType ?? 'no media type'}, ${bytes} bytes`,
        ),
      ...(task.next === 'nobody' ? [`it calls the task ${task.state}`] : []),
    ].filter((line) => !told.has(line))
    if (lines.length > 0) tell.works(lines)
    for (const line of lines) told.add(line)
  }
}

async function answer(
  operator: Operator,
  task: TaskReport,
  target: Sources['target'],
  tell: Tell,
): Promise<void> {
  const { outcome } = await operator.answer({ taskId: task.taskId, data: target }, QUIET)
  if (outcome.state === 'failed')
    throw new Error(`no answer could be given: ${outcome.detail ?? ''}`)
  if (outcome.state === 'unknown') {
    // Sent by an earlier run that was killed before it knew: comity asks the agent, sends nothing twice.
    await delay(LOOK_MS)
    return
  }
  const { citation, sdkRange } = target
  tell.step('the agent asked, the host answered from the manifest', [
    ...task.questions.map(({ text }) => `asked     ${text}`),
    `answered  ${sdkRange}, by ${citation.document} line ${citation.lines.start}: ${citation.quote.trim()}`,
  ])
}

/** The SDK range as the manifest's own line declares it; read, never guessed. */
function readTarget(manifest: Reading): Sources['target'] {
  const { name, dependencies } = JSON.parse(manifest.text) as {
    readonly name?: string
    readonly dependencies?: Readonly<Record<string, string>>
  }
  const sdkRange = dependencies?.[SDK]
  const line = manifest.text
    .split('\n')
    .findIndex((text) => text.includes(`"${SDK}": "${sdkRange}"`))
  if (name !== TARGET || sdkRange === undefined || line < 0) {
    throw new Error(`${manifest.document} is not the manifest of ${TARGET} with its SDK`)
  }
  return { sdkRange, citation: citeLine(manifest, line + 1) }
}

/** The brief in words, beside its data: an agent that reads only text is told the same. */
function sayBrief(brief: Brief): string {
  const { goal, scope, acceptance } = brief
  return [
    `Goal: ${goal}`,
    `Scope: compare ${scope.from} with ${scope.to} for the package ${TARGET}.`,
    acceptance === undefined
      ? 'The delivery is not judged.'
      : `Acceptance: deliver ${acceptance.required.join(' and ')}; ${acceptance.citations}; ${acceptance.coverage}.`,
  ].join('\n')
}

function sayReading({ document, version, text }: Reading): string {
  return `${document}, version ${version}, ${text.split('\n').length} lines`
}
