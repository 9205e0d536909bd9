/** Delegation, seen from outside: an agent of a process of its own, its log, and a home of comity that knows it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { createSocketOperator } from '../../src/gateway/admin/call-socket.ts'
import type { Operator, TaskReport } from '../../src/gateway/admin/operator.ts'
import { socketPath } from '../../src/gateway/admin/socket-path.ts'
import { comityJson, createHome, type Home, linesOf, until } from './comity-process.fixture.ts'

const AGENT = join(import.meta.dirname, 'delegation-agent.fixture.ts')

/** What a process-run agent is; see delegation-agent.fixture.ts for what it does. */
export interface AgentScript {
  readonly folder: string
  readonly port?: number
  readonly streaming?: boolean
  /** Default: it can list its tasks. */
  readonly list?: boolean
  /** Of its card. */
  readonly cacheControl?: string
}

/** One request as the agent logged it. */
export interface AgentRequest {
  readonly at: number
  readonly method: string
  readonly params?: {
    readonly id?: string
    readonly message?: {
      readonly messageId: string
      readonly taskId?: string
      readonly contextId?: string
      readonly referenceTaskIds?: readonly string[]
      readonly parts: readonly { readonly text?: string }[]
    }
  }
}

export interface AgentProcess {
  readonly folder: string
  readonly origin: string
  readonly card: string
  /** All requests so far, over every life of it. */
  log(): readonly AgentRequest[]
  count(method: string): number
  /** First sends and answers alike, in order. */
  sends(): readonly NonNullable<NonNullable<AgentRequest['params']>['message']>[]
  /** Makes a file that steers it. */
  make(name: string, text?: string): void
  remove(name: string): void
  kill(): Promise<void>
  restart(): Promise<void>
}

/** Starts an agent that ends with the test. */
export async function startAgent(shape: Omit<AgentScript, 'folder'> = {}): Promise<AgentProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'ca-'))
  let life = await live({ ...shape, folder })
  const { origin } = life
  onTestFinished(async () => {
    await life.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  const log = (): readonly AgentRequest[] =>
    linesOf(join(folder, 'requests.jsonl')).map((line) => JSON.parse(line) as AgentRequest)
  return {
    folder,
    origin,
    card: `${origin}/.well-known/agent-card.json`,
    log,
    count: (method) => log().filter((one) => one.method === method).length,
    sends: () =>
      log().flatMap(({ method, params }) =>
        (method === 'SendMessage' || method === 'SendStreamingMessage') && params?.message
          ? [params.message]
          : [],
      ),
    make: (name, text = '') => writeFileSync(join(folder, name), text),
    remove: (name) => rmSync(join(folder, name), { force: true }),
    kill: () => life.kill(),
    async restart() {
      life = await live({ ...shape, folder, port: Number(new URL(origin).port) })
    },
  }
}

async function live(script: AgentScript): Promise<{ origin: string; kill(): Promise<void> }> {
  mkdirSync(script.folder, { recursive: true })
  const child = spawn(process.execPath, [AGENT, JSON.stringify(script)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('ready ')) return { origin: line.slice(6), kill }
  }
  throw new Error('the agent ended before it was ready')
}

/** A home whose comity knows this agent as `research`; it goes with the test. */
export function homeWith(
  agent: { readonly card: string },
  more: Readonly<Record<string, unknown>> = {},
): Home {
  const home = createHome({
    agents: { research: { card: agent.card } },
    store: 'sqlite:./comity.db',
    ...more,
  })
  onTestFinished(() => home.remove())
  return home
}

/** A task as `--json` shows it. */
export interface ShownTask {
  readonly exit: number
  readonly taskId: string
  readonly callId: string
  readonly state: string
  readonly wait: string
  readonly next: string
  readonly remoteTaskId?: string
  readonly contextId?: string
  readonly theirWords?: string
  readonly questions: readonly { readonly key: string; readonly text: string }[]
  readonly artifacts: readonly {
    readonly artifactId: string
    readonly name: string
    readonly bytes: number
    readonly complete: boolean
  }[]
  readonly verdict: { readonly state: string; readonly reasons?: readonly string[] }
}

/** What `comity delegate --json` answered. */
export interface ShownDelegation {
  readonly exit: number
  readonly callId: string
  readonly outcome: {
    readonly state: string
    readonly code?: string
    readonly detail?: string
    readonly twinOf?: string
  }
  readonly task?: ShownTask
  readonly answerText?: string
}

export async function delegate(home: Home, ...words: string[]): Promise<ShownDelegation> {
  return (await comityJson(home, 'delegate', 'research', ...words)) as unknown as ShownDelegation
}

/** `comity tasks <id>`, with `--wait` or not. */
export async function taskOf(home: Home, id: string, ...words: string[]): Promise<ShownTask> {
  return (await comityJson(home, 'tasks', id, ...words)) as unknown as ShownTask
}

/** The verbs of the process that serves this home, without a process for each question. */
export function operatorOf(home: Home): Operator {
  return createSocketOperator(
    socketPath(home.path('comity.db'), {
      runtimeDirectory: home.env['XDG_RUNTIME_DIR'],
      temporaryDirectory: tmpdir(),
      userId: process.getuid?.() ?? 0,
    }),
  )
}

export const LIVE = { signal: new AbortController().signal, event: (): void => undefined }

/** Asks until the task is as wanted. */
export async function untilTask(
  home: Home,
  id: string,
  wanted: (task: TaskReport) => boolean,
): Promise<TaskReport> {
  const operator = operatorOf(home)
  return until(`task ${id} is as wanted`, async () => {
    const task = await operator.task({ taskId: id }, LIVE)
    return wanted(task) ? task : undefined
  })
}
