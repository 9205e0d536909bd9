/**
 * Supervision of one stdio server's process: how it is started, what it inherits, how it ends.
 *
 * No shell, a process group of its own, a minimal environment. Stopping closes its input, then asks
 * (TERM), then insists (KILL), always the whole group: what a server started goes with it, on Linux also what left the group.
 *
 * @source MCP 2026-07-28, transports, stdio, shutdown.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { findMarked } from './marked.ts'
import { sharedWatch } from './watch.ts'

export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
  /** Added to the minimal environment; the operator's own words. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface ServerProcess {
  readonly input: Writable
  readonly output: Readable
  readonly pid: number
  /** Resolves when the process has ended, with how, in words. */
  readonly ended: Promise<string>
  /** The last of what it printed on stderr, secrets masked. */
  stderrTail(): string
  /** Idempotent; resolves when the whole group is gone. */
  stop(): Promise<void>
}

export interface StopTimes {
  /** How long after its input closed a server may take, milliseconds, default 1000. */
  readonly closeMs?: number
  /** How long after TERM, milliseconds, default 1000. */
  readonly termMs?: number
}

/** What a program needs to run at all. Everything else may be a secret of ours. */
const INHERITED = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TERM',
  'TMPDIR',
  'TEMP',
  'TMP',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'APPDATA',
  'LOCALAPPDATA',
  'HOMEDRIVE',
  'HOMEPATH',
  'PATHEXT',
  'PROGRAMFILES',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'USERPROFILE',
] as const

const STDERR_TAIL_BYTES = 16 * 1024
/** How long what a server left behind may take after TERM: so many times so many milliseconds. */
const SWEEP_ROUNDS = 20
const SWEEP_MS = 10
/** Shorter values are words like `1` or `debug` whose masking would only garble the text. */
const MASKED_FROM_LENGTH = 6

/**
 * The environment a server gets: the few inherited entries, then what the operator configured.
 *
 * NODE_EXTRA_CA_CERTS stays out on purpose: it doubles the start of every Node child.
 *
 * @param own the environment of this process.
 */
export function minimalEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const [name, value] of Object.entries(own)) {
    if (isInherited(name) && value !== undefined) environment[name] = value
  }
  return { ...environment, ...configured }
}

/** Whether every server gets this entry of our environment. */
export function isInherited(name: string): boolean {
  const upper = name.toUpperCase()
  return upper.startsWith('LC_') || (INHERITED as readonly string[]).includes(upper)
}

/**
 * Starts the server.
 *
 * @param environment what `minimalEnvironment` is to choose from.
 * @throws Error when it cannot be started: no such command, no right to run it, no such folder.
 */
export async function startServer(
  server: ServerCommand,
  environment: Readonly<Record<string, string | undefined>>,
  times: StopTimes = {},
): Promise<ServerProcess> {
  const watch = sharedWatch()
  const mark = watch.mark()
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(
    server.command,
    [...server.args],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
      shell: false,
      env: { ...minimalEnvironment(environment, server.env), [mark.name]: mark.value },
      ...(server.cwd === undefined ? {} : { cwd: server.cwd }),
    },
  )
  const { pid } = child
  if (pid !== undefined) watch.watch(pid)
  child.stdin.on('error', () => {})
  const stderr = keepTail(child.stderr, Object.values(server.env))
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal === null ? `exited with code ${code}` : `was ended by ${signal}`)
    })
    child.once('error', (error) => resolve(`could not run: ${error.message}`))
  })
  if (pid === undefined) throw new Error(await startError(server, ended))
  const cleaned = ended.then(async () => {
    await sweepGroup(pid)
    await sweepStrays(`${mark.name}=${mark.value}`)
    watch.forget(pid)
  })
  let stopping: Promise<void> | undefined
  return {
    input: child.stdin,
    output: child.stdout,
    pid,
    ended,
    stderrTail: stderr,
    stop: () => (stopping ??= stopProcess(child.stdin, pid, ended, times).then(() => cleaned)),
  }
}

async function startError(server: ServerCommand, ended: Promise<string>): Promise<string> {
  const where = server.cwd === undefined ? '' : ` in ${server.cwd}`
  return `cannot start \`${server.command}\`${where}: it ${await ended}; check that the command is installed and on PATH, or give its full path`
}

async function stopProcess(
  input: Writable,
  pid: number,
  ended: Promise<string>,
  times: StopTimes,
): Promise<void> {
  input.end()
  if (await endsWithin(ended, times.closeMs ?? 1000)) return
  signalGroup(pid, 'SIGTERM')
  if (await endsWithin(ended, times.termMs ?? 1000)) return
  signalGroup(pid, 'SIGKILL')
  await ended
}

/** What the server itself started and left behind: asked, then made to go. */
async function sweepGroup(pid: number): Promise<void> {
  if (!signalGroup(pid, 'SIGTERM')) return
  for (let round = 0; round < SWEEP_ROUNDS; round += 1) {
    await delay(SWEEP_MS)
    if (!groupLives(pid)) return
  }
  signalGroup(pid, 'SIGKILL')
}

/** What it started and what left its group: asked, then made to go. */
async function sweepStrays(mark: string): Promise<void> {
  const strays = await findMarked(mark)
  if (strays.length === 0) return
  for (const pid of strays) signal(pid, 'SIGTERM')
  for (let round = 0; round < SWEEP_ROUNDS && strays.some((pid) => signal(pid, 0)); round += 1)
    await delay(SWEEP_MS)
  // Looked for anew: what goes may start others on its way.
  for (const pid of await findMarked(mark)) signal(pid, 'SIGKILL')
}

async function endsWithin(ended: Promise<string>, ms: number): Promise<boolean> {
  const timer = new AbortController()
  const late = delay(ms, false, { signal: timer.signal }).catch(() => false)
  const inTime = await Promise.race([ended.then(() => true), late])
  timer.abort()
  return inTime
}

function groupLives(pid: number): boolean {
  return signalGroup(pid, 0)
}

/** @returns whether there was anyone to tell. */
function signalGroup(pid: number, name: NodeJS.Signals | 0): boolean {
  // Windows knows no groups; there only the process itself is reached.
  return signal(process.platform === 'win32' ? pid : -pid, name)
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name)
    return true
  } catch {
    return false
  }
}

function keepTail(stderr: Readable, secrets: readonly string[]): () => string {
  let tail: Buffer = Buffer.alloc(0)
  stderr.on('data', (chunk: Buffer) => {
    const joined = tail.length === 0 ? chunk : Buffer.concat([tail, chunk])
    // Twice the tail, so that a secret cut at the edge is still masked before the edge is shown.
    tail = joined.subarray(-2 * STDERR_TAIL_BYTES)
  })
  stderr.on('error', () => {})
  return () => maskSecrets(tail.toString('utf8'), secrets).slice(-STDERR_TAIL_BYTES)
}

/** Replaces every configured value in a text that people will see. */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= MASKED_FROM_LENGTH)
    .toSorted((one, other) => other.length - one.length)
    .reduce((masked, secret) => masked.replaceAll(secret, '***'), text)
}
