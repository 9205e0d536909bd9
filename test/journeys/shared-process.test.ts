/**
 * One process for many hosts: `comity mcp` starts it, shares it, outlives it, and lets `comity up` have it.
 */
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as V1Stdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  atTerminal,
  comity,
  comityCommand,
  createHome,
  type Home,
  isAlive,
  linesOf,
  official,
  scripted,
  startUp,
  until,
  untilGone,
} from './comity-process.fixture.ts'
import {
  killOwner,
  type Message,
  modernCall,
  ownerOf,
  type PipeHost,
  startPipe,
  textOf,
} from './shared-process.fixture.ts'

const SCHEMA = { type: 'object', properties: { amount: { type: 'integer' } } }
const TOOLS = [
  { name: 'slow_transfer', inputSchema: SCHEMA },
  { name: 'quick', inputSchema: SCHEMA },
]
const RESOURCES = [{ uri: 'bank://rules', name: 'rules' }]
/** Where the system can be asked about its processes. */
const LINUX = process.platform === 'linux'
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
/** A server of 2025-11-25 whose tools are others after each call. */
const TELLER = `
import { createInterface } from 'node:readline'
let count = 0
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  if (method === 'initialize') {
    const capabilities = { tools: { listChanged: true } }
    return send({ id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 't', version: '1' } } })
  }
  const tools = ['change', 'more' + count].map((name) => ({ name, inputSchema: { type: 'object' } }))
  if (method !== 'tools/call') return send({ id, result: { tools } })
  count += 1
  send({ id, result: { content: [{ type: 'text', text: 'changed' }] } })
  send({ method: 'notifications/tools/list_changed' })
})
`
const INFO = { name: 'journey', version: '0' }

let home: Home
const hosts: PipeHost[] = []
const closers: (() => Promise<unknown>)[] = []

beforeEach(() => {
  home = createHome()
  configure()
})

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
  await Promise.all(hosts.splice(0).map((one) => one.kill()))
  killOwner(home)
  await untilGone(pids())
  home.remove()
})

function configure(more: Readonly<Record<string, unknown>> = {}): void {
  const bank = scripted({ folder: home.path('bank'), tools: TOOLS, resources: RESOURCES })
  home.configure({ mcpServers: { bank }, store: 'sqlite:./comity.db', ...more })
}

const pids = (): number[] => linesOf(home.path('bank', 'pids')).map(Number)
const runs = (): readonly string[] => linesOf(home.path('bank', 'runs'))
const untilRuns = (count: number): Promise<true> =>
  until(`${count} calls run`, () => runs().length >= count || undefined)
const release = (): void => writeFileSync(home.path('bank/release'), '')

function host(...args: string[]): PipeHost {
  const started = startPipe(home, '--log', 'debug', ...args)
  hosts.push(started)
  return started
}

async function untilOwner(not?: number): Promise<number> {
  return until('a process owns the store', () => {
    const pid = ownerOf(home)
    return pid === not ? undefined : pid
  })
}

const quick = (one: PipeHost, amount: number): Promise<Message> =>
  one.ask('tools/call', { name: 'bank_quick', arguments: { amount } })

test('three hosts, the official clients of both eras among them, share one process and one set of servers', async () => {
  const modern = new ModernClient(INFO, { versionNegotiation: { mode: 'auto' } })
  await modern.connect(new StdioClientTransport(comityCommand(home, 'mcp') as never))
  closers.push(() => modern.close())
  expect(modern.getNegotiatedProtocolVersion()).toBe('2026-07-28')
  const v1 = new V1Client(INFO)
  await v1.connect(new V1Stdio(comityCommand(home, 'mcp') as never))
  closers.push(() => v1.close())
  const bare = host()
  await bare.initialize()

  const answers = await Promise.all([
    modern.callTool({ name: 'bank_quick', arguments: { amount: 1 } }),
    v1.callTool({ name: 'bank_quick', arguments: { amount: 2 } }),
    quick(bare, 3).then(({ result }) => result),
  ])
  for (const answer of answers)
    expect(answer).toMatchObject({ content: [{ type: 'text', text: 'quick ran' }] })
  expect(runs()).toHaveLength(3)
  expect(pids()).toHaveLength(1)

  const owner = await untilOwner()
  const folder = home.path('run', 'comity')
  const [socket = ''] = readdirSync(folder)
  expect(statSync(`${folder}/${socket}`).mode & 0o777).toBe(0o600)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(home.path('comity.db.log')).mode & 0o777).toBe(0o600)
  if (LINUX) expectAlone(owner)
})

