/**
 * Compiled code first: what is measured is a gateway that has been serving. Node compiles a function when it was called often,
 * some of it only after tens of thousands of calls; until then a call costs a multiple.
 */
import { runLoad, type LoadJob } from './load.ts'
import type { RunOptions } from './finding.ts'

/** Who is warmed up. */
export interface ColdLane {
  readonly key: string
  readonly pid: number
  readonly job: Pick<LoadJob, 'url' | 'work' | 'inFlight'>
}

/** How much of it. */
export interface WarmUp {
  /** Calls of one round. */
  readonly calls: number
  readonly least: number
  readonly most: number
}

/** The cost of a call has settled when a round's differs by less from the one before. */
const SETTLED = 0.05
/** Of one round, milliseconds: a slow machine warms up with fewer calls. */
const LONGEST_MS = 15_000

/**
 * Loads one target in rounds until the CPU of a call no longer falls.
 *
 * @returns how many calls it took: none for a look. @throws Error when a call fails.
 */
export async function warmUp(
  options: RunOptions,
  { key, pid, job }: ColdLane,
  amount: WarmUp,
): Promise<number> {
  if (options.quick) return 0
  const { calls, least, most } = amount
  let before = Number.NaN
  for (let round = 1; ; round += 1) {
    const load = {
      ...job,
      maxCalls: calls,
      durationMs: LONGEST_MS,
      era: 'stateless',
      warmUpMs: 0,
    } as const
    const report = await runLoad(load, pid)
    if (report.faults > 0) throw new Error(`${key}: ${report.firstFault}`)
    options.say(`warm-up ${round}, ${key}: ${report.cpuMs.toFixed(3)} ms CPU a call`)
    const settled = Math.abs(report.cpuMs - before) <= SETTLED * before
    if (round >= most || (round >= least && settled)) return round * calls
    before = report.cpuMs
  }
}
