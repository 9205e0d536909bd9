/**
 * Processes that the bench starts, and what Linux says of them under /proc.
 *
 * Ends only what it started, by id. Every wait is bounded.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** What to start. */
export interface Launch {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Takes both outputs; thrown away when left out. */
  readonly log?: string
}

/** A process that runs; `stop` ends it and what it started. */
export interface Running {
  readonly pid: number
  readonly startedAt: number
  exited(): string | undefined
  /** @param patienceMs how long it may take over its own end before it is killed. */
  stop(patienceMs?: number): Promise<void>
}

const live = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of live) child.kill('SIGKILL')
})

export function startProcess({ command, args, env, cwd, log }: Launch): Running {
  const output = log === undefined ? 'ignore' : openSync(log, 'a')
  // This variable makes every Node start read a bundle of certificates; gateways differ in handing it on.
  const { NODE_EXTRA_CA_CERTS: _bundle, ...inherited } = process.env
  const startedAt = performance.now()
  const child = spawn(command, args, {
    cwd,
    env: { ...inherited, ...env },
    stdio: ['pipe', output, output],
  })
  child.stdin?.on('error', () => undefined)
  let end: string | undefined
  child.on('error', (error) => (end = error.message))
  const over = once(child, 'exit').then(([code, signal]) => {
    end ??= `ended with ${code ?? signal}`
    live.delete(child)
  })
  over.catch(() => undefined)
  live.add(child)
  const pid = child.pid ?? -1
  return {
    pid,
    startedAt,
    exited: () => end,
    stop: async (patienceMs = 5000) => {
      if (end !== undefined) return
      const family = descendants(pid)
      child.kill('SIGTERM')
      await Promise.race([over, pause(patienceMs)])
      if (end === undefined) child.kill('SIGKILL')
      await Promise.race([over, pause(1000)])
      for (const one of family) kill(one)
    },
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone already, which is what is wanted.
  }
}

/** A folder of its own, removed by `remove`. */
export function makeScratch(name: string): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `comity-bench-${name}-`))
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) }
}

/** A port of loopback that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** Waits until something listens. @throws Error when the process ends first, or nothing does in time. */
export async function waitForPort(port: number, running: Running, limitMs = 30_000): Promise<void> {
  const end = performance.now() + limitMs
  while (performance.now() < end) {
    const exited = running.exited()
    if (exited !== undefined) throw new Error(`a process of the bench ${exited} before it listened`)
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy()
        resolve(true)
      })
      socket.on('error', () => resolve(false))
    })
    if (open) return
    await pause(5)
  }
  throw new Error(`nothing listens on port ${port} after ${limitMs} ms`)
}

/** CPU seconds of a process so far, user and system, all its threads, without its children. */
export function cpuSeconds(pid: number): number {
  const fields = statOf(pid)
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Resident memory of a process, MiB. */
export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

export function loadAverage(): string {
  return readFileSync('/proc/loadavg', 'utf8').split(' ')[0] ?? ''
}

function statOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

function descendants(pid: number): readonly number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const parent = Number(statOf(Number(name))[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    } catch {
      // It ended while we looked.
    }
  }
  const found: number[] = []
  for (let rest = [pid]; rest.length > 0;) {
    rest = rest.flatMap((one) => children.get(one) ?? [])
    found.push(...rest)
  }
  return found
}
