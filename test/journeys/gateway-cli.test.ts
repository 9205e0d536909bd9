/**
 * The command line as people and scripts meet it: where configuration and store lie, who owns the store, what each exit
 * code means, and what Ctrl-C does.
 */
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  comity,
  comityJson,
  createHome,
  type Home,
  linesOf,
  scripted,
  start,
  startUp,
  type Up,
  until,
} from './comity-process.fixture.ts'
import { openSdkAgent } from '../a2a/sdk-agent.ts'

const OBJECT = { type: 'object' }
const TOOLS = [
  { name: 'quick', inputSchema: { ...OBJECT, required: ['a'] } },
  { name: 'slow', inputSchema: OBJECT },
  { name: 'fails', inputSchema: OBJECT },
  { name: 'die', inputSchema: OBJECT },
  { name: 'erase', inputSchema: OBJECT, annotations: { destructiveHint: true } },
  { name: 'forbidden', inputSchema: OBJECT },
  { name: 'hidden', inputSchema: OBJECT },
]

let home: Home
let up: Up
let clerk: Awaited<ReturnType<typeof openSdkAgent>>

beforeAll(async () => {
  clerk = await openSdkAgent({ streaming: true })
  home = createHome()
  home.configure({
    mcpServers: {
      peer: { ...scripted({ folder: home.path('peer'), tools: TOOLS }), autoApprove: ['erase'] },
    },
    agents: { clerk: { card: clerk.cardUrl } },
    policy: {
      rules: [
        { match: 'peer/forbidden', effect: 'deny', when: 'arguments.a > 1' },
        { match: 'peer/hidden', effect: 'deny' },
      ],
    },
    store: 'sqlite:./own.db',
  })
  up = await startUp(home)
}, 60_000)

afterAll(async () => {
  await up?.stop()
  await clerk?.[Symbol.asyncDispose]()
  home?.remove()
})

describe('exit codes', () => {
  const call = (tool: string, args: string): readonly string[] => ['call', tool, args]
  test.each([
    [0, 'done', call('peer/quick', '{"a":1}')],
    [0, 'a version that was asked for', ['--version']],
    [0, 'help that was asked for', ['call', '--help']],
    [1, 'the tool itself reports an error', call('peer/fails', '{}')],
    [2, 'bad arguments', call('peer/quick', '{}')],
    [2, 'arguments that are no JSON', call('peer/quick', '{')],
    [2, 'a number twice over', call('peer/quick', '{"a":1,"a":2}')],
    [2, 'a tool that is not there', call('peer/absent', '{}')],
    [2, 'a peer that is not there', call('absent/quick', '{}')],
    [2, 'a command that is not there', ['fly']],
    [2, 'an option that is not there', ['ls', '--loud']],
    [2, 'a resource that is not there', ['read', 'nowhere://x']],
    [2, 'a call that is not there', ['explain', 'c-none']],
    [2, 'a task that is not there', ['tasks', 't-none']],
    [2, 'an agent that is not there', ['delegate', 'nobody', 'hello']],
    [0, 'mcp, through the process that is up', ['mcp']],
    [3, 'asked', call('peer/erase', '{}')],
    [3, 'denied', call('peer/forbidden', '{"a":2}')],
    [3, 'denied and hidden from callers, told to the operator', call('peer/hidden', '{}')],
    [0, 'allowed by the same rule', call('peer/forbidden', '{"a":1}')],
    [4, 'it may have run', call('peer/die', '{}')],
    [0, 'answered by an agent at once', ['delegate', 'clerk', 'message', '--wait']],
    [1, 'an agent that fails', ['delegate', 'clerk', 'fail', '--wait']],
    [5, 'a task that was handed over', ['delegate', 'clerk', 'hang']],
    [5, 'an agent that asks', ['delegate', 'clerk', 'ask', '--wait', '20s']],
  ] as const)('%i: %s', async (code, _, words) => {
    const ended = await comity(home, ...words)
    expect(`${ended.code} ${ended.stderr}`).toMatch(new RegExp(`^${code} `, 'u'))
    if (code !== 0) expect(ended.stderr + ended.stdout).not.toBe('')
    expect(ended.stderr).not.toContain('a fault of comity itself')
  })

  test('1: a peer that could not be reached, in comity ls', async () => {
    const other = createHome({
      mcpServers: { gone: { command: home.path('no-such-program') } },
    })
    const { code, stdout } = await comity(other, 'ls')
    other.remove()
    expect(code).toBe(1)
    expect(stdout).toContain('✗ gone: not reached (stdio)')
    expect(stdout).toContain('no-such-program')
  })
})

