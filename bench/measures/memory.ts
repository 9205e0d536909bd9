/**
 * Memory of the gateway: idle over the bare proxy, and whether it grows with calls, and with sessions that are opened and closed.
 *
 * Growth is told after a collection of all garbage, from a point at which code is compiled and caches are full: Node collects late
 * and gives back late, so that what is resident at some moment says more of the moment than of what is held.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { judge, type Finding, type RunOptions } from '../rig/finding.ts'
import { createClient, openPool } from '../rig/mcp-client.ts'
import { runLoad } from '../rig/load.ts'
import { askProbe } from '../rig/probe.ts'
import { makeScratch, residentMiB } from '../rig/processes.ts'
import { startComity, startPeer, startProxy, waitForTools, type Served } from '../rig/targets.ts'

const PROBE = join(import.meta.dirname, '..', 'probes', 'held-memory.mjs')
const CALLS = 60_000
const SESSIONS = 1000
const IDLE_OVER_MIB = 60
/** What counts as flat, of what is held: a leak of a hundred bytes a call is as much. */
const FLAT_MIB = 4
const SETTLE_MS = 3000

/** MiB, after a collection of all garbage. */
interface Memory {
  readonly held: number
  readonly resident: number
}

type Look = () => Promise<Memory>

export async function measureMemory(options: RunOptions): Promise<readonly Finding[]> {
  const peer = await startPeer()
  try {
    return [await measureIdle(peer), ...(await measureGrowth(options, peer))]
  } finally {
    await peer.stop()
  }
}

async function measureIdle(peer: Served): Promise<Finding> {
  const started: Served[] = []
  try {
    const proxy = await startProxy(peer.url)
    started.push(proxy)
    const comity = await startComity({ peer: { type: 'http', url: peer.url } })
    started.push(comity)
    await waitForTools(comity, 2)
    return await idle(comity, proxy)
  } finally {
    for (const served of started) await served.stop()
  }
}

async function measureGrowth(options: RunOptions, peer: Served): Promise<readonly Finding[]> {
  const scratch = makeScratch('memory')
  const file = join(scratch.path, 'memory.json')
  try {
    const comity = await startComity(
      { peer: { type: 'http', url: peer.url } },
      { nodeArgs: ['--expose-gc', '--import', PROBE], env: { HELD_MEMORY_FILE: file } },
    )
    try {
      await waitForTools(comity, 2)
      const look: Look = async () => (await askProbe(comity.running.pid, file)) as Memory
      return [await overCalls(options, comity, look), await overSessions(options, comity, look)]
    } finally {
      await comity.stop()
    }
  } finally {
    scratch.remove()
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

/** From a third on to the end: until then code is compiled and what is remembered fills. */
async function overCalls(options: RunOptions, comity: Served, look: Look): Promise<Finding> {
  const all = options.quick ? CALLS / 20 : CALLS
  const seen: Memory[] = []
  for (let done = all / 6; done <= all; done += all / 6) {
    await calls(comity, all / 6)
    seen.push(await look())
    options.say(`memory after ${done} calls: ${show(seen.at(-1))}`)
  }
  return flat(`memory held over ${all} calls, from ${all / 3} on`, seen.slice(1))
}

async function overSessions(options: RunOptions, comity: Served, look: Look): Promise<Finding> {
  const all = options.quick ? SESSIONS / 10 : SESSIONS
  await sessions(comity, all / 4)
  const seen = [await look()]
  for (let done = all / 4; done <= all; done += all / 4) {
    await sessions(comity, all / 4)
    seen.push(await look())
    options.say(`memory after ${done} sessions: ${show(seen.at(-1))}`)
  }
  return flat(`memory held over ${all} sessions opened and closed`, seen)
}

function show(memory: Memory | undefined): string {
  return `${memory?.held.toFixed(1)} MiB held, ${memory?.resident.toFixed(0)} MiB resident`
}

function flat(what: string, seen: readonly Memory[]): Finding {
  const row = (of: (memory: Memory) => string): string => seen.map(of).join(' → ')
  const held = row((memory) => memory.held.toFixed(1))
  const resident = row((memory) => memory.resident.toFixed(0))
  const growth = (seen.at(-1)?.held ?? Number.NaN) - (seen[0]?.held ?? Number.NaN)
  return judge(what, growth, FLAT_MIB, 'MiB', `${held} MiB held; ${resident} MiB resident`)
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
