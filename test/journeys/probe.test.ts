/** `comity probe` as a person runs it: exit codes, words, JSON, and a guide that shows a true run. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listen, until } from '../mcp/upstream-peer.ts'
import { RULES } from '../../src/mcp/probe/rules.ts'
import { serveSound } from '../../src/mcp/probe/sound-server.fixture.ts'

const ROOT = join(import.meta.dirname, '../..')
const BIN = join(ROOT, 'bin/comity.js')
const PEER = 'src/testkit/conforming-peer/main.ts'

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly error: string
}

async function comity(...args: readonly string[]): Promise<Ran> {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: ROOT,
    env: { ...process.env, COMITY_CONFIG: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let error = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (error += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, error }
}

test('the guide shows what a run prints, to the letter', async () => {
  const guide = readFileSync(join(ROOT, 'docs/guides/probe.md'), 'utf8')
  const shown = /<!-- recorded -->\n+```\n\$ comity (.*)\n([\s\S]*?)```/.exec(guide)
  const { code, out } = await comity(...(shown?.[1]?.split(' ') ?? []))
  expect(out).toBe(shown?.[2])
  expect(code).toBe(0)
})

test('the guide names every rule with its weight, and no other', () => {
  const guide = readFileSync(join(ROOT, 'docs/guides/probe.md'), 'utf8')
  const rows = [...guide.matchAll(/^\| `([a-z]+\.[a-z-]+)` \| (\w+) \|/gmu)]
  expect(rows.map(([, rule, severity]) => `${rule} ${severity}`).toSorted()).toEqual(
    Object.entries(RULES)
      .map(([rule, { severity }]) => `${rule} ${severity}`)
      .toSorted(),
  )
})

test('a conforming server: exit 0, what it is first, then what there is to know, each with the way out', async () => {
  const { code, out, error } = await comity('probe', '--', 'node', PEER, '--stdio')
  expect({ code, error }).toEqual({ code: 0, error: '' })
  const lines = out.split('\n')
  expect(lines[0]).toContain('calls itself conforming-peer 1.0.0')
  expect(lines[1]).toContain(
    '2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05 over stdio',
  )
  expect(out).toMatch(/\n0 errors, 1 warning, 2 of advice\n/)
  const faults = lines.filter((line) => /^[✗!·] /u.test(line))
  expect(faults.length).toBe(3)
  expect(out.match(/^ {4}way out: /gmu)?.length).toBe(3)
})

test('a server with errors: exit 1, errors before the rest; --json is one document of everything', async () => {
  const url = await serveSound({
    era: 'modern',
    lax: ['origin', 'verb'],
    capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
  })
  const { code, out } = await comity('probe', url)
  expect(code).toBe(1)
  const signs = out
    .split('\n')
    .flatMap((line) => /^([✗!·]) ([a-z.-]+):/u.exec(line)?.slice(1, 3).join(' ') ?? [])
  expect(signs).toEqual(['✗ http.origin', '! http.get-delete', '· deprecated.logging'])
  const json = await comity('probe', url, '--json')
  expect(json.code).toBe(1)
  expect(JSON.parse(json.out)).toMatchObject({
    sound: false,
    reached: true,
    target: { transport: 'http', at: url },
    revisions: [{ revision: '2026-07-28', spoken: true }, {}, {}, {}],
    findings: [{ rule: 'http.origin', severity: 'error' }, {}, {}, {}],
  })
})

test('R011: for each tool and each model API it is listed which keywords it will not take, and where', async () => {
  const text = { type: 'string', minLength: 3, format: 'uri' }
  const inputSchema = { type: 'object', properties: { text }, required: ['text'] }
  const tools = [{ name: 'find', description: 'Finds.', inputSchema }]
  const { out } = await comity('probe', await serveSound({ era: 'modern', tools }), '--json')
  const { models } = JSON.parse(out) as {
    readonly models: { readonly summary: readonly object[]; readonly verdicts: readonly object[] }
  }
  const at = '/properties/text'
  const open = { at: '', why: 'additionalProperties must be false' }
  const minLength = { at, why: 'minLength is not supported' }
  expect(models.verdicts).toEqual([
    { api: 'anthropic-strict', tool: 'find', reasons: [open, minLength] },
    {
      api: 'openai-strict',
      tool: 'find',
      reasons: [open, minLength, { at, why: 'format "uri" is not supported' }],
    },
    {
      api: 'gemini',
      tool: 'find',
      reasons: [{ at, why: 'format "uri" of a string: only enum and date-time are supported' }],
    },
  ])
  expect(models.summary[0]).toMatchObject({ api: 'anthropic', takes: 1, refuses: 0 })
})

test('R051: what is deprecated is told with its date and with what to use instead', async () => {
  const capabilities = { tools: {}, prompts: {}, resources: {}, logging: {} }
  const { code, out } = await comity('probe', await serveSound({ era: 'modern', capabilities }))
  expect(code).toBe(0)
  expect(out).toContain('Logging is offered: deprecated since 2026-07-28')
  expect(out).toContain('way out: log to standard error, or by OpenTelemetry')
  for (const feature of ['roots', 'sampling', 'logging', 'registration', 'http-sse'] as const) {
    const { broken, wayOut } = RULES[`deprecated.${feature}`]
    expect(broken).toMatch(/deprecated since \d{4}-\d\d-\d\d/u)
    expect(wayOut).not.toBe('')
  }
})

test('nothing there, nothing given and nonsense: exit 2, with what was expected', async () => {
  const gone = await comity('probe', 'http://127.0.0.1:9/mcp')
  expect(gone.code).toBe(2)
  expect(gone.out).toContain('cannot connect')
  const nothing = await comity('probe')
  expect(nothing.code).toBe(2)
  expect(nothing.error).toContain('expected what to probe')
  expect((await comity('probe', 'no-such-command-anywhere')).code).toBe(2)
  expect((await comity('probe', 'https://x.example', '--peer', 'docs')).code).toBe(2)
})

test('a peer by its name, with what only its configuration says', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comity-probe-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const config = join(folder, 'comity.yaml')
  const args = [join(ROOT, PEER), '--stdio', '--era', 'modern']
  const env = { SECRET: 'conforming-secret' }
  const mcpServers = { docs: { command: process.execPath, args, env } }
  writeFileSync(config, JSON.stringify({ mcpServers, store: 'sqlite:./comity.db' }))
  const { code, out } = await comity('probe', 'docs', '-c', config)
  expect(code).toBe(0)
  expect(out).toMatch(/^docs: /u)
  expect((await comity('probe', '--peer', 'docs', '-c', config, '--json')).out).toContain(
    '"peer": "docs"',
  )
  const other = await comity('probe', '--peer', 'notes', '-c', config)
  expect({ code: other.code, error: other.error }).toMatchObject({ code: 2 })
  expect(other.error).toContain('no peer is called notes; configured: docs')
})

test('an agent by its card, and an agent peer by its name, each with the four things a card answers', async () => {
  const card = {
    name: 'Desk',
    description: 'Finds things.',
    version: '1.0.0',
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'find', name: 'Find', description: 'Finds.', tags: [] }],
  }
  const base = await listen((request, response) => {
    const url = `http://${request.headers.host}/a2a`
    const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ ...card, supportedInterfaces }))
  })
  const url = `${base}/.well-known/agent-card.json`
  const alone = await comity('probe', url)
  expect(alone.code).toBe(0)
  expect(alone.out.split('\n')).toEqual([
    `${url}: an agent card of A2A`,
    '  who         Desk 1.0.0: Finds things.',
    '  what        find: Find',
    `  reached by  JSONRPC 1.0 at ${base}/a2a`,
    '  logs in     nothing is asked for',
    '',
  ])
  const folder = mkdtempSync(join(tmpdir(), 'comity-probe-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const config = join(folder, 'comity.yaml')
  writeFileSync(config, JSON.stringify({ agents: { desk: { card: url } }, store: 'sqlite:./c.db' }))
  const peer = await comity('probe', 'desk', '-c', config)
  expect(peer).toMatchObject({ code: 0 })
  expect(peer.out).toContain('desk: ')
})

test('comity itself breaks no rule: its documents server, and the gateway before a conforming server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comity-probe-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'a.md'), '# A\n')
  const rulesOf = ({ out }: Ran): unknown => {
    const { findings, reached } = JSON.parse(out) as {
      readonly findings: readonly { readonly rule: string }[]
      readonly reached: boolean
    }
    return { reached, rules: [...new Set(findings.map(({ rule }) => rule))] }
  }
  const docs = await comity('probe', '--json', '--', 'node', BIN, 'docs', folder)
  expect(rulesOf(docs)).toEqual({ reached: true, rules: [] })
  const config = join(folder, 'comity.yaml')
  const mcpServers = { peer: { command: process.execPath, args: [join(ROOT, PEER), '--stdio'] } }
  writeFileSync(config, JSON.stringify({ mcpServers, store: 'sqlite:./comity.db' }))
  const own = ['node', BIN, 'mcp', '--standalone', '-c', config]
  const gateway = await comity('probe', '--json', '--timeout', '150s', '--', ...own)
  expect(rulesOf(gateway)).toEqual({ reached: true, rules: ['deprecated.logging'] })
}, 180_000)

test('Ctrl-C ends it and the server that it started', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comity-probe-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'pid')
  const source = `require('fs').writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, [BIN, 'probe', '--', 'node', '-e', source], {
    cwd: ROOT,
    stdio: 'ignore',
  })
  const closed = once(child, 'close') as Promise<[number | null]>
  await until(
    'the server runs',
    () => existsSync(file) && readFileSync(file, 'utf8') !== '',
    20_000,
  )
  child.kill('SIGINT')
  expect((await closed)[0]).toBe(130)
  const pid = Number(readFileSync(file, 'utf8'))
  expect(() => process.kill(pid, 0)).toThrow()
})
