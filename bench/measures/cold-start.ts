/**
 * Twenty stdio servers: how long until the gateway lists all of their tools, over the bare start of the twenty, each until it
 * has listed its own. And, with a store that knows them from before, how soon a list answers at all.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { judge, type Finding, type RunOptions } from '../rig/finding.ts'
import { createClient, listTools, openPool } from '../rig/mcp-client.ts'
import { makeScratch } from '../rig/processes.ts'
import { startComity, stdioPeer, waitForTools, type Served } from '../rig/targets.ts'
import { median } from '../rig/statistics.ts'

const SERVERS = 20
const TOOLS = 3
const TARGET = 1.5
/** Of the bare start: an answer that waits for the servers cannot come sooner than all of it. */
const AT_ONCE = 0.4

export async function measureColdStart(options: RunOptions): Promise<readonly Finding[]> {
  const server = stdioPeer(TOOLS)
  const peers = Object.fromEntries(
    Array.from({ length: SERVERS }, (_, index) => [`s${index}`, server]),
  )
  const bare: number[] = []
  const full: number[] = []
  const again: { first: number; listed: number; all: number }[] = []
  // One of each before: files are in memory then, and Node has kept what it compiled, as after anybody's first start.
  await startBare(server)
  await startOnce(peers)
  for (let round = 0; round < options.rounds; round += 1) {
    bare.push(await startBare(server))
    const scratch = makeScratch('cold')
    try {
      const fresh = await startComity(peers, { folder: scratch.path })
      full.push(await whole(fresh))
      await fresh.stop()
      const known = await startComity(peers, { folder: scratch.path })
      const first = await firstList(known)
      again.push({ ...first, all: await whole(known) })
      await known.stop()
    } finally {
      scratch.remove()
    }
    options.say(
      `20 servers, round ${round + 1}: bare ${bare.at(-1)?.toFixed(0)}, full list ${full.at(-1)?.toFixed(0)} ms, with a store ${JSON.stringify(again.at(-1))}`,
    )
  }
  const ratio = median(full.map((ms, round) => ms / bare[round]!))
  const firstMs = median(again.map(({ first }) => first))
  const listed = Math.min(...again.map((one) => one.listed))
  const stored = listed === SERVERS * TOOLS
  const limitMs = median(bare) * AT_ONCE

  return [
    judge(
      `${SERVERS} stdio servers, first full list`,
      ratio,
      TARGET,
      '×',
      `${median(full).toFixed(0)} ms from the gateway's own start; bare start of the ${SERVERS} ${median(bare).toFixed(0)} ms`,
    ),
    {
      what: `${SERVERS} stdio servers known from before, first answered list`,
      measured: `${firstMs.toFixed(0)} ms`,
      target: `≤ ${limitMs.toFixed(0)} ms`,
      verdict: !stored ? 'not built' : firstMs <= limitMs ? 'met' : 'NOT met',
      note: `from when it listens; ${listed} of ${SERVERS * TOOLS} tools in it; all of them ${median(again.map(({ all }) => all)).toFixed(0)} ms from its start`,
    },
  ]
}

async function startOnce(peers: Parameters<typeof startComity>[0]): Promise<void> {
  const served = await startComity(peers)
  await whole(served)
  await served.stop()
}

async function whole(served: Served): Promise<number> {
  try {
    return (await waitForTools(served, SERVERS * TOOLS)) - served.running.startedAt
  } catch (error) {
    await served.stop()
    throw error
  }
}

/** The first list that is answered, however much is in it, and how long it took from when the gateway listened. */
async function firstList(served: Served): Promise<{ first: number; listed: number }> {
  const begun = performance.now()
  const pool = openPool(served.url, 1)
  const client = createClient('stateless', served.url, pool)
  const end = performance.now() + 30_000
  try {
    while (performance.now() < end) {
      try {
        const tools = await listTools(client)
        return { first: performance.now() - begun, listed: tools.length }
      } catch {
        await pause(5)
      }
    }
  } finally {
    await pool.destroy()
  }
  throw new Error('no list was answered')
}

/** All at once, each until it has answered `tools/list`. */
async function startBare(server: ReturnType<typeof stdioPeer>): Promise<number> {
  const begun = performance.now()
  await Promise.all(Array.from({ length: SERVERS }, () => listBare(server)))
  return performance.now() - begun
}

async function listBare({ command, args, env }: ReturnType<typeof stdioPeer>): Promise<void> {
  const { NODE_EXTRA_CA_CERTS: _bundle, ...inherited } = process.env
  const stdio: ['pipe', 'pipe', 'ignore'] = ['pipe', 'pipe', 'ignore']
  const child = spawn(command, args, { stdio, env: { ...inherited, ...env } })
  const say = (message: Record<string, unknown>): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const clientInfo = { name: 'bench', version: '0' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  say({ id: 1, method: 'initialize', params })
  for await (const line of createInterface({ input: child.stdout })) {
    const { id } = JSON.parse(line) as { id?: number }
    if (id === 2) break
    say({ method: 'notifications/initialized' })
    say({ id: 2, method: 'tools/list' })
  }
  child.kill('SIGKILL')
}
