/**
 * What is left when processes die: comity in mid-call, a server in mid-call, and everything at the end.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  comity,
  comityCommand,
  comityJson,
  createHome,
  type Home,
  isAlive,
  linesOf,
  type Running,
  scripted,
  start,
  startUp,
  type Up,
  until,
  untilGone,
} from './comity-process.fixture.ts'

const SCHEMA = { type: 'object', properties: { amount: { type: 'integer' } } }
const TOOLS = [
  { name: 'slow_transfer', inputSchema: SCHEMA },
  { name: 'slow_look', inputSchema: SCHEMA, annotations: { readOnlyHint: true } },
  { name: 'quick', inputSchema: SCHEMA },
  { name: 'die', inputSchema: SCHEMA },
]

let home: Home
const running: Running[] = []

beforeEach(() => {
  home = createHome()
  home.configure({
    mcpServers: {
      bank: scripted({ folder: home.path('bank'), tools: TOOLS }),
      other: scripted({ folder: home.path('other'), tools: TOOLS }),
    },
  })
})

afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop('SIGKILL')))
  await untilGone([...pids('bank'), ...pids('other')])
  home.remove()
})

async function up(): Promise<Up> {
  const started = await startUp(home)
  running.push(started)
  return started
}

const pids = (peer: string): number[] => linesOf(home.path(peer, 'pids')).map(Number)
const runs = (peer: string): readonly string[] => linesOf(home.path(peer, 'runs'))
const untilRuns = (peer: string, count: number): Promise<true> =>
  until(`${peer} runs ${count} calls`, () => runs(peer).length >= count || undefined)

test('R148: comity killed in mid-call: the call is unknown, was sent once, its twin is refused until it is settled', async () => {
  const first = await up()
  const call = start(home, ['call', 'bank/slow_transfer', '{"amount":9007199254740993}'])
  running.push(call)
  await untilRuns('bank', 1)
  const orphans = [...pids('bank'), ...pids('other')]
  first.signal('SIGKILL')
  const lost = await call.ended
  expect(lost.code).toBe(4)
  expect(lost.stderr).toMatch(/^comity: .*it may have run.*comity ledger\n$/u)
  await untilGone(orphans)

  const second = await up()
  await until('the report of what was found', () =>
    second.stdout().includes('1 call of an earlier run had no answer') ? true : undefined,
  )
  // Started again, the server was sent nothing.
  await until('the server is back', () => pids('bank').length === 2 || undefined)
  expect(runs('bank')).toEqual(['slow_transfer {"amount":9007199254740992}'])

  const twin = await comityJson(home, 'call', 'bank/slow_transfer', '{"amount":9007199254740993}')
  const outcome = twin['outcome'] as { state: string; twinOf: string; detail: string }
  expect(twin['exit']).toBe(4)
  expect(outcome).toMatchObject({ state: 'unknown', ran: 'unknown' })
  const { twinOf } = outcome
  expect(outcome.detail).toContain(`comity settle ${twinOf} --as ran|did-not-run`)

  // Another amount, by one beyond what a double can tell apart, is another act; so is another peer.
  writeFileSync(home.path('bank/release'), '')
  writeFileSync(home.path('other/release'), '')
  const near = await comityJson(home, 'call', 'bank/slow_transfer', '{"amount":9007199254740992}')
  expect(near).toMatchObject({ exit: 0, outcome: { state: 'completed' } })
  const far = await comityJson(home, 'call', 'other/slow_transfer', '{"amount":9007199254740993}')
  expect(far).toMatchObject({ exit: 0, outcome: { state: 'completed' } })

  const page = await comity(home, 'explain', twinOf)
  expect(page.code).toBe(0)
  expect(page.stdout).toMatch(/local,? through /u)
  expect(page.stdout).toContain('bank/slow_transfer')
  expect(page.stdout).toContain('{"amount":9007199254740993}')
  expect(page.stdout).toContain('preset personal: allow, risk write')
  expect(page.stdout).toContain('whether it ran at the peer')
  expect(page.stdout).toContain(`comity settle ${twinOf} --as ran|did-not-run`)

  const settled = await comity(home, 'settle', twinOf, '--as', 'ran', '--note', 'statement read')
  expect(settled).toMatchObject({ code: 0, stdout: expect.stringContaining('it ran') })
  expect(runs('bank')).toHaveLength(2)
  const again = await comity(home, 'call', 'bank/slow_transfer', '{"amount":9007199254740993}')
  expect(again).toMatchObject({ code: 0, stdout: 'slow_transfer ran\n' })
  expect(runs('bank')).toHaveLength(3)
  expect((await comity(home, 'explain', twinOf)).stdout).toContain('statement read')
  expect((await comity(home, 'ledger', '--verify')).stdout).toMatch(/chain verified: \d+ entries/u)
}, 90_000)

test('insisting on an unsettled call sends it, and says so on record', async () => {
  const first = await up()
  running.push(start(home, ['call', 'bank/slow_transfer', '{"amount":1}']))
  await untilRuns('bank', 1)
  await first.stop('SIGKILL')
  writeFileSync(home.path('bank/release'), '')
  const twin = await comityJson(home, 'call', 'bank/slow_transfer', '{"amount":1}')
  const { twinOf } = twin['outcome'] as { twinOf: string }
  const wrong = await comity(home, 'call', 'bank/slow_transfer', '{"amount":1}', '--insist', 'c-0')
  expect(wrong.code).toBe(4)
  expect(runs('bank')).toHaveLength(1)
  const insisted = await comity(
    home,
    'call',
    'bank/slow_transfer',
    '{"amount":1}',
    '--insist',
    twinOf,
  )
  expect(insisted.code).toBe(0)
  expect(runs('bank')).toHaveLength(2)
}, 60_000)

test('a read that was cut off has no twin: it is simply asked again', async () => {
  const first = await up()
  running.push(start(home, ['call', 'bank/slow_look', '{}']))
  await untilRuns('bank', 1)
  await first.stop('SIGKILL')
  writeFileSync(home.path('bank/release'), '')
  const again = await comity(home, 'call', 'bank/slow_look', '{}')
  expect(again).toMatchObject({ code: 0, stdout: 'slow_look ran\n' })
}, 60_000)

test('a killed server answers its open call at once and serves the next one', async () => {
  await up()
  const open = start(home, ['call', 'bank/slow_transfer', '{"amount":5}', '--json'])
  running.push(open)
  await untilRuns('bank', 1)
  const [pid = 0] = pids('bank')
  const killed = Date.now()
  process.kill(pid, 'SIGKILL')
  const { code, stdout } = await open.ended
  expect(Date.now() - killed).toBeLessThan(3_000)
  expect(code).toBe(4)
  expect(JSON.parse(stdout)).toMatchObject({ outcome: { state: 'unknown' } })
  // The neighbour never noticed.
  expect(await comity(home, 'call', 'other/quick', '{}')).toMatchObject({ code: 0 })
  expect(await comity(home, 'call', 'bank/quick', '{}')).toMatchObject({
    code: 0,
    stdout: 'quick ran\n',
  })
  // A server that ends itself in mid-call is the same to its caller.
  expect(await comity(home, 'call', 'bank/die', '{}')).toMatchObject({ code: 4 })
  expect(await comity(home, 'call', 'bank/quick', '{"amount":2}')).toMatchObject({ code: 0 })
  expect(pids('bank')).toHaveLength(3)
}, 60_000)

test.each(['SIGTERM', 'SIGINT', 'SIGKILL', 'SIGSEGV'] as const)(
  'no server is left after %s',
  async (signal) => {
    const { stop } = await up()
    await until('servers run', () => pids('bank').length + pids('other').length === 2 || undefined)
    const servers = [...pids('bank'), ...pids('other')]
    expect(servers.every((pid) => isAlive(pid))).toBe(true)
    const { code } = await stop(signal)
    if (signal === 'SIGTERM' || signal === 'SIGINT') expect(code).toBe(0)
    await untilGone(servers)
  },
  60_000,
)

test('a one-off command leaves no server either, not even when it is killed', async () => {
  expect((await comity(home, 'ls')).code).toBe(0)
  await untilGone([...pids('bank'), ...pids('other')])
  const call = start(home, ['call', 'bank/slow_transfer', '{}'])
  await untilRuns('bank', 1)
  await call.stop('SIGKILL')
  await untilGone(pids('bank'))
}, 60_000)

test.each(['the end of its input', 'SIGTERM', 'SIGKILL'] as const)(
  'a desktop host’s comity mcp leaves no server after %s',
  async (end) => {
    const { child, ended } = standalone()
    await until('servers run', () => pids('bank').length + pids('other').length === 2 || undefined)
    const servers = [...pids('bank'), ...pids('other')]
    if (end === 'the end of its input') child.stdin.end()
    else child.kill(end)
    const [code] = await ended
    expect(code).toBe(end === 'SIGKILL' ? null : 0)
    await untilGone(servers)
  },
  60_000,
)

test('a desktop host’s comity mcp killed in mid-call leaves the call unknown, whoever asks next', async () => {
  const { child, ended, send } = standalone()
  const clientInfo = { name: 'raw', version: '0' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  send({ id: 1, method: 'initialize', params })
  send({ method: 'notifications/initialized' })
  const call = { name: 'bank_slow_transfer', arguments: { amount: 7 } }
  send({ id: 2, method: 'tools/call', params: call })
  await untilRuns('bank', 1)
  child.kill('SIGKILL')
  await ended
  const twin = await comityJson(home, 'call', 'bank/slow_transfer', '{"amount":7}')
  expect(twin).toMatchObject({ exit: 4, outcome: { twinOf: expect.any(String) } })
  expect(runs('bank')).toHaveLength(1)
}, 60_000)

/** `comity mcp --standalone` as a desktop host starts it. */
function standalone() {
  const { command, args, env, cwd } = comityCommand(home, 'mcp', '--standalone')
  const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'ignore', 'inherit'] })
  return {
    child,
    ended: once(child, 'close') as Promise<[number | null]>,
    send: (message: object): void =>
      void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
  }
}
