/** `comity ls`: every peer, what it offers and under which name, what was left out and why. */
import { ComityError } from '../gateway/admin/errors.ts'
import type { CapabilityLine, PeerLine, StatusReport } from '../gateway/admin/operator.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { deprecatedLines, migrationLines } from './say-migration.ts'
import { interruptible, openSession } from './session.ts'
import { type Terminal, brief, visible } from './terminal.ts'

const SETTLE_MS = 20_000

export async function ls(
  options: CommonOptions,
  terminal: Terminal,
  wanted?: string,
): Promise<number> {
  const session = await openSession({ ...options, peers: wanted === undefined ? 'all' : [wanted] })
  try {
    const report = await interruptible(terminal, (live) =>
      session.operator.status({ waitMs: SETTLE_MS }, live),
    )
    const peers = report.peers.filter((line) => wanted === undefined || line.peer === wanted)
    if (wanted !== undefined && peers.length === 0) {
      throw new ComityError(
        'not_found',
        `no peer is called ${wanted}; configured: ${report.peers.map((line) => line.peer).join(', ') || 'none'}`,
      )
    }
    if (terminal.json) terminal.answer({ ...report, peers })
    else showStatus(terminal, { ...report, peers }, true)
    return peers.some((line) => line.state === 'failed') ? EXIT.failed : EXIT.done
  } finally {
    await session.close()
  }
}

/** Peers as `up` and `ls` print them. */
export function showStatus(terminal: Terminal, report: StatusReport, capabilities: boolean): void {
  if (report.peers.length === 0)
    terminal.line('no peers are configured: add some under mcpServers: or agents:')
  for (const peer of report.peers) {
    terminal.line(headline(peer))
    if (capabilities) showCapabilities(terminal, peer.capabilities)
    for (const line of linesOf(peer)) terminal.line(`  ${line}`)
    for (const gone of peer.capabilities.filter((line) => line.withdrawn)) {
      terminal.line(
        `  withdrawn: ${gone.kind} ${visible(gone.name)}: its definition changed; comity pins shows the difference`,
      )
    }
    for (const left of peer.leftOut)
      terminal.line(`  left out: ${left.kind} ${visible(left.name)}: ${visible(left.reason)}`)
  }
  for (const ignored of report.ignored) terminal.line(`ignored: ${ignored.path}: ${ignored.reason}`)
}

/** How it stands between two revisions, and what it uses that is deprecated. */
export function linesOf({ peer, migration, deprecated = [] }: PeerLine): readonly string[] {
  return [
    ...(migration === undefined ? [] : migrationLines(peer, migration)),
    ...deprecatedLines(deprecated),
  ]
}

/** One peer in one line. */
export function headline(peer: PeerLine): string {
  const by = [
    peer.transport,
    peer.revision === undefined ? undefined : `${peer.protocol} ${peer.revision}`,
  ]
    .filter((part) => part !== undefined)
    .join(', ')
  const itself =
    peer.callsItself === undefined ? '' : ` (calls itself ${brief(peer.callsItself, 60)})`
  switch (peer.state) {
    case 'ready':
      return `✓ ${peer.peer}: ${by}, ${counts(peer.capabilities)}${itself}`
    case 'failed':
      return `✗ ${peer.peer}: not reached (${peer.transport}): ${brief(peer.detail ?? 'no reason given', 600)}`
    case 'starting':
      return `… ${peer.peer}: still starting (${peer.transport})${sayStored(peer)}`
    case 'disabled':
      return `- ${peer.peer}: disabled in the configuration`
  }
}

/** What it offered in an earlier run is shown to callers until it is there. */
function sayStored({ storedAt, capabilities }: PeerLine): string {
  if (storedAt === undefined) return ''
  const minutes = Math.max(0, Math.floor((Date.now() - Date.parse(storedAt)) / 60_000))
  const age =
    minutes < 120
      ? `${minutes} min`
      : minutes < 2_880
        ? `${Math.floor(minutes / 60)} h`
        : `${Math.floor(minutes / 1_440)} days`
  return `; stored, ${age} old: ${counts(capabilities)}`
}

function counts(capabilities: readonly CapabilityLine[]): string {
  const kinds = new Map<string, number>()
  for (const line of capabilities) kinds.set(line.kind, (kinds.get(line.kind) ?? 0) + 1)
  const said = [...kinds].map(([kind, count]) => `${count} ${kind}${count === 1 ? '' : 's'}`)
  return said.length === 0 ? 'nothing offered' : said.join(', ')
}

function showCapabilities(terminal: Terminal, lines: readonly CapabilityLine[]): void {
  const rows = lines
    .filter((line) => !line.withdrawn)
    .map((line) => [
      `  ${line.kind}`,
      visible(line.exposed),
      line.risk,
      line.effect,
      line.title === undefined ? '' : brief(line.title, 60),
    ])
  terminal.table(['  kind', 'exposed as', 'risk', 'rule', 'title'], rows)
}
