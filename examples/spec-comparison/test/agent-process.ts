/**
 * The agent as a real process, and the official client in front of it.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Role, type Artifact, type Part, type SendMessageRequest, type Task } from '@a2a-js/sdk'
import { ClientFactory, type Client } from '@a2a-js/sdk/client'
import { onTestFinished } from 'vitest'
import { dataPart, textPart } from '../agent/task-changes.ts'
import { docsCommand } from '../host/processes.ts'
import { FOLDERS, FROM, PACKAGE, TO } from './real-input.ts'

/** How one agent process is started. */
export interface AgentOptions {
  readonly state: string
  /** 0 takes a free port. */
  readonly port?: number
  readonly paceMs?: number
  readonly forge?: boolean
  readonly docs?: readonly string[]
}

/** A running agent. */
export interface AgentProcess {
  readonly origin: string
  readonly port: number
  readonly client: Client
  /** Ends it as a power cut would and waits until it is gone. */
  kill(): Promise<void>
}

const main = fileURLToPath(new URL('../agent/main.ts', import.meta.url))

/** The documents server of these tests: the real one. Its bad behaviour is acted by docs-stand-in.ts. */
const DOCS = docsCommand(FOLDERS)

/** A folder for tasks that goes when the test does. */
export async function makeStateFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'spec-comparison-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Starts the agent and waits for its ready line. */
export async function startAgent(options: AgentOptions): Promise<AgentProcess> {
  const child = spawn(
    process.execPath,
    [
      main,
      `--state=${options.state}`,
      `--port=${options.port ?? 0}`,
      `--docs=${JSON.stringify(options.docs ?? DOCS)}`,
      `--pace=${options.paceMs ?? 0}`,
      ...(options.forge === true ? ['--forge'] : []),
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const kill = () => killProcess(child)
  onTestFinished(kill)
  const url = await readyUrl(child)
  const { origin, port } = new URL(url)
  return {
    origin,
    port: Number(port),
    client: await new ClientFactory().createFromUrl(origin),
    kill,
  }
}

async function readyUrl(child: ChildProcess): Promise<string> {
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  if (child.stdout === null) throw new Error('the agent has no stdout')
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^agent ready on (\S+)$/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  throw new Error(`the agent ended before it was ready: ${said}`)
}

async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** A brief for the real documents. */
export function makeBrief(sdkRange?: string): object {
  const target = sdkRange === undefined ? { package: PACKAGE } : { package: PACKAGE, sdkRange }
  return {
    goal: 'What does the new revision ask of this server, and what does it no longer ask?',
    scope: { from: FROM, to: TO, target },
    acceptance: { required: ['report.md', 'differences.json'] },
  }
}

/** A message of a caller. */
export function makeRequest(
  parts: Part[],
  more: { task?: Task; returnImmediately?: boolean; messageId?: string; contextId?: string } = {},
): SendMessageRequest {
  return {
    tenant: '',
    message: {
      messageId: more.messageId ?? randomUUID(),
      taskId: more.task?.id ?? '',
      contextId: more.contextId ?? more.task?.contextId ?? '',
      role: Role.ROLE_USER,
      parts,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: more.returnImmediately ?? false,
    },
    metadata: undefined,
  }
}

/** The parts of a message that carries a brief. */
export function briefParts(brief: unknown): Part[] {
  return [textPart('Please compare these two.'), dataPart(brief)]
}

/** Sends and expects a task back. */
export async function sendForTask(client: Client, request: SendMessageRequest): Promise<Task> {
  const result = await client.sendMessage(request)
  if (!('status' in result)) throw new Error('expected a task, got a message')
  return result
}

/** Reads a task. */
export function getTask(client: Client, id: string): Promise<Task> {
  return client.getTask({ tenant: '', id })
}

/** All text of some parts. */
export function textOf(parts: readonly Part[] | undefined): string {
  return (parts ?? [])
    .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
    .join('')
}

/** The delivered artifact of this name, put together. */
export function artifactText(task: { readonly artifacts: Artifact[] }, name: string): string {
  const found = task.artifacts.filter((artifact) => artifact.name === name)
  if (found.length !== 1) throw new Error(`expected one artifact ${name}, got ${found.length}`)
  return textOf(found[0]?.parts)
}

/** Resolves with the first defined value; fails after ten seconds with what was waited for. */
export async function until<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + 10_000
  while (Date.now() < deadline) {
    const value = await probe()
    if (value !== undefined) return value
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`waited ten seconds for ${what}`)
}
