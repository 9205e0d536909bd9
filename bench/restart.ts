/**
 * How soon a killed stdio server serves the next call: the time from its death to the next call's answer, against the
 * server's own start in the same run. Prints the figure beside its target.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createHost } from 'comity'

const ROUNDS = Number(process.argv[2] ?? 7)
const SERVER = `
const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (method === 'initialize') say(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'bench', version: '0' } })
  else if (method === 'tools/list') say(id, { tools: [{ name: 'pid', inputSchema: { type: 'object' } }] })
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
type Host = Awaited<ReturnType<typeof createHost>>
const LIVE = { signal: new AbortController().signal, event: () => undefined }

try {
  const over: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) over.push(await oneRound())
  const median = over.sort((left, right) => left - right)[Math.floor(over.length / 2)] ?? 0
  console.log(
    `next call after a kill   ${median.toFixed(0).padStart(6)} ms over, target 300 ms: ${median <= 300 ? 'met' : 'NOT met'} (the server's own start taken off, median of ${ROUNDS})`,
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** A host of its own each time: a server that dies again within seconds is started again with a pause, on purpose. */
async function oneRound(): Promise<number> {
  const environment = { ...process.env, XDG_RUNTIME_DIR: folder }
  const host = await createHost({ config: join(folder, 'comity.yaml'), environment })
  try {
    const start = await ownStart()
    process.kill(await pid(host), 'SIGKILL')
    const begun = performance.now()
    await pid(host)
    return performance.now() - begun - start
  } finally {
    await host.close()
  }
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
