/** The processes of the story: the statistics server, `comity up`, and single commands of comity. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

const COMITY = join(import.meta.dirname, '../../bin/comity.js')

/** A server that can be called. */
export interface Serving {
  readonly url: string
  /** `kill -9`, and waits until it is gone. */
  kill(): Promise<void>
  /** Asks it to end, and waits. */
  stop(): Promise<void>
}

/** @param args of its main.ts. */
export function startServer(...args: readonly string[]): Promise<Serving> {
  return serve(/^statistics ready on (\S+)$/, [
    join(import.meta.dirname, 'server/main.ts'),
    ...args,
  ])
}

export async function startComity(config: string): Promise<Serving> {
  const up = await serve(/^comity ready on (\S+)$/, [COMITY, 'up', '--port', '0', '-c', config])
  return { ...up, url: `${up.url}/mcp` }
}

/** Runs one command. @returns what it printed. */
export async function comity(config: string, ...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [COMITY, ...args, '-c', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return text(child.stdout)
}

async function serve(ready: RegExp, args: readonly string[]): Promise<Serving> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const end = (signal: NodeJS.Signals) => (): Promise<void> => ended(child, signal)
  for await (const line of createInterface({ input: child.stdout })) {
    const url = ready.exec(line)?.[1]
    if (url === undefined) continue
    child.stdout.resume()
    return { url, kill: end('SIGKILL'), stop: end('SIGTERM') }
  }
  throw new Error(`${args[0]} ended before it was ready`)
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}
