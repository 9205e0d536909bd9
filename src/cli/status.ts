/** `comity status`: which process owns the store, who is connected, how the peers are, and what waits for somebody. */
import { createSocketOperator, ownerAt } from '../gateway/admin/call-socket.ts'
import { OwnerGone } from '../gateway/admin/errors.ts'
import { lookAtFiles, readRecordOf } from '../gateway/admin/look-at-store.ts'
import type { PeerLine, RecordReport, StatusReport } from '../gateway/admin/operator.ts'
import { OWNER_WORDS } from '../gateway/admin/owner.ts'
import type { Config } from '../gateway/config/config.ts'
import { EXIT } from './exit-codes.ts'
import { headline, linesOf } from './ls.ts'
import type { CommonOptions } from './main.ts'
import { configOf, controlSocketOf, interruptible } from './session.ts'
import { type Terminal, brief } from './terminal.ts'
import { countOf, sinceOf, sizeOf } from './words.ts'

/** Peers that are just starting are worth a moment. */
const SETTLE_MS = 1_000

export async function status(options: CommonOptions, terminal: Terminal): Promise<number> {
  const config = configOf(options.config)
  const socket = controlSocketOf(config)
  const report = await ask(socket, terminal)
  if (report === undefined) return none(config, terminal)
  const { bytes, unwritable } = lookAtFiles(report.store)
  if (terminal.json) {
    terminal.answer({ ...report, files: { bytes, unwritable } })
    return EXIT.done
  }
  const { process: owner } = report
  terminal.line(
    `process ${report.pid}: ${OWNER_WORDS[owner.kind]}, since ${owner.since} (${sinceOf(owner.since, Date.now())}), comity ${report.version}`,
  )
  terminal.line(`  config  ${report.config}`)
  if (report.config !== config.file)
    terminal.line(`          this command would use ${config.file}: another one`)
  if (owner.configChanged)
    terminal.line('          it changed since: comity stop, and the next start reads it anew')
  showStore(terminal, report.store, report.record, { bytes, unwritable })
  terminal.line(`  socket  ${owner.socket ?? 'none'}`)
  terminal.line(`  http    ${report.url === undefined ? 'no port is open' : `${report.url}/mcp`}`)
  terminal.line(
    `  serving ${countOf(owner.pipes, 'stdio host')}, ${countOf(owner.acts, 'call')} running`,
  )
  showWaiting(terminal, report.record)
  if (report.peers.length === 0) terminal.line('no peers are configured')
  for (const peer of report.peers) showPeer(terminal, peer)
  return EXIT.done
}

async function ask(socket: string, terminal: Terminal): Promise<StatusReport | undefined> {
  if ((await ownerAt(socket)) === undefined) return undefined
  try {
    const operator = createSocketOperator(socket)
    return await interruptible(terminal, (live) => operator.status({ waitMs: SETTLE_MS }, live))
  } catch (error) {
    // It ended between the two questions.
    if (error instanceof OwnerGone) return undefined
    throw error
  }
}

/** Without a process: what lies on disk, and nothing is started to tell. */
async function none(config: Config, terminal: Terminal): Promise<number> {
  const record = await readRecordOf(config.store)
  const { bytes, unwritable } = lookAtFiles(config.store)
  if (terminal.json) {
    const store = { config: config.file, store: config.store, record, files: { bytes, unwritable } }
    terminal.answer({ process: null, ...store })
    return EXIT.done
  }
  terminal.line('no process is up: comity up starts one, and so does a host that runs comity mcp')
  terminal.line(`  config  ${config.file}`)
  showStore(terminal, config.store, record, { bytes, unwritable })
  showWaiting(terminal, record)
  terminal.line(
    config.peers.length === 0
      ? 'no peers are configured'
      : `${countOf(config.peers.length, 'peer')}, not started: ${config.peers.join(', ')}`,
  )
  return EXIT.done
}

function showStore(
  terminal: Terminal,
  file: string,
  { entries, mistrustedPins, recovered }: RecordReport,
  { bytes, unwritable }: { readonly bytes: number; readonly unwritable?: string | undefined },
): void {
  const size =
    bytes === 0
      ? 'not made yet'
      : `${countOf(entries, 'entry').replace(/ys$/u, 'ies')}, ${sizeOf(bytes)}`
  terminal.line(`  store   ${file}: ${size}`)
  if (unwritable !== undefined) terminal.line(`          ${unwritable}`)
  if (mistrustedPins > 0)
    terminal.line(
      `          ${countOf(mistrustedPins, 'definition')} refused: what was accepted does not fit the record (comity pins)`,
    )
  if (recovered > 0)
    terminal.line(
      `          ${countOf(recovered, 'call')} of an earlier process had no answer on record: unknown (comity ledger)`,
    )
}

function showWaiting(terminal: Terminal, { pendingApprovals, openTasks }: RecordReport): void {
  const waiting = [
    pendingApprovals === 0
      ? undefined
      : `${countOf(pendingApprovals, 'call')} for approval (comity approvals)`,
    openTasks === 0 ? undefined : `${countOf(openTasks, 'open task')} (comity tasks)`,
  ].filter((part) => part !== undefined)
  terminal.line(`  waiting ${waiting.length === 0 ? 'nothing' : waiting.join(', ')}`)
}

function showPeer(terminal: Terminal, peer: PeerLine): void {
  terminal.line(headline(peer))
  if (peer.leftOut.length > 0)
    terminal.line(`    ${countOf(peer.leftOut.length, 'thing')} left out (comity ls ${peer.peer})`)
  for (const line of linesOf(peer)) terminal.line(`    ${line}`)
  const { counts } = peer
  if (counts === undefined) return
  const said = [
    counts.noise === 0
      ? undefined
      : `${countOf(counts.noise, 'line')} on its output that are no messages, the first: ${brief(counts.noiseSample[0] ?? '', 60)}`,
    counts.stray === 0
      ? undefined
      : `${countOf(counts.stray, 'message')} that nothing here had asked for`,
    counts.nonConforming === 0
      ? undefined
      : `${countOf(counts.nonConforming, 'answer')} with our number in another form`,
    counts.droppedEvents === 0
      ? undefined
      : `${countOf(counts.droppedEvents, 'event')} dropped: their callers were too slow`,
  ]
  for (const line of said) if (line !== undefined) terminal.line(`    ${line}`)
}
