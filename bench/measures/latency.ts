/** One call at a time: how much later its answer is than the peer's own, against what the disk takes for one barrier. */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { judge, type Finding, type RunOptions } from '../rig/finding.ts'
import { runLoad } from '../rig/load.ts'
import { makeScratch } from '../rig/processes.ts'
import { startComity, startPeer, startProxy, waitForTools, type Served } from '../rig/targets.ts'
import { median } from '../rig/statistics.ts'
import { warmUp } from '../rig/warm-up.ts'

const SYNCS = 200
const OWN_WORK_MS = 0.3
const COMPILED = { calls: 10_000, least: 4, most: 8 }

export async function measureLatency(options: RunOptions): Promise<readonly Finding[]> {
  const peer = await startPeer()
  const started: Served[] = [peer]
  try {
    const proxy = await startProxy(peer.url)
    started.push(proxy)
    const comity = await startComity({ peer: { type: 'http', url: peer.url } })
    started.push(comity)
    await waitForTools(comity, 2)
    const lanes = [
      { key: 'direct', served: peer, tool: 'look' },
      { key: 'proxy', served: proxy, tool: 'look' },
      { key: 'read', served: comity, tool: comity.tool('peer', 'look') },
      { key: 'write', served: comity, tool: comity.tool('peer', 'act') },
    ] as const
    for (const { key, served, tool } of lanes) {
      const job = { url: served.url, inFlight: 16, work: { do: 'call', tool, bytes: 100 } } as const
      await warmUp(options, { key, pid: served.running.pid, job }, COMPILED)
    }
    const p50 = new Map<string, number[]>(lanes.map(({ key }) => [key, []]))
    const syncs: number[] = []
    for (let round = 0; round < options.rounds; round += 1) {
      syncs.push(barrierMs())
      for (const { key, served, tool } of lanes) {
        const work = { do: 'call', tool, bytes: 100 } as const
        const report = await runLoad(
          {
            era: 'stateless',
            url: served.url,
            inFlight: 1,
            durationMs: options.durationMs,
            warmUpMs: 300,
            work,
          },
          served.running.pid,
        )
        if (report.faults > 0) throw new Error(`${key}: ${report.firstFault}`)
        options.say(
          `1 in flight, round ${round + 1}, ${key}: p50 ${report.p50.toFixed(3)} ms, CPU ${report.cpuMs.toFixed(3)} ms`,
        )
        p50.get(key)?.push(report.p50)
      }
    }
    const of = (key: string): number => median(p50.get(key) ?? [])
    const sync = median(syncs)
    return (['read', 'write'] as const).map((kind) =>
      judge(
        `${kind}, 100 B, 1 in flight, added p50`,
        of(kind) - of('direct'),
        2 * sync + OWN_WORK_MS,
        'ms',
        `p50 ${of(kind).toFixed(2)}, without a gateway ${of('direct').toFixed(2)}, bare proxy ${of('proxy').toFixed(2)}; fdatasync ${sync.toFixed(3)} ms`,
      ),
    )
  } finally {
    for (const served of started.toReversed()) await served.stop()
  }
}

/** What one barrier costs where stores lie in this run: the median of many, each behind a page that was written. */
function barrierMs(): number {
  const scratch = makeScratch('sync')
  const descriptor = openSync(join(scratch.path, 'log'), 'w')
  const page = Buffer.alloc(4096, 1)
  const times: number[] = []
  for (let count = 0; count < SYNCS; count += 1) {
    writeSync(descriptor, page)
    const begun = performance.now()
    fdatasyncSync(descriptor)
    times.push(performance.now() - begun)
  }
  closeSync(descriptor)
  scratch.remove()
  return median(times)
}
