/** kill -9 of comity: no server of it is left, nor what a server started, in its group or out of it, nor the guard that saw to that. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import {
  comity,
  comityCommand,
  comityJson,
  createHome,
  isAlive,
  startUp,
  until,
} from './comity-process.fixture.ts'

/** A server whose child ignores TERM, and whose other child leads a group of its own. */
const SERVER = `
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
const STUBBORN = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)"
spawn(process.execPath, ['-e', STUBBORN], { stdio: 'ignore' })
spawn(process.execPath, ['-e', STUBBORN], { stdio: 'ignore', detached: true })
const tools = [{ name: 'work', inputSchema: { type: 'object' } }]
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const say = (rest) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...rest }))
  if (method === 'initialize') say({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } })
  else if (method === 'tools/list') say({ result: { tools } })
  else say({ error: { code: -32601, message: 'no' } })
})
`

/** Processes with this text among what they began with: environment or command line. */
function found(where: 'environ' | 'cmdline', text: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        // One that only waits to be collected has neither.
        return readFileSync(`/proc/${name}/${where}`, 'latin1').includes(text)
      } catch {
        return false
      }
    })
    .map(Number)
}

test.skipIf(process.platform !== 'linux')(
  'three servers with two children each are gone after kill -9, and so is the guard; a clean end leaves none either',
  async () => {
    const home = createHome()
    onTestFinished(home.remove)
    const mark = randomBytes(8).toString('hex')
    writeFileSync(home.path('server.mjs'), SERVER)
    const server = {
      command: process.execPath,
      args: [home.path('server.mjs')],
      env: { ORPHAN_TEST: mark },
    }
    home.configure({ mcpServers: { one: server, two: server, three: server } })
    const ours = (): readonly number[] => found('environ', `ORPHAN_TEST=${mark}`)
    for (const end of ['SIGKILL', 'SIGTERM'] as const) {
      const up = await startUp(home)
      onTestFinished(async () => void (await up.stop('SIGKILL')))
      await until('all run', () => ours().length === 9 || undefined)
      const guarded = /COMITY_CHILD_OF=([0-9a-f]+)/u.exec(
        readFileSync(`/proc/${ours()[0]}/environ`, 'latin1'),
      )?.[1]
      expect(found('cmdline', String(guarded))).toHaveLength(1)
      await up.stop(end)
      await until(`none is left after ${end}`, () => ours().length === 0 || undefined)
      await until(
        'the guard ended',
        () => found('cmdline', String(guarded)).length === 0 || undefined,
      )
    }
    expect((await comity(home, 'ledger', '--verify')).code).toBe(0)
  },
  60_000,
)

test('a background process that a server of ours began for its own hosts is not ours to end', async () => {
  const inner = createHome({ mcpServers: {} })
  onTestFinished(inner.remove)
  const outer = createHome({ mcpServers: { inner: comityCommand(inner, 'mcp') } })
  onTestFinished(outer.remove)
  onTestFinished(async () => void (await comity(inner, 'stop')))
  const up = await startUp(outer)
  onTestFinished(async () => void (await up.stop('SIGKILL')))
  const pid = await until('the inner one runs in the background', async () => {
    const { pid: found, process: own } = await comityJson(inner, 'status')
    return own === null || own === undefined ? undefined : Number(found)
  })
  await up.stop()
  expect(isAlive(pid)).toBe(true)
  expect(await comityJson(inner, 'status')).toMatchObject({ pid })
}, 60_000)