describe('Ctrl-C in a call', () => {
  test('130: the call is called off at the peer, and what is not confirmed is said', async () => {
    const call = start(home, ['call', 'peer/slow', '{"by":"shared"}'])
    await until(
      'the tool runs',
      () => linesOf(home.path('peer/runs')).includes('slow {"by":"shared"}') || undefined,
    )
    call.signal('SIGINT')
    const { code, stderr } = await call.ended
    expect(code).toBe(130)
    expect(stderr).toContain('canceling')
    expect(stderr).toContain('unknown')
    expect(stderr).toMatch(/not confirmed|unconfirmed|may have run/u)
    const [, callId = ''] = /comity settle (\S+) --as/u.exec(stderr) ?? []
    const page = await comity(home, 'explain', callId)
    expect(page.stdout).toContain('whether it ran')
  })

  test('130: the same without a process that stays', async () => {
    const alone = createHome()
    alone.configure({
      mcpServers: { peer: scripted({ folder: alone.path('peer'), tools: TOOLS }) },
    })
    const call = start(alone, ['call', 'peer/slow', '{}', '--json'])
    await until('the tool runs', () => linesOf(alone.path('peer/runs')).length > 0 || undefined)
    call.signal('SIGINT')
    const { code, stdout } = await call.ended
    expect(code).toBe(130)
    expect(JSON.parse(stdout)).toMatchObject({ outcome: { state: 'unknown', ran: 'unknown' } })
    expect(await comity(alone, 'call', 'peer/slow', '{}')).toMatchObject({ code: 4 })
    alone.remove()
  })

  test('a caller’s deadline ends the wait like a Ctrl-C', async () => {
    const words = ['call', 'peer/slow', '{"by":"deadline"}', '--timeout', '1s'] as const
    const report = await comityJson(home, ...words)
    expect(report).toMatchObject({ exit: 4, outcome: { state: 'unknown' } })
  })
})

describe('one store, one owner', () => {
  test('a second comity up is refused with the way to the first', async () => {
    const { code, stderr } = await comity(home, 'up', '--port', '0')
    expect(code).toBe(1)
    expect(stderr).toContain(String(up.pid))
    expect(stderr).toContain(up.url)
    const standalone = await comity(home, 'mcp', '--standalone')
    expect(standalone).toMatchObject({ code: 1, stdout: '' })
    expect(standalone.stderr).toContain(String(up.pid))
  })

  test('the store lies where the configuration says, or under the state directory by its hash', async () => {
    expect(existsSync(home.path('own.db'))).toBe(true)
    const other = createHome({ mcpServers: {} })
    const { stdout } = await comity(other, 'ls', '--json')
    const { store, config } = JSON.parse(stdout) as { store: string; config: string }
    expect(config).toBe(other.config)
    expect(store.startsWith(other.path('state/comity/'))).toBe(true)
    expect(existsSync(store)).toBe(true)
    expect(statSync(store).mode & 0o777).toBe(0o600)
    // Found by COMITY_CONFIG, and in the user's directory, it has stores of its own.
    mkdirSync(other.path('config/comity'), { recursive: true })
    writeFileSync(other.path('config/comity/comity.yaml'), 'mcpServers: {}\n')
    const elsewhere = {
      ...other,
      env: { ...other.env, COMITY_CONFIG: 'config/comity/comity.yaml' },
    }
    const named = await comityJson(elsewhere, 'ls')
    expect(named['config']).toBe(other.path('config/comity/comity.yaml'))
    expect(named['store']).not.toBe(store)
    const folder = { ...other, folder: other.path('config') }
    expect((await comityJson(folder, 'ls'))['config']).toBe(named['config'])
    expect((await comityJson(folder, 'ls', '-c', '../comity.yaml'))['store']).toBe(store)
    other.remove()
  })

  test('a port that is taken is said, with another way', async () => {
    const other = createHome({ mcpServers: {} })
    const { code, stderr } = await comity(other, 'up', '--port', new URL(up.url).port)
    other.remove()
    expect(code).toBe(2)
    expect(stderr).toMatch(/^comity: port \d+ on 127\.0\.0\.1 is taken: .*--port/u)
  })
})

