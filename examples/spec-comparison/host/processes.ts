/**
 * The processes of the demo besides itself: the agent, the host, and one comity command.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { HostMessage } from './main.ts'

/** A process of the demo's. */
export interface Started {
  readonly pid: number
  /** Resolves with the exit code, or with the signal that ended it. */
  readonly ended: Promise<number | string>
  /** `kill -9`, and waits until it is gone. */
  kill(): Promise<void>
}

const here = import.meta.dirname
const comity = join(here, '../../../bin/comity.js')

/** The command line of a documents server over these folders. */
export function docsCommand(folders: readonly string[]): readonly string[] {
  return [process.execPath, comity, 'docs', ...folders]
}

/** How the agent is started. */
export interface AgentOptions {
  readonly state: string
  readonly docs: readonly string[]
  /** 0 takes a free port. */
  readonly port: number
  readonly paceMs: number
  readonly forge: boolean
  /** A file for what it says beside its ready line. */
  readonly log: string
}

/** An agent that can be called. */
export interface AgentProcess extends Started {
  readonly card: string
  readonly port: number
}

/** Starts the agent and waits for its ready line. @throws Error when it ends before. */
export async function startAgent(options: AgentOptions): Promise<AgentProcess> {
  const child = spawn(
    process.execPath,
    [
      join(here, '../agent/main.ts'),
      `--state=${options.state}`,
      `--docs=${JSON.stringify(options.docs)}`,
      `--port=${options.port}`,
      `--pace=${options.paceMs}`,
      '--until-stdin-ends',
      ...(options.forge ? ['--forge'] : []),
    ],
    { stdio: ['pipe', 'pipe', openSync(options.log, 'a')] },
  )
  const started = track(child)
  if (child.stdout === null) throw new Error('the agent has no standard output')
  for await (const line of createInterface({ input: child.stdout })) {
    const card = /^agent ready on (\S+)$/.exec(line)?.[1]
    if (card !== undefined) return { ...started, card, port: Number(new URL(card).port) }
  }
  throw new Error(
    `the agent ended before it was ready (${await started.ended}); see ${options.log}`,
  )
}

/** Starts the host on a folder that holds its comity.yaml. */
export function startHost(
  out: string,
  options: { readonly criteria: boolean },
  told: (message: HostMessage) => void,
): Started {
  const child = fork(join(here, 'main.ts'), [out, ...(options.criteria ? [] : ['--no-criteria'])], {
    execArgv: ['--conditions=comity-source'],
  })
  child.on('message', (message) => told(message as HostMessage))
  return track(child)
}

/** Runs one comity command with its output on ours. @returns its exit code. */
export function runComity(...args: readonly string[]): Promise<number | string> {
  return track(spawn(process.execPath, [comity, ...args], { stdio: 'inherit' })).ended
}

function track(child: ChildProcess): Started {
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'gone'))
  })
  ended.catch(() => undefined)
  return {
    pid: child.pid ?? 0,
    ended,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