test('killed in mid-call: unknown at once, the record agrees, and the next call has a new process', async () => {
  const legacy = host()
  await legacy.initialize()
  const modern = host()
  const slow = legacy.begin('tools/call', { name: 'bank_slow_transfer', arguments: { amount: 1 } })
  const other = modern.begin('tools/call', modernCall('bank_slow_transfer', { amount: 2 }))
  await untilRuns(2)
  const first = await untilOwner()
  process.kill(first, 'SIGKILL')

  const lost = (await legacy.answerTo(slow)).result
  expect(lost).toEqual({
    content: [
      {
        type: 'text',
        text: expect.stringMatching(
          /^It is not known whether this ran: .*comity ledger.*\nDo not simply repeat it; find out at the peer first what happened\.$/u,
        ),
      },
    ],
    isError: true,
    _meta: { 'comity/outcome': { state: 'unknown', code: 'process_died', ran: 'unknown' } },
  })
  expect((await modern.answerTo(other)).result).toEqual({ ...lost, resultType: 'complete' })

  // The session goes on without the host's doing.
  expect(textOf(await quick(legacy, 3))).toBe('quick ran')
  expect(textOf(await modern.ask('tools/call', modernCall('bank_quick', { amount: 4 })))).toBe(
    'quick ran',
  )
  expect(await untilOwner(first)).not.toBe(first)
  const record = await comity(home, 'ledger', '--json')
  expect(record.stdout).toContain('process_died')
  // Both kinds of host said only protocol, and each request was answered once.
  for (const one of [legacy, modern]) {
    const ids = one.messages().flatMap(({ id }) => (id === undefined ? [] : [id]))
    expect(new Set(ids).size).toBe(ids.length)
    expect(one.stderr()).toContain('ended (died)')
  }
})

test.runIf(LINUX)(
  'what is no act is an error when its process dies, and reads say that nobody knows',
  async () => {
    const one = host()
    await one.initialize()
    const owner = await untilOwner()
    process.kill(owner, 'SIGSTOP')
    const list = one.begin('tools/list')
    const read = one.begin('resources/read', { uri: 'bank://rules' })
    // The owner is stopped, not gone: what was written waits in its socket.
    await until('the pipe has sent both', () => queued(owner) || undefined)
    process.kill(owner, 'SIGKILL')
    expect((await one.answerTo(list)).error).toMatchObject({ code: -32603 })
    expect((await one.answerTo(read)).error).toMatchObject({
      code: -31007,
      data: { 'comity/outcome': { state: 'unknown', ran: 'unknown' } },
    })
    expect((await one.ask('tools/list')).result).toMatchObject({ tools: expect.any(Array) })
  },
)

test('two that start at once end up on one process', async () => {
  const pair = [host(), host(), host()]
  await Promise.all(pair.map((one) => one.initialize()))
  await Promise.all(pair.map((one, index) => quick(one, index)))
  expect(pids()).toHaveLength(1)
  expect(runs()).toHaveLength(3)
})

test('without hosts it ends after its idle time, and the next host starts another', async () => {
  const one = host('--idle-after', '1s')
  await one.initialize()
  const owner = await untilOwner()
  expect(textOf(await quick(one, 1))).toBe('quick ran')
  expect(await one.end()).toBe(0)
  await untilGone([owner, ...pids()])
  expect(readdirSync(home.path('run', 'comity'))).toEqual([])
  const next = host('--idle-after', '1s')
  await next.initialize()
  expect(textOf(await quick(next, 2))).toBe('quick ran')
  expect(pids()).toHaveLength(2)
})

test('an approval that waits keeps it up', async () => {
  configure({ policy: { rules: [{ match: 'bank/quick', effect: 'ask', ttl: '10m' }] } })
  const one = host('--idle-after', '1s')
  await one.initialize()
  const asked = await quick(one, 1)
  const meta = asked.result?.['_meta'] as { 'comity/outcome': { approvalId: string } }
  const owner = await untilOwner()
  await one.end()
  // Several idle times, seen by the log of another pipe that comes and goes.
  for (let round = 0; round < 5; round += 1) {
    const visitor = startPipe(home)
    await visitor.initialize()
    await visitor.end()
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(ownerOf(home)).toBe(owner)
  }
  const denied = await atTerminal(home, 'deny', meta['comity/outcome'].approvalId)
  if (denied === undefined) return
  expect(denied.code).toBe(0)
  await untilGone([owner])
})