describe('a configuration with mistakes', () => {
  test('tells all of them at once, each with its path and the accepted form', async () => {
    const other = createHome({
      mcpServers: {
        both: { command: 'x', url: 'http://127.0.0.1:1/mcp' },
        delegate: { command: 'x' },
        wrong: { comand: 'x', args: 'one' },
        twice: { command: 'x' },
      },
      agents: { twice: { card: 'ftp://example.org' } },
      policy: { preset: 'none', rules: [{ match: 'a/*', effect: 'maybe' }] },
      names: 'short',
      budgets: {},
      profiles: {},
      colour: 'red',
    })
    const { code, stdout, stderr } = await comity(other, 'up')
    other.remove()
    expect(code).toBe(2)
    expect(stdout).toBe('')
    for (const said of [
      /mcpServers\.both/u,
      /mcpServers\.delegate/u,
      /mcpServers\.wrong\.comand.*did you mean command/u,
      /mcpServers\.wrong\.args.*a list of text/u,
      /agents\.twice/u,
      /policy\.preset.*personal, team/u,
      /policy\.rules\[0\]\.effect.*allow, ask, deny/u,
      /names.*prefixed, as-is/u,
      /budgets.*not in this version/u,
      /profiles.*not in this version/u,
      /colour.*not a key that comity knows/u,
    ]) {
      expect(stderr).toMatch(said)
    }
  })

  test('what this version does not do is refused in these words, anywhere it stands', async () => {
    const other = createHome({
      mcpServers: { a: { command: 'x', sandbox: {} } },
      agents: { b: { card: 'http://127.0.0.1:1', auth: {} } },
      keys: {},
    })
    const { code, stderr } = await comity(other, 'ls')
    other.remove()
    expect(code).toBe(2)
    expect(stderr.match(/not in this version/gu)).toHaveLength(3)
  })

  test('none at all is a hint how to begin', async () => {
    const other = createHome()
    const nowhere = { ...other, folder: other.path('run') }
    const { code, stderr } = await comity(nowhere, 'ls')
    other.remove()
    expect(code).toBe(2)
    expect(stderr).toContain('comity import')
    expect(stderr).toContain('mcpServers:')
  })
})

test('keys that other hosts know are reported as without effect', async () => {
  const { stdout } = await comity(home, 'ls', 'peer')
  expect(stdout).toContain('ignored: mcpServers.peer.autoApprove: what may run unasked')
  await until(
    'up tells of it too',
    () => up.stdout().includes('ignored: mcpServers.peer.autoApprove') || undefined,
  )
})

test('comity up --json speaks to machines: ready, then the peers', async () => {
  const other = createHome()
  other.configure({
    mcpServers: { peer: scripted({ folder: other.path('peer'), tools: TOOLS }) },
  })
  const machine = start(other, ['up', '--port', '0', '--json'])
  const [ready, peers] = await until('two lines', () => {
    const lines = machine.stdout().split('\n').slice(0, -1)
    return lines.length < 2 ? undefined : lines.map((line) => JSON.parse(line) as object)
  })
  expect(ready).toMatchObject({ event: 'ready', pid: machine.pid, recovered: 0 })
  expect(peers).toMatchObject({ event: 'peers', peers: [{ peer: 'peer', state: 'ready' }] })
  const { url } = ready as { url: string }
  expect((await fetch(new URL('/readyz', url))).status).toBe(200)
  expect((await fetch(new URL('/healthz', url))).status).toBe(200)
  expect(await machine.stop()).toMatchObject({ code: 0, stderr: '' })
  other.remove()
})
