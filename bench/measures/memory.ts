/**
 * Memory of the gateway: idle over the bare proxy, and whether it grows with calls, and with sessions that are opened and closed.
 *
 * Resident memory is what the operating system sees: Node gives it back late and unevenly, so growth is told from a point at
 * which the gateway has reached its working size, and small growth counts as none.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { judge, type Finding, type RunOptions } from '../rig/finding.ts'
import { createClient, openPool } from '../rig/mcp-client.ts'
import { runLoad } from '../rig/load.ts'
import { residentMiB } from '../rig/processes.ts'
import { startComity, startPeer, startProxy, waitForTools, type Served } from '../rig/targets.ts'

const CALLS = 60_000
const SESSIONS = 1000
const IDLE_OVER_MIB = 60
/** What counts as flat: a tenth of what there is, and not less than this. */
const FLAT_MIB = 16
const SETTLE_MS = 3000

export async function measureMemory(options: RunOptions): Promise<readonly Finding[]> {
  const peer = await startPeer()
  const started: Served[] = [peer]
  try {
    const proxy = await startProxy(peer.url)
    started.push(proxy)
    const comity = await startComity({ peer: { type: 'http', url: peer.url } })
    started.push(comity)
    await waitForTools(comity, 2)
    return [
      await idle(comity, proxy),
      await overCalls(options, comity),
      await overSessions(options, comity),
    ]
  } finally {
    for (const served of started.toReversed()) await served.stop()
  }
}

/** Both have served a little, and then nothing for a while. */
async function idle(comity: Served, proxy: Served): Promise<Finding> {
  for (const served of [comity, proxy]) await calls(served, 50)
  await pause(SETTLE_MS)
  const own = residentMiB(comity.running.pid)
  const bare = residentMiB(proxy.running.pid)
  const note = `${own.toFixed(0)} MiB idle; bare proxy ${bare.toFixed(0)} MiB`
  return judge('idle memory over the bare proxy', own - bare, IDLE_OVER_MIB, 'MiB', note)
}

/** From a sixth on to the end: until then heap and compiled code reach their size. */
async function overCalls(options: RunOptions, comity: Served): Promise<Finding> {
  const all = options.quick ? CALLS / 20 : CALLS
  const { pid } = comity.running
  const seen: number[] = []
  for (let step = 0; step < 6; step += 1) {
    await calls(comity, all / 6)
    await pause(SETTLE_MS / 3)
    seen.push(residentMiB(pid))
    options.say(`memory after ${((step + 1) * all) / 6} calls: ${seen.at(-1)?.toFixed(0)} MiB`)
  }
  return flat(`memory over ${all} calls`, seen)
}

async function overSessions(options: RunOptions, comity: Served): Promise<Finding> {
  const all = options.quick ? SESSIONS / 10 : SESSIONS
  const { pid } = comity.running
  await sessions(comity, all / 10)
  await pause(SETTLE_MS / 3)
  const seen = [residentMiB(pid)]
  for (let step = 0; step < 4; step += 1) {
    await sessions(comity, all / 4)
    await pause(SETTLE_MS / 3)
    seen.push(residentMiB(pid))
    options.say(`memory after ${((step + 1) * all) / 4} sessions: ${seen.at(-1)?.toFixed(0)} MiB`)
  }
  return flat(`memory over ${all} sessions opened and closed`, seen)
}

function flat(what: string, seen: readonly number[]): Finding {
  const [first = Number.NaN] = seen
  const note = `${seen.map((mib) => mib.toFixed(0)).join(' → ')} MiB`
  return judge(
    what,
    (seen.at(-1) ?? Number.NaN) - first,
    Math.max(FLAT_MIB, first / 10),
    'MiB',
    note,
  )
}

async function calls(served: Served, maxCalls: number): Promise<void> {
  const report = await runLoad(
    {
      era: 'stateless',
      url: served.url,
      inFlight: 16,
      durationMs: 120_000,
      warmUpMs: 0,
      maxCalls,
      work: { do: 'call', tool: served.tool('peer', 'look'), bytes: 1000 },
    },
    served.running.pid,
  )
  if (report.faults > 0) throw new Error(`${served.name}: ${report.firstFault}`)
}

/** Each session makes one call. Eight at a time. */
async function sessions(served: Served, count: number): Promise<void> {
  const pool = openPool(served.url, 8)
  let left = count
  const params = { name: served.tool('peer', 'look'), arguments: { text: 'hello' } }
  const one = async (): Promise<void> => {
    while ((left -= 1) >= 0) {
      const client = createClient('session', served.url, pool)
      await client.open()
      await client.request('tools/call', params)
      await client.close()
    }
  }
  try {
    await Promise.all(Array.from({ length: 8 }, one))
  } finally {
    await pool.destroy()
  }
}
