/** Real counterparts: the three official servers, and the official SDK v2 as a 2026-07-28 server. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeCall, openPeer, valueOf, type Server } from '../../../test/mcp/upstream-peer.ts'

const require = createRequire(import.meta.url)

/** The file behind a package's only `bin`. */
function binOf(name: string): string {
  const manifest = require.resolve(`${name}/package.json`)
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> }
  return join(dirname(manifest), Object.values(bin)[0]!)
}

function official(
  name: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Server {
  const file = binOf(`@modelcontextprotocol/server-${name}`)
  return { transport: 'stdio', command: process.execPath, args: [file, ...args], env }
}

function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'comity-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Everything over Streamable HTTP, on a free port. */
async function everythingOverHttp(): Promise<Server> {
  const port = await freePort()
  const file = binOf('@modelcontextprotocol/server-everything')
  const child = spawn(process.execPath, [file, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stderr })) {
    if (line.includes('listening')) break
  }
  return { transport: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: {} }
}

describe.each([
  ['stdio', () => Promise.resolve(official('everything', ['stdio']))],
  ['HTTP', everythingOverHttp],
])('server-everything over %s', (transport, start) => {
  test('lists, calls, reads, prompts and reports progress', async () => {
    const peer = openPeer(await start())
    const { capabilities, leftOut, instructions } = await peer.listing()
    expect(peer.report()).toMatchObject({
      state: 'ready',
      transport: transport.toLowerCase(),
      revision: '2025-11-25',
    })
    const names = (kind: string) =>
      capabilities.filter((one) => one.kind === kind).map(({ name }) => name)
    const tools = ['echo', 'get-sum', 'get-tiny-image', 'simulate-research-query']
    expect(names('tool')).toEqual(expect.arrayContaining(tools))
    expect(names('prompt')).toEqual(expect.arrayContaining(['simple-prompt', 'args-prompt']))
    expect(names('template').length).toBeGreaterThan(0)
    // One of them demands to be called as a task.
    expect(leftOut).toEqual([])
    expect(instructions).toContain('Everything')

    const echo = await makeCall(peer, 'echo', { message: 'ж 你好' })
    expect(valueOf(echo.outcome)).toEqual({ content: [{ type: 'text', text: 'Echo: ж 你好' }] })

    const slow = await makeCall(
      peer,
      'trigger-long-running-operation',
      {},
      {
        params:
          '{"name":"x","arguments":{"duration":0.5,"steps":5},"_meta":{"progressToken":"mine"}}',
      },
    )
    expect(slow.outcome.state).toBe('completed')
    expect(slow.events.map(({ params }) => (params as { progress: number }).progress)).toEqual([
      1, 2, 3, 4, 5,
    ])

    const uri = names('resource')[0]!
    const read = await makeCall(peer, uri, {}, { operation: 'read', params: '{"uri":"exposed"}' })
    expect(valueOf(read.outcome)).toMatchObject({ contents: [{ uri }] })

    const prompt = await makeCall(peer, 'simple-prompt', {}, { operation: 'prompt' })
    expect(valueOf(prompt.outcome)).toMatchObject({ messages: [{ role: 'user' }] })
  })

  test('a wrong argument and an unknown tool are failures that change nothing', async () => {
    const peer = openPeer(await start())
    const wrong = await makeCall(peer, 'get-sum', { a: 'x' })
    expect(wrong.outcome).toMatchObject({ state: 'completed', toolError: true })
    const unknown = await makeCall(peer, 'no-such-tool')
    expect(['completed', 'failed']).toContain(unknown.outcome.state)
  })
})

test('server-everything gets no environment but its own', async () => {
  const own = { ...process.env, GATEWAY_SECRET: 'hunter2hunter2', NODE_EXTRA_CA_CERTS: '/nowhere' }
  const peer = openPeer(official('everything', ['stdio'], { GIVEN: 'yes' }), {}, own)
  const { outcome } = await makeCall(peer, 'get-env')
  const { content } = valueOf(outcome) as { content: readonly { text: string }[] }
  const environment = JSON.parse(content[0]!.text) as Record<string, string>
  expect(environment.GIVEN).toBe('yes')
  expect(environment).not.toHaveProperty('GATEWAY_SECRET')
  expect(environment).not.toHaveProperty('NODE_EXTRA_CA_CERTS')
})

test('server-filesystem reads and writes within its folder', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'a.txt'), 'before')
  const peer = openPeer(official('filesystem', [folder]))
  const { capabilities } = await peer.listing()
  expect(capabilities.find(({ name }) => name === 'read_text_file')?.hints.readOnly).toBe(true)
  const read = await makeCall(peer, 'read_text_file', { path: join(folder, 'a.txt') })
  expect(valueOf(read.outcome)).toMatchObject({ content: [{ type: 'text', text: 'before' }] })
  await makeCall(peer, 'write_file', { path: join(folder, 'b.txt'), content: '\uFEFF你\n' })
  expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('\uFEFF你\n')
  const outside = await makeCall(peer, 'read_text_file', { path: '/etc/hostname' })
  expect(outside.outcome).toMatchObject({ state: 'completed', toolError: true })
})

