/**
 * How soon after a stdio server is killed its open calls are answered and the next call is served: the time from its death to their
 * answers; of the next call without the server's own start in the same run. Prints each figure beside its target.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import type * as Library from 'comity'
import { programs } from './rig/package.ts'

const ROUNDS = Number(process.argv[2] ?? 7)
/** Calls that are open when the server is killed. */
const OPEN = 10
const SERVER = `
const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') say(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'bench', version: '0' } })
  else if (method === 'tools/list') say(id, { tools: ['pid', 'hang'].map((name) => ({ name, inputSchema: { type: 'object' } })) })
  else if (params?.name === 'hang') console.error('hanging')
  else if (method === 'tools/call') say(id, { content: [{ type: 'text', text: String(process.pid) }] })
  else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }))
})`

const folder = mkdtempSync(join(tmpdir(), 'comity-restart-'))
writeFileSync(join(folder, 'server.cjs'), SERVER)
writeFileSync(
  join(folder, 'comity.yaml'),
  JSON.stringify({
    mcpServers: { bench: { command: process.execPath, args: [join(folder, 'server.cjs')] } },
    store: 'sqlite:./comity.db',
  }),
)
/** The library door of the package as it is built. */
const door = pathToFileURL(join(programs().root, 'dist', 'index.js')).href
const { createHost } = (await import(door)) as typeof Library
type Host = Library.CreatedHost
const LIVE = { signal: new AbortController().signal, event: () => undefined }

try {
  const open: number[] = []
  const over: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const { openMs, overMs } = await oneRound()
    open.push(openMs)
    over.push(overMs)
  }
  say('open calls after a kill ', median(open), 50, `until all ${OPEN} are answered`)
  say('next call after a kill  ', median(over), 300, "the server's own start taken off")
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** A host of its own each time: a server that dies again within seconds is started again with a pause, on purpose. */
async function oneRound(): Promise<{ readonly openMs: number; readonly overMs: number }> {
  const environment = { ...process.env, XDG_RUNTIME_DIR: folder }
  const host = await createHost({ config: join(folder, 'comity.yaml'), environment })
  try {
    const start = await ownStart()
    const server = await pid(host)
    const open = await hangingCalls(host)
    process.kill(server, 'SIGKILL')
    const begun = performance.now()
    const states = await Promise.all(open)
    const openMs = performance.now() - begun
    if (states.some((state) => state !== 'unknown')) throw new Error(`${states.join(', ')}`)
    await pid(host)
    return { openMs, overMs: performance.now() - begun - start }
  } finally {
    await host.close()
  }
}

/** Calls that the server has and does not answer. */
async function hangingCalls(host: Host): Promise<readonly Promise<string>[]> {
  const calls = Array.from({ length: OPEN }, async (_, index) => {
    // No two alike: an act that may have run is not sent again.
    const argumentsText = JSON.stringify({ round: process.hrtime.bigint().toString(), index })
    const report = await host.operator.call({ target: 'bench/hang', argumentsText }, LIVE)
    return report.outcome.state
  })
  for (;;) {
    const { lines } = await host.operator.logs({ peer: 'bench', lines: OPEN }, LIVE)
    if (lines.length === OPEN) return calls
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0
}

function say(what: string, ms: number, target: number, how: string): void {
  const verdict = ms <= target ? 'met' : 'NOT met'
  console.log(
    `${what} ${ms.toFixed(0).padStart(6)} ms, target ${target} ms: ${verdict} (${how}, median of ${ROUNDS})`,
  )
}

/** The server's process, told by itself; asked again while a call finds it just killed. */
async function pid(host: Host): Promise<number> {
  for (;;) {
    const report = await host.operator.call({ target: 'bench/pid', argumentsText: '{}' }, LIVE)
    const text =
      report.resultText === undefined
        ? undefined
        : (JSON.parse(report.resultText) as { content: [{ text: string }] }).content[0].text
    if (report.outcome.state === 'completed' && text !== undefined) return Number(text)
    if (report.outcome.state === 'unknown')
      await host.operator.settle({ callId: report.callId, as: 'did_not_run' }, LIVE)
  }
}

async function ownStart(): Promise<number> {
  const begun = performance.now()
  const child = spawn(process.execPath, [join(folder, 'server.cjs')], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  child.stdin.write(
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} })}\n`,
  )
  await once(createInterface({ input: child.stdout }), 'line')
  const took = performance.now() - begun
  child.kill('SIGKILL')
  return took
}