test('the end of input lets what runs answer', async () => {
  const one = host()
  await one.initialize()
  const slow = one.begin('tools/call', { name: 'bank_slow_transfer', arguments: {} })
  await untilRuns(1)
  const ended = one.end()
  release()
  expect(await ended).toBe(0)
  expect(one.messages().find(({ id }) => id === slow)?.result).toMatchObject({
    content: [{ text: 'slow_transfer ran' }],
  })
})

test('a host that is told to end lets what runs answer, and one that is killed leaves the others alone', async () => {
  const [ending, killed, staying] = [host(), host(), host()]
  await Promise.all([ending, killed, staying].map((one) => one.initialize()))
  const slow = { name: 'bank_slow_transfer' }
  const first = ending.begin('tools/call', { ...slow, arguments: { amount: 1 } })
  killed.begin('tools/call', { ...slow, arguments: { amount: 2 } })
  const last = staying.begin('tools/call', { ...slow, arguments: { amount: 3 } })
  await untilRuns(3)
  await killed.kill()
  process.kill(ending.pid, 'SIGTERM')
  release()
  expect(await ending.end()).toBe(0)
  expect(ending.messages().find(({ id }) => id === first)?.result).not.toHaveProperty('isError')
  expect(textOf(await staying.answerTo(last))).toBe('slow_transfer ran')
  expect(pids()).toHaveLength(1)
})

test('comity up takes over: what runs is answered, open pipes come along, and go back when it ends', async () => {
  const one = host()
  await one.initialize()
  await one.ask('logging/setLevel', { level: 'error' })
  const first = await untilOwner()
  const slow = one.begin('tools/call', { name: 'bank_slow_transfer', arguments: { amount: 1 } })
  await untilRuns(1)
  const taking = startUp(home)
  await until('it is told to end', () => (one.stderr().includes('makes way') ? true : undefined))
  release()
  const up = await taking
  closers.push(() => up.stop())
  expect(up.stderr()).toContain(`process ${first} serves stdio hosts`)
  expect(textOf(await one.answerTo(slow))).toBe('slow_transfer ran')
  expect(textOf(await quick(one, 2))).toBe('quick ran')
  expect(await untilOwner(first)).toBe(up.pid)
  expect(isAlive(first)).toBe(false)
  // The same servers answer whoever comes over HTTP: two processes, two starts.
  expect(pids()).toHaveLength(2)
  // Nothing of what was said again to the new owner reached the host.
  expect(one.messages().every(({ id }) => !String(id ?? '').startsWith('comity-'))).toBe(true)
  expect(one.messages().some(({ method }) => method?.includes('comity') === true)).toBe(false)

  const second = await comity(home, 'up', '--port', '0')
  expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('in use by process') })

  await up.stop()
  expect(textOf(await quick(one, 3))).toBe('quick ran')
  expect(await untilOwner(up.pid)).not.toBe(up.pid)
}, 90_000)

test('news goes on after a death and a takeover: what was listened to is listened to again, and acknowledged once', async () => {
  writeFileSync(home.path('teller.mjs'), TELLER)
  const teller = { command: process.execPath, args: [home.path('teller.mjs')] }
  home.configure({ mcpServers: { teller }, store: 'sqlite:./comity.db' })
  const modern = host()
  const legacy = host()
  await legacy.initialize()
  const listen = modern.begin('subscriptions/listen', {
    ...modernCall(''),
    notifications: { toolsListChanged: true },
  })
  const heard = (one: PipeHost, method: string): number =>
    one.messages().filter((message) => message.method === method).length
  const CHANGED = 'notifications/tools/list_changed'
  const untilChanged = (one: PipeHost, count: number): Promise<true> =>
    until(`${count} changes`, () => heard(one, CHANGED) >= count || undefined)
  await until('it is acknowledged', () => heard(modern, ACKNOWLEDGED) > 0 || undefined)
  const change = async (): Promise<void> => {
    const before = [modern, legacy].map((one) => heard(one, CHANGED))
    const answer = await legacy.ask('tools/call', { name: 'teller_change', arguments: {} })
    expect(textOf(answer)).toBe('changed')
    await untilChanged(modern, (before[0] ?? 0) + 1)
    await untilChanged(legacy, (before[1] ?? 0) + 1)
  }
  await change()

  const first = await untilOwner()
  process.kill(first, 'SIGKILL')
  await untilOwner(first)
  await change()
  const up = await startUp(home)
  closers.push(() => up.stop())
  await change()
  expect(heard(modern, ACKNOWLEDGED)).toBe(1)
  expect(modern.messages().some(({ id }) => id === listen)).toBe(false)
}, 120_000)

