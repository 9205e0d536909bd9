/**
 * How a command reaches the store: through the process that owns it when there is one, else by owning it for a moment.
 */
import { createSocketOperator, ownerAt } from '../gateway/admin/call-socket.ts'
import { ComityError } from '../gateway/admin/errors.ts'
import type { Live, LiveEvent, Operator } from '../gateway/admin/operator.ts'
import type { SocketOwner } from '../gateway/admin/serve-socket.ts'
import { socketPath } from '../gateway/admin/socket-path.ts'
import type { Config } from '../gateway/config/config.ts'
import { loadConfig } from '../gateway/config/load-config.ts'
import { configFileOf } from './config-file.ts'
import { EXIT } from './exit-codes.ts'
import { socketPlace } from './socket-place.ts'
import { type Terminal, brief } from './terminal.ts'

export interface SessionNeeds {
  /** `-c`. */
  readonly config?: string
  /** Which peers must be started when no process is up: none, all, or these. */
  readonly peers: 'none' | 'all' | readonly string[]
}

export interface Session {
  readonly operator: Operator
  readonly config: Config
  /** A process owns the store and goes on after this command. */
  readonly shared: boolean
  close(): Promise<void>
}

/** For a verb whose progress nobody hears of, and which nobody calls off. */
export const UNHEARD: Live = { signal: new AbortController().signal, event: () => undefined }

/** Reads the configuration that this command would use. */
export function configOf(flag: string | undefined): Config {
  return loadConfig(configFileOf(flag), process.env)
}

/** Where the control socket of this configuration's store lies. */
export function controlSocketOf(config: Config): string {
  return socketPath(config.store, socketPlace())
}

/** How long a command waits for a process that owns the store and has other peers than those needed. */
const PATIENCE_MS = 3_000
/** The same for one that does not answer: it begins, or it is about to end. */
const UNREACHED_PATIENCE_MS = 10_000
/** In all, however many own the store one after another. */
const LONGEST_WAIT_MS = 30_000
const LOOK_AGAIN_MS = 40

/**
 * Opens a session; `close` it in every case.
 *
 * @throws ComityError `store_locked` when the store stays in use by a process that cannot be gone through.
 */
export async function openSession(needs: SessionNeeds): Promise<Session> {
  const config = configOf(needs.config)
  const socket = controlSocketOf(config)
  const started = performance.now()
  let owner = ''
  let since = started
  for (;;) {
    const there = await ownerAt(socket)
    if (there !== undefined && hasPeers(there, needs.peers)) return sessionThrough(needs, there)
    try {
      return await ownSession(needs, config, socket)
    } catch (error) {
      if (!(error instanceof ComityError) || error.code !== 'store_locked') throw error
      const now = performance.now()
      // Its words name the process: commands that own the store one after another each get their time.
      if (owner !== error.message) since = now
      owner = error.message
      const patience = there === undefined ? UNREACHED_PATIENCE_MS : PATIENCE_MS
      if (now - since > patience || now - started > LONGEST_WAIT_MS) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}

function hasPeers({ peers }: SocketOwner, needed: SessionNeeds['peers']): boolean {
  if (needed === 'none' || peers === 'all') return true
  return needed !== 'all' && peers !== 'none' && needed.every((peer) => peers.includes(peer))
}

/** A session through the process that owns the store. One that ended before it was asked is done without. */
function sessionThrough(needs: SessionNeeds, owner: SocketOwner): Session {
  const config = configOf(needs.config)
  let next: Promise<Session> | undefined
  const otherwise = async (): Promise<Operator> => (await (next ??= openSession(needs))).operator
  return {
    operator: createSocketOperator(controlSocketOf(config), otherwise),
    config,
    shared: !owner.passing,
    close: async () => {
      await (await next)?.close()
    },
  }
}

async function ownSession(needs: SessionNeeds, config: Config, socket: string): Promise<Session> {
  const { openHost } = await import('../gateway/compose/open-host.ts')
  const host = await openHost({
    config,
    socket,
    owner: { kind: 'command' },
    peers: needs.peers,
    parentEnvironment: process.env,
  })
  return { operator: host.operator, config, shared: false, close: () => host.close() }
}

/**
 * Runs one verb so that Ctrl-C calls it off: the first press asks, a second one ends this process.
 *
 * @param what what the first press does: a call is canceled; a wait ends and what is waited for goes on.
 */
export async function interruptible<T>(
  terminal: Terminal,
  run: (live: Live) => Promise<T>,
  what: 'call' | 'wait' = 'call',
): Promise<T> {
  const stop = new AbortController()
  let pressed = 0
  const interrupt = (): void => {
    pressed += 1
    if (pressed > 1) process.exit(EXIT.interrupted)
    terminal.note(
      what === 'call'
        ? 'canceling (press again to leave at once)'
        : 'the wait ends, the work goes on (press again to leave at once)',
    )
    process.exitCode = EXIT.interrupted
    stop.abort()
  }
  process.on('SIGINT', interrupt)
  try {
    return await run({ signal: stop.signal, event: (event) => showEvent(terminal, event) })
  } finally {
    process.off('SIGINT', interrupt)
  }
}

function showEvent(terminal: Terminal, event: LiveEvent): void {
  switch (event.event) {
    case 'progress':
      terminal.note(
        `progress ${event.progress ?? ''}${event.total === undefined ? '' : `/${event.total}`} ${brief(event.message ?? '', 200)}`.trimEnd(),
      )
      return
    case 'log':
      terminal.note(`log ${brief(event.level, 20)}: ${brief(event.text, 400)}`)
      return
    case 'task':
      terminal.note(
        `${event.taskId} ${event.state}${event.text === undefined ? '' : `; it says: ${brief(event.text, 300)}`}`,
      )
  }
}