test('server-memory keeps what it is told over a restart', async () => {
  const file = join(temporaryFolder(), 'memory.jsonl')
  const server = official('memory', [], { MEMORY_FILE_PATH: file })
  const first = openPeer(server)
  const entity = { name: 'Ada', entityType: 'person', observations: ['writes programs'] }
  expect((await makeCall(first, 'create_entities', { entities: [entity] })).outcome.state).toBe(
    'completed',
  )
  await first.close()
  const { outcome } = await makeCall(openPeer(server), 'read_graph')
  expect(valueOf(outcome)).toMatchObject({ structuredContent: { entities: [entity] } })
})

/** A 2026-07-28 server made with the official SDK v2. */
const SDK_SERVER = `
import { createServer } from 'node:http'
import { McpServer, createMcpHandler, inputRequired } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
const factory = () => {
  const server = new McpServer({ name: 'sdk', version: '2.0.0' }, { instructions: 'Made by the SDK.' })
  server.registerTool('add', { description: 'Adds', inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }))
  server.registerTool('steps', { inputSchema: z.object({}) }, async (_args, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken
    for (let progress = 1; progress <= 3; progress++) await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } })
    return { content: [] }
  })
  server.registerTool('book', { inputSchema: z.object({}) }, (_args, ctx) => {
    const answer = ctx.mcpReq.inputResponses?.when
    if (answer) return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
    return inputRequired({ inputRequests: { when: inputRequired.elicit({ message: 'When?', requestedSchema: { type: 'object', properties: { day: { type: 'string' } } } }) } })
  })
  server.registerResource('note', 'note://one', {}, (uri) => ({ contents: [{ uri: uri.href, text: 'hello' }] }))
  return server
}
if (process.argv.includes('http')) {
  const handler = createMcpHandler(factory, { legacy: 'reject' })
  const server = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const answer = await handler.fetch(new Request('http://127.0.0.1' + request.url, { method: request.method, headers: request.headers, ...(chunks.length ? { body: Buffer.concat(chunks) } : {}) }))
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (answer.body) for await (const chunk of answer.body) response.write(chunk)
    response.end()
  })
  server.listen(0, '127.0.0.1', () => console.log(server.address().port))
} else serveStdio(factory, { legacy: 'reject' })
`

/** Beside the packages, so that the imports resolve. */
function sdkServerArguments(): readonly string[] {
  return ['--input-type=module', '-e', SDK_SERVER]
}

async function sdkOverHttp(): Promise<Server> {
  const child = spawn(process.execPath, [...sdkServerArguments(), 'http'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { transport: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: {} }
}

const sdkOverStdio = (): Promise<Server> =>
  Promise.resolve({
    transport: 'stdio',
    command: process.execPath,
    args: sdkServerArguments(),
    env: {},
  })

describe.each([
  ['stdio', sdkOverStdio],
  ['HTTP', sdkOverHttp],
])('an SDK v2 server of 2026-07-28 over %s', (_, start) => {
  test('is discovered, lists, calls, reads and reports progress', async () => {
    const peer = openPeer(await start())
    const { capabilities, leftOut, instructions } = await peer.listing()
    expect([leftOut, instructions]).toEqual([[], 'Made by the SDK.'])
    expect(peer.report()).toMatchObject({ revision: '2026-07-28', callsItself: 'sdk 2.0.0' })
    expect(capabilities.map(({ name }) => name)).toEqual(['add', 'steps', 'book', 'note://one'])

    expect(valueOf((await makeCall(peer, 'add', { a: 2, b: 3 })).outcome)).toMatchObject({
      resultType: 'complete',
      content: [{ text: '5' }],
    })
    const steps = await makeCall(
      peer,
      'steps',
      {},
      { params: '{"name":"x","arguments":{},"_meta":{"progressToken":"t"}}' },
    )
    expect(steps.outcome.state).toBe('completed')
    expect(steps.events.map(({ params }) => (params as { progress: number }).progress)).toEqual([
      1, 2, 3,
    ])
    const read = await makeCall(
      peer,
      'note://one',
      {},
      { operation: 'read', params: '{"uri":"x"}' },
    )
    expect(valueOf(read.outcome)).toMatchObject({ contents: [{ text: 'hello' }] })
  })

  test('asks, and goes on with the answer', async () => {
    const peer = openPeer(await start())
    const first = await makeCall(peer, 'book', {}, { can: { form: true } })
    if (first.outcome.state !== 'input_required') throw new Error(JSON.stringify(first.outcome))
    expect(first.outcome.questions).toMatchObject([{ kind: 'form', key: 'when', text: 'When?' }])
    const answers = [{ key: 'when', action: 'accept', data: { day: 'Monday' } }] as const
    const { handle } = first.outcome
    const second = await makeCall(
      peer,
      'book',
      {},
      { can: { form: true }, continuation: { callId: 'c', handle, answers } },
    )
    expect(JSON.stringify(valueOf(second.outcome))).toContain('Monday')
  })

  test('an unknown tool did not run', async () => {
    const { outcome } = await makeCall(openPeer(await start()), 'nothing')
    expect(outcome).toMatchObject({ state: 'failed', origin: 'peer', ran: 'no' })
  })
})