test('a host with another configuration of the same store is told which one is served', async () => {
  const one = host()
  await one.initialize()
  const other = home.path('other.yaml')
  writeFileSync(other, readFileSync(home.config))
  const { code, stdout, stderr } = await comity(home, 'mcp', '-c', other)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain(`it serves ${home.config}, this host asks for ${other}`)
})

test('a configuration that changed is read anew when no other host is there, and is spoken of when there is', async () => {
  const one = host()
  await one.initialize()
  const first = await untilOwner()
  configure({ names: 'as-is' })
  const beside = host()
  await beside.initialize()
  await until('it is told', () =>
    /configuration changed/u.test(beside.stderr()) ? true : undefined,
  )
  await Promise.all([one.end(), beside.end()])
  const next = host()
  await next.initialize()
  expect(textOf(await next.ask('tools/call', { name: 'quick', arguments: {} }))).toBe('quick ran')
  expect(isAlive(first)).toBe(false)
})

test('a configuration with mistakes is told to the one who can mend them, and nothing is started', async () => {
  home.configure({ mcpServers: { bank: { command: 7 } }, store: 'sqlite:./comity.db' })
  const { code, stdout, stderr } = await comity(home, 'mcp')
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('mcpServers.bank.command')
  expect(ownerOf(home)).toBeUndefined()
})

test('a store in use by one host alone is said to be so', async () => {
  const alone = startPipe(home, '--standalone')
  hosts.push(alone)
  await alone.initialize()
  const { code, stderr } = await comity(home, 'mcp')
  expect(code).toBe(1)
  expect(stderr).toMatch(/in use by process \d+, which is comity mcp --standalone/u)
})

test('large messages both ways, and a host that does not read for a while', async () => {
  home.configure({
    mcpServers: { everything: official('everything', 'stdio') },
    store: 'sqlite:./comity.db',
  })
  const one = host()
  await one.initialize()
  one.pause()
  const message = 'ä'.repeat(2 * 1024 * 1024)
  const ids = Array.from({ length: 3 }, () =>
    one.begin('tools/call', { name: 'everything_echo', arguments: { message } }),
  )
  const pings = Array.from({ length: 500 }, () => one.begin('ping'))
  one.resume()
  for (const id of ids) expect(textOf(await one.answerTo(id))).toBe(`Echo: ${message}`)
  for (const id of pings) expect((await one.answerTo(id)).result).toEqual({})
  expect(one.stderr()).not.toContain('Warning')
}, 90_000)

/** As the system sees it: no port, no terminal, nothing of the host that started it. */
function expectAlone(owner: number): void {
  expect(listeners(owner)).toEqual({ tcp: 0 })
  // A session of its own: what ends a host's group does not end it.
  const [stat = ''] = linesOf(`/proc/${owner}/stat`)
  expect(Number(stat.split(') ')[1]?.split(' ')[3])).toBe(owner)
  // Started with nothing but what it needs, and nothing of the first host's.
  const command = readFileSync(`/proc/${owner}/cmdline`, 'utf8').split('\0').slice(2, -1)
  expect(command).toEqual(['shared', '-c', home.config])
  expect(readlinkSync(`/proc/${owner}/fd/0`)).toBe('/dev/null')
}

/** Sockets of a process that listen, by protocol. */
function listeners(pid: number): { readonly tcp: number } {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/u.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
      } catch {
        return []
      }
    }),
  )
  const tables = ['tcp', 'tcp6'].flatMap((table) => linesOf(`/proc/${pid}/net/${table}`).slice(1))
  const listening = tables.map((line) => line.trim().split(/\s+/u)).filter((row) => row[3] === '0A')
  return { tcp: listening.filter((row) => inodes.has(row[9] ?? '')).length }
}

/** Something waits unread at a socket of this process. */
function queued(pid: number): boolean {
  const rows = execFileSync('ss', ['-xpnH'], { encoding: 'utf8' }).split('\n')
  return rows.some((row) => row.includes(`pid=${pid},`) && Number(row.trim().split(/\s+/u)[2]) > 0)
}
