/** `tools/list` of many peers, against the bare proxy in front of one server that has as many tools itself. */
import { judge, type Finding, type RunOptions } from '../rig/finding.ts'
import { runLoad, type LoadReport } from '../rig/load.ts'
import {
  startComity,
  startPeer,
  startProxy,
  waitForTools,
  type PeerEntry,
  type Served,
} from '../rig/targets.ts'
import { median } from '../rig/statistics.ts'
import { warmUp } from '../rig/warm-up.ts'

const PEERS = 20
const TOOLS = 50
const TARGET = 0.5
/** Of whole lists; ours are several pages. */
const COMPILED = { calls: 1000, least: 3, most: 6 }

export async function measureList(options: RunOptions): Promise<readonly Finding[]> {
  const started: Served[] = []
  try {
    const one = await startPeer(TOOLS)
    started.push(one)
    const all = await startPeer(PEERS * TOOLS)
    started.push(all)
    const proxy = await startProxy(all.url)
    started.push(proxy)
    const entries = Array.from({ length: PEERS }, (_, index): [string, PeerEntry] => [
      `p${index}`,
      { type: 'http', url: new URL(`/${index}/mcp`, one.url).href },
    ])
    const comity = await startComity(Object.fromEntries(entries))
    started.push(comity)
    await waitForTools(comity, PEERS * TOOLS)
    const work = { do: 'list', tools: PEERS * TOOLS } as const
    for (const { name, url, running } of [proxy, comity]) {
      const job = { url, inFlight: 16, work }
      await warmUp(options, { key: name, pid: running.pid, job }, COMPILED)
    }
    const findings: Finding[] = []
    for (const inFlight of [1, 16]) {
      const own: LoadReport[] = []
      const bare: LoadReport[] = []
      for (let round = 0; round < options.rounds; round += 1) {
        const lanes = [
          { served: proxy, reports: bare },
          { served: comity, reports: own },
        ]
        for (const { served, reports } of round % 2 === 0 ? lanes : lanes.toReversed()) {
          const report = await runLoad(
            {
              era: 'stateless',
              url: served.url,
              inFlight,
              durationMs: options.durationMs,
              warmUpMs: 300,
              work,
            },
            served.running.pid,
          )
          if (report.faults > 0) throw new Error(`${served.name}: ${report.firstFault}`)
          options.say(
            `list, ${inFlight} in flight, round ${round + 1}, ${served.name}: CPU ${report.cpuMs.toFixed(3)} ms, p50 ${report.p50.toFixed(2)} ms`,
          )
          reports.push(report)
        }
      }
      const ratio = median(own.map(({ cpuMs }, round) => cpuMs / bare[round]!.cpuMs))
      const cpu = (row: readonly LoadReport[]): string => median(row.map((r) => r.cpuMs)).toFixed(3)
      findings.push(
        judge(
          `tools/list, ${PEERS} peers × ${TOOLS} tools, ${inFlight} in flight`,
          ratio,
          TARGET,
          '×',
          `CPU ${cpu(own)} over ${cpu(bare)} ms a list`,
        ),
      )
    }
    return findings
  } finally {
    for (const served of started.toReversed()) await served.stop()
  }
}
