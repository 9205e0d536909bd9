/**
 * The cost of a call: the gateway's CPU for one `tools/call` over the bare proxy's, in the same round.
 *
 * A read is a tool that its trusted server says only reads: one record afterwards. A write is on record, durably, before it
 * is sent.
 */
import { judge, type Finding, type RunOptions } from '../rig/finding.ts'
import { runLoad, type LoadReport } from '../rig/load.ts'
import {
  startComity,
  startOther,
  startPeer,
  startProxy,
  waitForTools,
  type Served,
} from '../rig/targets.ts'
import { median } from '../rig/statistics.ts'
import { warmUp, type WarmUp } from '../rig/warm-up.ts'

type Kind = 'read' | 'write'

interface Cell {
  readonly bytes: number
  readonly inFlight: number
}

/** The tools of the peer by what they do. */
const TOOLS = { read: 'look', write: 'act' } as const satisfies Record<Kind, string>
const SMALL = 100
const LARGE = 65_536
const CELLS: readonly Cell[] = [
  { bytes: SMALL, inFlight: 16 },
  { bytes: SMALL, inFlight: 64 },
  { bytes: LARGE, inFlight: 16 },
  { bytes: LARGE, inFlight: 64 },
]

/** Before anything is measured, and before each cell. */
const COMPILED: WarmUp = { calls: 10_000, least: 4, most: 8 }
const USED_TO: WarmUp = { calls: 5000, least: 1, most: 1 }
const USED_TO_LARGE: WarmUp = { calls: 2000, least: 2, most: 4 }

function targetOf(kind: Kind, { bytes, inFlight }: Cell): number {
  if (kind === 'read') return bytes === SMALL ? 1.4 : 1.6
  if (bytes === LARGE) return 1.9
  return inFlight === 16 ? 2.2 : 1.7
}

interface Lane {
  readonly key: string
  readonly served: Served
  readonly tool: string
}

export async function measureCalls(
  options: RunOptions,
  kinds: readonly Kind[],
): Promise<readonly Finding[]> {
  const peer = await startPeer()
  const started: Served[] = [peer]
  try {
    const entry = { peer: { type: 'http', url: peer.url } } as const
    const proxy = await startProxy(peer.url)
    started.push(proxy)
    const gateways = [await startComity(entry)]
    started.push(...gateways)
    for (const file of options.also) {
      const other = await startOther(file, entry)
      started.push(other)
      gateways.push(other)
    }
    for (const gateway of gateways) await waitForTools(gateway, 2)
    const lanes: Lane[] = [
      { key: 'proxy', served: proxy, tool: TOOLS.read },
      ...gateways.flatMap((served) =>
        kinds.map((kind) => ({
          key: `${served.name} ${kind}`,
          served,
          tool: served.tool('peer', TOOLS[kind]),
        })),
      ),
    ]
    const findings: Finding[] = []
    await warmLanes(options, lanes, { bytes: SMALL, inFlight: 16 }, COMPILED)
    const wanted = ({ bytes, inFlight }: Cell): boolean =>
      options.cells === undefined || options.cells.includes(`${bytes}x${inFlight}`)
    for (const cell of CELLS.filter(wanted)) {
      await warmLanes(options, lanes, cell, cell.bytes === SMALL ? USED_TO : USED_TO_LARGE)
      const reports = await runRounds(options, lanes, cell)
      for (const lane of lanes.slice(1)) findings.push(judgeLane(lane, cell, reports, kinds))
    }
    return findings
  } finally {
    for (const served of started.toReversed()) await served.stop()
  }
}

async function warmLanes(
  options: RunOptions,
  lanes: readonly Lane[],
  { bytes, inFlight }: Cell,
  amount: WarmUp,
): Promise<void> {
  for (const { key, served, tool } of lanes) {
    const job = { url: served.url, inFlight, work: { do: 'call', tool, bytes } } as const
    await warmUp(options, { key, pid: served.running.pid, job }, amount)
  }
}

/** Rounds visit every lane before the next begins, in an order that turns. */
async function runRounds(
  options: RunOptions,
  lanes: readonly Lane[],
  { bytes, inFlight }: Cell,
): Promise<ReadonlyMap<string, readonly LoadReport[]>> {
  const reports = new Map<string, LoadReport[]>(lanes.map(({ key }) => [key, []]))
  for (let round = 0; round < options.rounds; round += 1) {
    for (let turn = 0; turn < lanes.length; turn += 1) {
      const lane = lanes[(turn + round) % lanes.length]!
      const report = await runLoad(
        {
          era: 'stateless',
          url: lane.served.url,
          inFlight,
          durationMs: options.durationMs,
          warmUpMs: 300,
          work: { do: 'call', tool: lane.tool, bytes },
        },
        lane.served.running.pid,
      )
      if (report.faults > 0) throw new Error(`${lane.key}: ${report.firstFault}`)
      options.say(
        `${bytes} B, ${inFlight} in flight, round ${round + 1}, ${lane.key}: ` +
          `${report.cpuMs.toFixed(3)} ms CPU, ${(report.calls / report.seconds).toFixed(0)} calls/s, p50 ${report.p50.toFixed(2)} ms`,
      )
      reports.get(lane.key)?.push(report)
    }
  }
  return reports
}

function judgeLane(
  lane: Lane,
  cell: Cell,
  reports: ReadonlyMap<string, readonly LoadReport[]>,
  kinds: readonly Kind[],
): Finding {
  const own = reports.get(lane.key) ?? []
  const bare = reports.get('proxy') ?? []
  const ratio = median(own.map(({ cpuMs }, round) => cpuMs / (bare[round]?.cpuMs ?? Number.NaN)))
  const kind = kinds.find((one) => lane.key.endsWith(one)) ?? 'read'
  const size = cell.bytes === SMALL ? '100 B' : '64 KiB'
  const cpu = (row: readonly LoadReport[]): string => median(row.map((one) => one.cpuMs)).toFixed(3)
  const rate = (row: readonly LoadReport[]): string =>
    median(row.map((one) => one.calls / one.seconds)).toFixed(0)
  return judge(
    `${lane.key}, ${size}, ${cell.inFlight} in flight`,
    ratio,
    targetOf(kind, cell),
    '×',
    `CPU ${cpu(own)} over ${cpu(bare)} ms a call; ${rate(own)} and ${rate(bare)} calls/s`,
  )
}
