/**
 * The commands about processes, as a person meets them: status, stop, logs, restart, doctor, prompt.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  comity,
  comityCommand,
  comityJson,
  createHome,
  type Home,
  isAlive,
  linesOf,
  official,
  scripted,
  start,
  startUp,
  until,
  untilGone,
} from './comity-process.fixture.ts'
import { killOwner, ownerOf, type PipeHost, startPipe, textOf } from './shared-process.fixture.ts'

const SCHEMA = { type: 'object', properties: { amount: { type: 'integer' } } }
const TOOLS = [
  { name: 'slow_transfer', inputSchema: SCHEMA },
  { name: 'quick', inputSchema: SCHEMA },
]
const SECRET = 'hunter2-hunter2'
const ESCAPE = '\u001B[2J'

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
  await untilGone(linesOf(home.path('bank', 'pids')).map(Number))
  home.remove()
})

function configure(more: Readonly<Record<string, unknown>> = {}, servers: object = {}): void {
  const complaint = `ready with ${SECRET} ${ESCAPE}`
  const bank = scripted(
    { folder: home.path('bank'), tools: TOOLS, complaint, noise: `Loading… ${ESCAPE}` },
    { TOKEN: SECRET },
  )
  home.configure({ mcpServers: { bank, ...servers }, store: 'sqlite:./comity.db', ...more })
}

async function host(): Promise<PipeHost> {
  const started = startPipe(home)
  hosts.push(started)
  await started.initialize()
  return started
}

test('status: nothing is up, and nothing is started to say so', async () => {
  const { code, stdout } = await comity(home, 'status')
  expect(code).toBe(0)
  expect(stdout).toContain('no process is up')
  expect(stdout).toContain(`config  ${home.config}`)
  expect(stdout).toContain('1 peer, not started: bank')
  expect(existsSync(home.path('comity.db'))).toBe(false)
  expect(linesOf(home.path('bank', 'pids'))).toEqual([])
  expect(await comityJson(home, 'status')).toMatchObject({ exit: 0, process: null })
})

test('status: the process behind hosts, its peers and what they do beside the protocol', async () => {
  const one = await host()
  expect(textOf(await one.ask('tools/call', { name: 'bank_quick', arguments: {} }))).toBe(
    'quick ran',
  )
  const { code, stdout } = await comity(home, 'status')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^process \d+: the background process of stdio hosts, since 20\S+Z \(/u)
  expect(stdout).toContain('serving 1 stdio host, 0 calls running')
  expect(stdout).toContain('http    no port is open')
  expect(stdout).toContain('✓ bank: stdio')
  expect(stdout).toMatch(
    /\d lines on its output that are no messages, the first: Loading… \\u\{001b\}/u,
  )
  expect(stdout).not.toContain(ESCAPE)
  const report = await comityJson(home, 'status')
  expect(report).toMatchObject({
    pid: ownerOf(home),
    process: { kind: 'shared', pipes: 1, acts: 0, configChanged: false },
    peers: [{ peer: 'bank', counts: { stray: 0, droppedEvents: 0 } }],
  })
})

test('stop: says what runs, lets it answer, and the host goes on when it speaks or somebody starts', async () => {
  const one = await host()
  const slow = one.begin('tools/call', { name: 'bank_slow_transfer', arguments: {} })
  await until('it runs', () => linesOf(home.path('bank', 'runs')).length > 0 || undefined)
  const owner = ownerOf(home)
  const stopping = start(home, ['stop'])
  await until('it is asked', () => stopping.stdout().includes('1 running call') || undefined)
  writeFileSync(home.path('bank/release'), '')
  const { code, stdout } = await stopping.ended
  expect(code).toBe(0)
  expect(stdout).toContain('1 stdio host connected')
  expect(stdout).toContain(`process ${owner} has ended`)
  expect(isAlive(owner ?? 0)).toBe(false)
  expect(textOf(await one.answerTo(slow))).toBe('slow_transfer ran')
  expect(await comity(home, 'stop')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('nothing to stop'),
  })

  // Nothing was started in its place; what is started by hand has the host again.
  expect(ownerOf(home)).toBeUndefined()
  const up = await startUp(home)
  closers.push(() => up.stop())
  await until('the host has come', async () => {
    const { process: owned } = (await comityJson(home, 'status')) as { process: { pipes: number } }
    return owned.pipes === 1 || undefined
  })
  expect(await comityJson(home, 'stop')).toMatchObject({ stopped: true, kind: 'up', pid: up.pid })
  expect((await up.ended).code).toBe(0)
  expect(textOf(await one.ask('tools/call', { name: 'bank_quick', arguments: {} }))).toBe(
    'quick ran',
  )
}, 90_000)

test('stop --now breaks off what runs: unknown to its caller, at once', async () => {
  const one = await host()
  const slow = one.begin('tools/call', { name: 'bank_slow_transfer', arguments: {} })
  await until('it runs', () => linesOf(home.path('bank', 'runs')).length > 0 || undefined)
  const { code, stdout } = await comity(home, 'stop', '--now')
  expect(code).toBe(0)
  expect(stdout).toContain('1 call broken off: unknown to the callers')
  expect((await one.answerTo(slow)).result).toMatchObject({
    isError: true,
    _meta: { 'comity/outcome': { state: 'unknown', ran: 'unknown' } },
  })
})

test('logs: what a server printed, masked and harmless; not for one over HTTP, nor without a process', async () => {
  configure({}, { web: { url: 'http://127.0.0.1:9/mcp' } })
  const before = await comity(home, 'logs', 'bank')
  expect(before).toMatchObject({ code: 1, stdout: '' })
  expect(before.stderr).toContain('no process is up')
  await host()
  const { stdout } = await until('it printed', async () => {
    const found = await comity(home, 'logs', 'bank')
    return found.stdout === '' ? undefined : found
  })
  expect(stdout).toBe('ready with *** \\u{1b}[2J\n')
  expect(await comityJson(home, 'logs', 'bank', '-n', '1')).toMatchObject({
    exit: 0,
    peer: 'bank',
    state: 'ready',
  })
  const web = await comity(home, 'logs', 'web')
  expect(web).toMatchObject({ code: 1, stdout: '' })
  expect(web.stderr).toContain('web is reached over HTTP')
  expect(await comity(home, 'logs', 'none')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('configured: bank, web'),
  })
})

test('logs --follow: each new line as it comes, until Ctrl-C', async () => {
  const script = home.path('talker.mjs')
  writeFileSync(
    script,
    `import { createInterface } from 'node:readline'
     let count = 0
     createInterface({ input: process.stdin }).on('line', (line) => {
       const { id, method } = JSON.parse(line)
       process.stderr.write('heard ' + method + ' ' + (count += 1) + '\\n')
       if (id === undefined) return
       const result = method === 'initialize'
         ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 't', version: '1' } }
         : method === 'tools/list' ? { tools: [{ name: 'quick', inputSchema: { type: 'object' } }] }
         : { content: [] }
       process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
     })`,
  )
  configure({}, { talker: { command: process.execPath, args: [script] } })
  const one = await host()
  await one.ask('tools/list')
  const following = start(home, ['logs', 'talker', '--follow'])
  closers.push(() => following.stop('SIGKILL'))
  await until(
    'it shows what was',
    () => following.stdout().includes('heard tools/list') || undefined,
  )
  for (let round = 0; round < 3; round += 1)
    await one.ask('tools/call', { name: 'talker_quick', arguments: {} })
  await until('it shows what comes', () =>
    following.stdout().match(/heard tools\/call/gu)?.length === 3 ? true : undefined,
  )
  following.signal('SIGINT')
  expect((await following.ended).code).toBe(0)
  const lines = following.stdout().trim().split('\n')
  expect(new Set(lines).size).toBe(lines.length)
})

test('restart: a server that was mended is tried at once; one that cannot be says so', async () => {
  const sick = scripted({ folder: home.path('sick'), tools: TOOLS, exitWith: 3 })
  configure({}, { sick })
  expect(await comity(home, 'restart', 'sick')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no process is up'),
  })
  await host()
  const failed = await comity(home, 'restart', 'sick')
  expect(failed.code).toBe(1)
  expect(failed.stderr).toMatch(/sick/u)
  writeFileSync(home.path('sick/recovered'), '')
  expect(await comity(home, 'restart', 'sick')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('sick is started anew'),
  })
  expect(await comity(home, 'restart', 'none')).toMatchObject({ code: 2 })
})

test('prompt: its messages with their role and whose words they are', async () => {
  home.configure({
    mcpServers: { everything: official('everything', 'stdio') },
    store: 'sqlite:./comity.db',
  })
  const shown = await comity(home, 'prompt', 'everything/args-prompt', '--arg', 'city=Bern')
  expect(shown).toMatchObject({ code: 0 })
  expect(shown.stdout).toMatch(/^user, in the words of everything\/args-prompt:\n {2}\| .*Bern/u)
  const json = await comityJson(home, 'prompt', 'everything_args-prompt', '--arg', 'city=7')
  expect(json).toMatchObject({
    exit: 0,
    outcome: { state: 'completed' },
    result: { messages: [{ role: 'user', content: { type: 'text' } }] },
  })
  expect(await comity(home, 'prompt', 'everything/none')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no prompt everything/none'),
  })
  expect(await comity(home, 'prompt', 'everything/args-prompt', '--arg', 'city')).toMatchObject({
    code: 2,
  })
})

test('doctor: each thing that is wrong is one line with what to do, and nothing secret', async () => {
  const servers = {
    gone: { command: 'no-such-program-anywhere' },
    lost: { command: process.execPath, cwd: home.path('not-there') },
    web: { url: `http://127.0.0.1:9/${SECRET}` },
  }
  configure({}, servers)
  mkdirSync(home.path('run', 'comity'), { mode: 0o755 })
  const { code, stdout } = await comity(home, 'doctor')
  expect(code).toBe(1)
  expect(stdout).toMatch(/^✓ node: Node\.js v/mu)
  expect(stdout).toMatch(/^✓ config: .*4 peers$/mu)
  expect(stdout).toMatch(/^! socket: .*can be entered by others \(mode 755\)$/mu)
  expect(stdout).toMatch(/^✓ bank: /mu)
  expect(stdout).toMatch(/^✗ gone: no-such-program-anywhere is not on PATH/mu)
  expect(stdout).toMatch(/^✗ lost: its folder /mu)
  expect(stdout).toMatch(/^✗ web: http:\/\/127\.0\.0\.1:9 does not answer: ECONNREFUSED$/mu)
  expect(stdout).toMatch(/^! callers: without tokens: /mu)
  expect(stdout).toMatch(/^3 problems \(✗\)$/mu)
  expect(stdout).not.toContain(SECRET)
  expect(existsSync(home.path('comity.db'))).toBe(false)

  configure()
  await host()
  const sound = await comityJson(home, 'doctor')
  expect(sound).toMatchObject({ exit: 0, sound: true })
  expect(JSON.stringify(sound)).toContain('the background process of stdio hosts')
})

test('doctor: a record whose end cannot be proven any more', async () => {
  const call = await comity(home, 'call', 'bank/quick')
  expect(call.code).toBe(0)
  await comity(home, 'stop')
  const proven = await comity(home, 'doctor')
  expect(proven.stdout).toMatch(/^✓ store: \S+: chain verified, \d+ entries$/mu)
  rmSync(home.path('comity.db.checkpoints'))
  const { code, stdout } = await comity(home, 'doctor')
  expect(code).toBe(1)
  expect(stdout).toMatch(/^✗ store: .*not its end: \S+comity\.db\.checkpoints is missing/mu)
})

test('doctor: a host that was pointed at comity, and is not any more', async () => {
  mkdirSync(home.path('.cursor'))
  const file = home.path('.cursor', 'mcp.json')
  const mine = scripted({ folder: home.path('mine'), tools: TOOLS })
  writeFileSync(file, JSON.stringify({ mcpServers: { mine } }))
  const config = home.path('imported.yaml')
  expect(await comity(home, 'import', '--yes', '-c', config)).toMatchObject({ code: 0 })
  const sound = await comity(home, 'doctor', '-c', config)
  expect(sound.code).toBe(0)
  expect(sound.stdout).toContain(`✓ Cursor: ${file} points at comity\n`)
  writeFileSync(file, JSON.stringify({ mcpServers: { mine } }))
  const changed = await comity(home, 'doctor', '-c', config)
  expect(changed.code).toBe(1)
  expect(changed.stdout).toContain(`✗ Cursor: ${file} does not point at comity any more\n`)
})

test('doctor: a configuration with mistakes, and none at all', async () => {
  home.configure({ mcpServers: { bank: { command: 7, args: [] } } })
  const wrong = await comity(home, 'doctor')
  expect(wrong.code).toBe(1)
  expect(wrong.stdout).toMatch(
    /^✗ config: \S+comity\.yaml:1: mcpServers\.bank\.command: expected/mu,
  )
  rmSync(home.config)
  const none = await comity(home, 'doctor')
  expect(none.code).toBe(1)
  expect(none.stdout).toMatch(/^✗ config: there is no config file/mu)
})

test('a reader that has seen enough is no fault', async () => {
  const { command, args, cwd, env } = comityCommand(home, '--help')
  const line = [command, ...args].map((word) => `'${word}'`).join(' ')
  const { stderr } = await promisify(execFile)('sh', ['-c', `${line} | true; ${line} | head -1`], {
    cwd,
    env: { ...env },
  })
  expect(stderr).toBe('')
})
