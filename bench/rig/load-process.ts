/** The load process: a closed loop of so many requests in flight. Forked by load.ts, ends when its parent lets go of it. */
import { setTimeout as pause } from 'node:timers/promises'
import type { LoadJob, LoadReport, LoadWord } from './load.ts'
import { createClient, listTools, openPool, type BenchClient } from './mcp-client.ts'
import { quantile } from './statistics.ts'

/** A load goes on over its time until so many calls have ended: less say nothing. */
const LEAST_CALLS = 20
const MOST_OVER_MS = 15_000

const say = (word: LoadWord): void => void process.send?.(word)

process.on('disconnect', () => process.exit(0))
process.once('message', (job: LoadJob) => {
  run(job).then(
    (report) => say({ report }),
    (error: unknown) => say({ fault: error instanceof Error ? error.message : String(error) }),
  )
})

async function run(job: LoadJob): Promise<Omit<LoadReport, 'cpuMs'>> {
  const pool = openPool(job.url, job.inFlight)
  const clients = Array.from({ length: job.inFlight }, () => createClient(job.era, job.url, pool))
  await Promise.all(clients.map((client) => client.open()))
  const work = workOf(job)
  const times: number[] = []
  let measuring = false
  let stopped = false
  let faults = 0
  let firstFault: string | undefined
  const once = async (client: BenchClient): Promise<void> => {
    const begun = performance.now()
    try {
      await work(client)
      if (measuring) times.push(performance.now() - begun)
    } catch (error) {
      faults += 1
      firstFault ??= error instanceof Error ? error.message : String(error)
      if (faults > 50) stopped = true
    }
    if (job.maxCalls !== undefined && times.length >= job.maxCalls) stopped = true
  }
  const loops = clients.map(async (client) => {
    while (!stopped) await once(client)
  })
  await pause(job.warmUpMs)
  measuring = true
  say({ mark: 'start' })
  const begun = performance.now()
  for (;;) {
    const elapsed = performance.now() - begun
    const enough = elapsed >= job.durationMs && times.length >= LEAST_CALLS
    if (stopped || enough || elapsed >= job.durationMs + MOST_OVER_MS) break
    await pause(5)
  }
  measuring = false
  const seconds = (performance.now() - begun) / 1000
  say({ mark: 'end' })
  stopped = true
  await Promise.all(loops)
  await Promise.all(clients.map((client) => client.close().catch(() => undefined)))
  await pool.destroy()
  return {
    calls: times.length,
    seconds,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    faults,
    ...(firstFault === undefined ? {} : { firstFault }),
  }
}

function workOf({ work }: LoadJob): (client: BenchClient) => Promise<void> {
  if (work.do === 'list') {
    return async (client) => {
      const { length } = await listTools(client)
      if (length !== work.tools) throw new Error(`${length} tools, expected ${work.tools}`)
    }
  }
  const text = 'x'.repeat(work.bytes)
  return async (client) => {
    const result = await client.request('tools/call', { name: work.tool, arguments: { text } })
    const content = result['content'] as readonly { readonly text?: string }[] | undefined
    if (content?.[0]?.text?.length !== work.bytes) {
      throw new Error(`not what was sent: ${JSON.stringify(result).slice(0, 200)}`)
    }
  }
}
