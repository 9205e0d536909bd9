/** Servers that talk without end, and what is left for the others. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inlineServer, makeCall, openPeer, type Server } from '../../../test/mcp/upstream-peer.ts'
import { createReadShare } from './read-share.ts'

describe('the share of reading', () => {
  test('is a burst, then a quarter of the time that passes', () => {
    let now = 0
    const share = createReadShare(() => now)
    expect(share.spend(300_000, 250)).toBe(0)
    expect(share.spend(300_000, 10)).toBe(40)
    now += 40
    expect(share.spend(300_000, 0)).toBe(0)
    now += 60_000
    expect(share.spend(300_000, 251)).toBeCloseTo(4)
  })

  test('never stops a server for longer than a second at once', () => {
    expect(createReadShare(() => 0).spend(Infinity, 100_000)).toBe(1_000)
  })

  test('is not spent by what an answer needs', () => {
    const share = createReadShare(() => 0)
    expect(share.spend(256 * 1024, 100_000)).toBe(0)
    expect(share.spend(256 * 1024 + 1, 250)).toBe(0)
  })
})

/** A process of its own: what it costs to talk is not ours. */
async function floodOverHttp(line: string): Promise<Server> {
  const source = `
    const { createServer } = await import('node:http')
    const flood = Buffer.from(process.env.LINE.repeat(Math.ceil(65536 / process.env.LINE.length)))
    const results = {
      initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: {} },
      'tools/list': { tools: [{ name: 'pay', inputSchema: {} }] },
    }
    createServer((q, r) => {
      let body = ''
      q.on('data', (d) => (body += d)).on('end', () => {
        const { id, method } = body === '' ? {} : JSON.parse(body)
        if (method === undefined) return r.writeHead(405).end()
        if (id === undefined) return r.writeHead(202).end()
        if (method !== 'tools/call') {
          const said = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'no' } }
          return r.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...said }))
        }
        r.writeHead(200, { 'content-type': 'text/event-stream' })
        const write = () => { while (r.write(flood)); }
        r.on('drain', write).on('error', () => {})
        write()
      })
    }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, LINE: line },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return { transport: 'http', url: `http://127.0.0.1:${port.toString().trim()}`, headers: {} }
}

const floodOnStdout = (line: string): Server =>
  inlineServer(
    `serve({ 'tools/call': () => {
      const write = () => { while (process.stdout.write(process.env.LINE.repeat(2000))); }
      process.stdout.on('drain', write)
      write()
    } })`,
    { LINE: line },
  )

const NOTICE = '{"jsonrpc":"2.0","method":"notifications/nothing","params":{"a":1}}'

describe('a server that talks without end', () => {
  test.each<[string, () => Promise<Server> | Server, number]>([
    ['comments on event streams', () => floodOverHttp(': x\n'), 8],
    ['notifications on event streams', () => floodOverHttp(`data: ${NOTICE}\n\n`), 8],
    ['noise on stdout', () => floodOnStdout('{"level":30,"msg":"ready"}\n'), 1],
    ['notifications on stdout', () => floodOnStdout(`${NOTICE}\n`), 1],
  ])(
    '%s: takes a part of this process only, and its calls end in time',
    async (_what, serve, calls) => {
      const loud = openPeer(await serve())
      const quiet = openPeer(inlineServer('serve({})'))
      await Promise.all([loud.listing(), quiet.listing()])
      // What begins at once is a burst.
      await makeCall(loud, 'pay', {}, { deadlineMs: 500 })
      const before = performance.eventLoopUtilization()
      const made = await Promise.all(
        Array.from({ length: calls }, () => makeCall(loud, 'pay', {}, { deadlineMs: 3_000 })),
      )
      const { utilization } = performance.eventLoopUtilization(before)
      for (const { outcome } of made) expect(outcome).toMatchObject({ because: 'deadline' })
      expect(utilization).toBeLessThan(0.75)
      expect((await makeCall(quiet, 'pay')).outcome).toMatchObject({ state: 'completed' })
    },
    30_000,
  )
})
