/**
 * comity as its users have it: processes of `bin/comity.js` in a home of their own, with real
 * configuration files, stores and sockets.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const DOOR = join(import.meta.dirname, '../../bin/comity.js')
const SCRIPTED_PEER = join(import.meta.dirname, 'scripted-peer.fixture.ts')
const require = createRequire(import.meta.url)

/** A user's home: configuration, state and sockets lie in it, and nowhere else. */
export interface Home {
  readonly folder: string
  readonly config: string
  readonly env: Readonly<Record<string, string>>
  /** Writes comity.yaml; JSON is YAML. */
  configure(config: Readonly<Record<string, unknown>>): void
  path(...names: string[]): string
  remove(): void
}

/** What a process that ended left behind. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A process under way. */
export interface Running {
  readonly pid: number
  readonly stdout: () => string
  readonly stderr: () => string
  readonly ended: Promise<Ended>
  signal(name: NodeJS.Signals): void
  /** Ends it and waits. */
  stop(name?: NodeJS.Signals): Promise<Ended>
}

/** `comity up`, ready to be called. */
export interface Up extends Running {
  readonly url: string
}

export interface ServerEntry {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Makes a home. @param env what its processes see beside PATH and their folders. */
export function createHome(
  config: Readonly<Record<string, unknown>> = {},
  env: Readonly<Record<string, string>> = {},
): Home {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cj-')))
  const path = (...names: string[]): string => join(folder, ...names)
  mkdirSync(path('run'), { mode: 0o700 })
  const home: Home = {
    folder,
    config: path('comity.yaml'),
    env: {
      PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(':'),
      HOME: folder,
      XDG_RUNTIME_DIR: path('run'),
      XDG_STATE_HOME: path('state'),
      XDG_CONFIG_HOME: path('config'),
      ...env,
    },
    configure: (value) => writeFileSync(path('comity.yaml'), JSON.stringify(value)),
    path,
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
  home.configure(config)
  return home
}

/** Starts any command line of comity. */
export function start(home: Home, args: readonly string[]): Running {
  return follow(
    spawn(process.execPath, [DOOR, ...args], {
      cwd: home.folder,
      env: home.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
}

/** Runs a command line of comity to its end, without a terminal. */
export function comity(home: Home, ...args: string[]): Promise<Ended> {
  return start(home, args).ended
}

/** As `comity`, with `--json`. @returns the document it answered with. */
export async function comityJson(home: Home, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await comity(home, ...args, '--json')
  try {
    return { exit: code, ...(JSON.parse(stdout) as Record<string, unknown>) }
  } catch {
    throw new Error(`comity ${args.join(' ')} ended with ${code}: ${stdout}\n${stderr}`)
  }
}

/** Starts `comity up` on a free port and waits until calls can be served. */
export async function startUp(home: Home, ...args: string[]): Promise<Up> {
  const running = start(home, ['up', '--port', '0', ...args])
  const url = await until('comity is ready', () => {
    const found = /^comity ready on (http\S+)$/mu.exec(running.stdout())?.[1]
    if (found === undefined && !isAlive(running.pid)) {
      throw new Error(`comity up ended:\n${running.stdout()}\n${running.stderr()}`)
    }
    return found
  })
  return { ...running, url }
}

/** The command line of comity, for clients that start it themselves. */
export function comityCommand(home: Home, ...args: string[]): ServerEntry & { cwd: string } {
  return { command: process.execPath, args: [DOOR, ...args], env: home.env, cwd: home.folder }
}

/**
 * Runs a command line of comity at a terminal of its own, as a person would.
 *
 * @returns undefined when this machine has no util-linux `script` and no Python to make one.
 */
export async function atTerminal(home: Home, ...args: string[]): Promise<Ended | undefined> {
  return (await openTerminal(home, args))?.ended
}

/** As `atTerminal`, still running: what `type` is given is typed there. */
export async function openTerminal(
  home: Home,
  args: readonly string[],
): Promise<(Running & { type(text: string): void }) | undefined> {
  const words = [process.execPath, DOOR, ...args]
  const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  const ways: readonly (readonly [string, ...string[]])[] = [
    ['script', '-qec', line, '/dev/null'],
    ['python3', '-c', PTY, ...words],
  ]
  for (const [command, ...rest] of ways) {
    const child = spawn(command, rest, {
      cwd: home.folder,
      // Python may be started by a manager that needs to know the user's own home.
      env: { ...process.env, ...home.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    child.stdin.on('error', () => undefined)
    const spawned = once(child, 'spawn').then(
      () => true,
      () => false,
    )
    if (await spawned) {
      return { ...follow(child), type: (text) => void child.stdin.write(text) }
    }
  }
  return undefined
}

const PTY = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'

/** One of the official servers, by the last word of its package's name. */
export function official(name: string, ...args: string[]): ServerEntry {
  const manifest = require.resolve(`@modelcontextprotocol/server-${name}/package.json`)
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> }
  const file = Object.values(bin)[0]
  if (file === undefined) throw new Error(`${name} has no bin`)
  return { command: process.execPath, args: [join(dirname(manifest), file), ...args] }
}

/** `comity docs` on a folder. */
export function docsServer(folder: string): ServerEntry {
  return { command: process.execPath, args: [DOOR, 'docs', folder] }
}

/** The official everything server over Streamable HTTP. @returns where, and how to end it. */
export async function startEverythingOverHttp(): Promise<{ url: string; running: Running }> {
  const port = await freePort()
  const { command, args } = official('everything', 'streamableHttp')
  const child = spawn(command, args, {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const running = follow(child)
  await until('everything listens', () => running.stderr().includes('listening') || undefined)
  return { url: `http://127.0.0.1:${port}/mcp`, running }
}

/** What a scripted peer does; see scripted-peer.fixture.ts. */
export interface PeerScript {
  /** Its files lie here: `pids`, `runs`, `env.json`, `release`. */
  readonly folder: string
  readonly tools?: readonly Readonly<Record<string, unknown>>[]
  readonly resources?: readonly Readonly<Record<string, unknown>>[]
  readonly templates?: readonly Readonly<Record<string, unknown>>[]
  /** On standard error before anything else. */
  readonly complaint?: string
  /** Ends at once with this code. */
  readonly exitWith?: number
  /** Reads nothing before the file `go` is there. */
  readonly gated?: boolean
  /** Reads, and never answers. */
  readonly silent?: boolean
  /** Text that is no protocol, on standard output before and between messages. */
  readonly noise?: string
  /** So many bytes of lines that are no protocol, on standard output before anything is read. */
  readonly floodBytes?: number
  /** Answers tools/list with this error. */
  readonly listError?: string
}

/** A scripted stdio peer. */
export function scripted(
  script: PeerScript,
  env: Readonly<Record<string, string>> = {},
): ServerEntry {
  mkdirSync(script.folder, { recursive: true })
  return { command: process.execPath, args: [SCRIPTED_PEER, JSON.stringify(script)], env }
}

/** The lines of a file that may not be there yet. */
export function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch {
    return []
  }
}

/** Waits until `look` finds something; tries again and again, at most `timeoutMs`. */
export async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** Waits until none of these processes runs any more. */
export async function untilGone(pids: readonly number[]): Promise<void> {
  await until(`${pids.join(', ')} are gone`, () =>
    pids.some((pid) => isAlive(pid)) ? undefined : true,
  )
}

/** Whether a process runs; one that only waits for its parent to ask how it ended does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const [stat = ''] = linesOf(`/proc/${pid}/stat`)
  return !/^\d+ \(.*\) [ZX]/u.test(stat)
}

/** A port that was free just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

function follow(child: ChildProcess): Running {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
  return {
    pid: child.pid ?? -1,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    signal: (name) => void child.kill(name),
    stop(name = 'SIGTERM') {
      child.kill(name)
      return ended
    },
  }
}
