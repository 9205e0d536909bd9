/** The verbs about processes, ours and the peers': stop, restart, logs. What is asked to end says what was still running. */
import type { Peer } from '../../core/ports/peer.ts'
import { ComityError } from '../../core/words/errors.ts'
import { countRecord } from './look-at-store.ts'
import type { Live, LogsReport, Operator, ProcessReport, RecordReport } from './operator.ts'
import { OWNER_WORDS } from './owner.ts'
import type { HostParts } from './parts.ts'

const DEFAULT_LINES = 100
/** How often a peer that is followed is looked at, milliseconds. */
const FOLLOW_MS = 150
/** By so much of what was shown last the place to go on from is found. */
const ANCHOR_CHARACTERS = 512

export function createProcessVerbs(
  parts: HostParts,
): Pick<Operator, 'endProcess' | 'restart' | 'logs'> {
  return {
    async endProcess(input, live) {
      const { owner } = parts
      const { stop } = owner
      if (stop === undefined)
        throw new ComityError(
          'conflict',
          `process ${process.pid} owns the store and is ${OWNER_WORDS[owner.kind]}: it cannot be asked to end`,
        )
      const { openTasks } = await reportRecord(parts)
      // The answer leaves first: with the process goes its socket.
      void (live.answered ?? Promise.resolve()).then(() => stop(input))
      const report = { pid: process.pid, kind: owner.kind, pipes: owner.pipes() }
      return { ...report, acts: owner.acts(), openTasks }
    },
    async restart({ peer: name }) {
      const peer = peerOf(parts, name)
      if (peer.restart === undefined)
        throw new ComityError(
          'usage',
          `${name} cannot be restarted by hand: it is reached anew by itself at the next call`,
        )
      try {
        await peer.restart()
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error)
        throw new ComityError('internal', `${name} did not start: ${words}`, { cause: error })
      }
      return { peer: name }
    },
    logs: ({ peer, lines, follow }, live) =>
      readLogs(peerOf(parts, peer), lines ?? DEFAULT_LINES, follow === true, live),
  }
}

/** The process that answers. */
export function reportProcess({ owner }: HostParts): ProcessReport {
  return {
    kind: owner.kind,
    since: new Date(owner.since).toISOString(),
    ...(owner.socket === undefined ? {} : { socket: owner.socket }),
    pipes: owner.pipes(),
    acts: owner.acts(),
    configChanged: owner.configChanged(),
  }
}

/** What stands in the store that somebody or something has to do with. */
export async function reportRecord({ store, owner }: HostParts): Promise<RecordReport> {
  return {
    ...(await countRecord(store)),
    mistrustedPins: store.pins.mistrusted.length,
    recovered: owner.recovered,
  }
}

function peerOf({ config, peers }: HostParts, name: string): Peer {
  const found = peers.find((peer) => peer.name === name)
  if (found !== undefined) return found
  if (config.peers.includes(name))
    throw new ComityError(
      'not_found',
      `${name} is not started: it is disabled, or no process is up`,
    )
  throw new ComityError(
    'not_found',
    `no peer is called ${name}; configured: ${config.peers.join(', ') || 'none'}`,
  )
}

async function readLogs(
  peer: Peer,
  limit: number,
  follow: boolean,
  live: Live,
): Promise<LogsReport> {
  const { transport } = peer.report()
  if (peer.printed === undefined || transport !== 'stdio')
    throw new ComityError(
      'conflict',
      `${peer.name} is reached by ${transport}: what it prints stays where it runs. Only servers that comity starts itself (command:) have logs here`,
    )
  const printed = peer.printed()
  const lines = linesOf(printed).slice(-limit)
  if (follow) {
    for (const text of lines) tell(live, text)
    await followOn(() => peer.printed?.() ?? '', printed, live)
  }
  const { state, detail } = peer.report()
  return {
    peer: peer.name,
    state,
    lines: follow ? [] : lines,
    ...(state === 'failed' && detail !== undefined ? { detail } : {}),
  }
}

/** A line that is still being written is told when it is whole, or when nothing more comes. */
async function followOn(printed: () => string, from: string, live: Live): Promise<void> {
  let shown = from
  let before = from
  while (!live.signal.aborted) {
    await pause(FOLLOW_MS, live.signal)
    const now = printed()
    const fresh = added(shown, now)
    const rest = now === before ? '' : fresh.slice(fresh.lastIndexOf('\n') + 1)
    for (const line of linesOf(fresh.slice(0, fresh.length - rest.length))) tell(live, line)
    shown = now.slice(0, now.length - rest.length)
    before = now
  }
}

function tell(live: Live, text: string): void {
  live.event({ event: 'log', level: 'stderr', text })
}

/** What stands at the end of `now` and not in `before`; both are windows on one growing text. */
function added(before: string, now: string): string {
  if (now.startsWith(before)) return now.slice(before.length)
  const anchor = before.slice(-ANCHOR_CHARACTERS)
  const at = now.lastIndexOf(anchor)
  return at < 0 ? now : now.slice(at + anchor.length)
}

function linesOf(text: string): readonly string[] {
  return text.split(/\r?\n/u).filter((line) => line !== '')
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}
