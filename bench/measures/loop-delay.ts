/**
 * How long the main thread is held up while the disk is slow: every barrier takes 8 ms longer, writes are under way, and the
 * gateway's own event loop is watched from within.
 *
 * The slow disk is a library that stands before the C library's `fsync` and `fdatasync`, compiled here.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { judge, notMeasured, type Finding, type RunOptions } from '../rig/finding.ts'
import { runLoad } from '../rig/load.ts'
import { askProbe } from '../rig/probe.ts'
import { makeScratch } from '../rig/processes.ts'
import { startComity, startPeer, waitForTools, type Served } from '../rig/targets.ts'
import { median } from '../rig/statistics.ts'

const PROBES = join(import.meta.dirname, '..', 'probes')
const SLOW_MS = 8
const TARGET_MS = 10
const WHAT = `event-loop delay p99, writes, ${SLOW_MS} ms more at each fsync`

interface LoopDelay {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export async function measureLoopDelay(options: RunOptions): Promise<readonly Finding[]> {
  const scratch = makeScratch('slow-disk')
  try {
    const library = join(scratch.path, 'slow-disk.so')
    const problem = compile(library)
    if (problem !== undefined) return [notMeasured(WHAT, problem)]
    return await underLoad(options, library, join(scratch.path, 'delay.json'))
  } finally {
    scratch.remove()
  }
}

async function underLoad(
  options: RunOptions,
  library: string,
  file: string,
): Promise<readonly Finding[]> {
  const peer = await startPeer()
  const started: Served[] = [peer]
  try {
    const comity = await startComity(
      { peer: { type: 'http', url: peer.url } },
      {
        nodeArgs: ['--import', join(PROBES, 'loop-delay.mjs')],
        env: { LD_PRELOAD: library, SLOW_DISK_MS: String(SLOW_MS), LOOP_DELAY_FILE: file },
      },
    )
    started.push(comity)
    await waitForTools(comity, 2)
    const delays: LoopDelay[] = []
    let p50 = 0
    // The first load warms up and is not told.
    for (let round = -1; round < options.rounds; round += 1) {
      await askProbe(comity.running.pid, file)
      const report = await runLoad(
        {
          era: 'stateless',
          url: comity.url,
          inFlight: 16,
          durationMs: options.durationMs,
          warmUpMs: 300,
          work: { do: 'call', tool: comity.tool('peer', 'act'), bytes: 100 },
        },
        comity.running.pid,
      )
      if (report.faults > 0) throw new Error(report.firstFault)
      const delay = (await askProbe(comity.running.pid, file)) as LoopDelay
      options.say(
        `loop delay, round ${round + 1}: p50 ${delay.p50.toFixed(2)}, p99 ${delay.p99.toFixed(2)} ms`,
      )
      p50 = report.p50
      if (round >= 0) delays.push(delay)
    }
    const p99 = median(delays.map((delay) => delay.p99))
    const half = median(delays.map((delay) => delay.p50)).toFixed(2)
    const note = `p50 ${half} ms (an idle loop shows 1.1); 16 in flight, a write's p50 ${p50.toFixed(1)} ms`
    return [judge(WHAT, p99, TARGET_MS, 'ms', note)]
  } finally {
    for (const served of started.toReversed()) await served.stop()
  }
}

/** @returns why there is no library. */
function compile(library: string): string | undefined {
  if (process.platform !== 'linux') return 'a slow disk is made with LD_PRELOAD, on Linux only'
  const source = join(PROBES, 'slow-disk.c')
  const run = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
  if (run.error !== undefined) return 'no C compiler (cc) to make a slow disk with'
  return run.status === 0
    ? undefined
    : `the slow disk does not compile: ${String(run.stderr).slice(0, 200)}`
}
