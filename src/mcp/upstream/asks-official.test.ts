/** Questions and principals at real counterparts: the official servers, and the SDK v2 in a session revision. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type CallOptions,
  makeCall,
  openPeer,
  type Server,
  valueOf,
} from '../../../test/mcp/upstream-peer.ts'
import type { Question } from '../../core/words/question.ts'
import { mcpNative } from '../wire/native.ts'
import type { McpPeer } from './client.ts'

const require = createRequire(import.meta.url)
const ALL = { form: true, url: true, sampling: true, roots: true }

function binOf(name: string): string {
  const manifest = require.resolve(`@modelcontextprotocol/${name}/package.json`)
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> }
  return join(dirname(manifest), Object.values(bin)[0]!)
}

function official(name: string, args: readonly string[], env: Record<string, string> = {}): Server {
  const command = process.execPath
  return { transport: 'stdio', command, args: [binOf(`server-${name}`), ...args], env }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function everythingOverHttp(): Promise<Server> {
  const port = await freePort()
  const child = spawn(process.execPath, [binOf('server-everything'), 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stderr })) {
    if (line.includes('listening')) break
  }
  return { transport: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: {} }
}

/** The tools that hang on what a client declared come a moment after the session began. */
async function untilOffered(peer: McpPeer, name: string): Promise<void> {
  for (let tries = 0; tries < 50; tries += 1) {
    const { capabilities } = await peer.listing()
    if (capabilities.some((one) => one.name === name)) return
    await new Promise((resolve) => peer.onChanged(() => resolve(undefined)))
  }
  throw new Error(`${name} is not offered`)
}

const accepting = (result: object, asked: Question[]): CallOptions => ({
  can: ALL,
  ask: (question) => {
    asked.push(question)
    const native = mcpNative(Buffer.from(JSON.stringify(result)), '2026-07-28')
    return Promise.resolve({ key: question.key, action: 'accept', native })
  },
})

const textOf = async (made: ReturnType<typeof makeCall>): Promise<string> =>
  JSON.stringify(valueOf((await made).outcome))

describe.each([
  ['stdio', () => Promise.resolve(official('everything', ['stdio']))],
  ['HTTP', everythingOverHttp],
])('server-everything over %s', (_, start) => {
  test('asks a form, a model and a page to open, and gets the answers', async () => {
    const peer = openPeer(await start())
    await untilOffered(peer, 'trigger-sampling-request')
    const asked: Question[] = []
    const form = { action: 'accept', content: { name: 'Ada', check: true } }
    expect(
      await textOf(makeCall(peer, 'trigger-elicitation-request', {}, accepting(form, asked))),
    ).toContain('Ada')

    const sampled = { role: 'assistant', content: { type: 'text', text: 'forty-two' }, model: 'm' }
    const prompt = { prompt: 'How many?', maxTokens: 5 }
    expect(
      await textOf(makeCall(peer, 'trigger-sampling-request', prompt, accepting(sampled, asked))),
    ).toContain('forty-two')

    const page = { url: 'https://x.example/', message: 'Look', elicitationId: 'e1' }
    expect(
      await textOf(
        makeCall(peer, 'trigger-url-elicitation', page, accepting({ action: 'accept' }, asked)),
      ),
    ).toContain('completed')
    // The roots are asked for once a session, whenever that is.
    const questions = asked.filter(({ kind }) => kind !== 'roots')
    expect(questions.map(({ kind, attributed }) => [kind, attributed])).toEqual([
      ['form', undefined],
      ['sampling', undefined],
      ['url', undefined],
    ])
    expect(questions[2]?.native.value()).toMatchObject({ params: { mode: 'url', ...page } })
  })

  test('is told that its caller says no, and an error that asks for a page ran nothing', async () => {
    const peer = openPeer(await start())
    await untilOffered(peer, 'trigger-url-elicitation')
    const declining: CallOptions = {
      can: ALL,
      ask: ({ key }) => Promise.resolve({ key, action: 'decline' }),
    }
    const tool = 'trigger-elicitation-request'
    expect(await textOf(makeCall(peer, tool, {}, declining))).toMatch(/declined/iu)
    expect(await textOf(makeCall(peer, tool))).toContain('nobody was asked')
    const prompt = { prompt: 'x' }
    expect(await textOf(makeCall(peer, 'trigger-sampling-request', prompt, declining))).toContain(
      'declined the sampling request',
    )
    const page = { url: 'https://x.example/', message: 'Look', errorPath: true }
    const { outcome } = await makeCall(peer, 'trigger-url-elicitation', page)
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no', native: expect.anything() })
    expect(valueOf(outcome)).toMatchObject({ code: -32042 })
  })
})

test('server-memory: principals have processes of their own; what it keeps in a file is one file', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'comity-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'memory.jsonl')
  const peer = openPeer(official('memory', [], { MEMORY_FILE_PATH: file }))
  const entity = (name: string): object => ({ name, entityType: 'person', observations: [] })
  for (const principal of ['alice', 'bob']) {
    const entities = [entity(principal)]
    const { outcome } = await makeCall(peer, 'create_entities', { entities }, { principal })
    expect(outcome).toMatchObject({ state: 'completed', toolError: false })
  }
  const { outcome } = await makeCall(peer, 'read_graph', {}, { principal: 'alice' })
  expect(valueOf(outcome)).toMatchObject({
    structuredContent: { entities: [entity('alice'), entity('bob')] },
  })
})

/** A server of the SDK v2 that asks as 2026-07-28 has it, and bridges that for older clients. */
const SDK_SERVER = `
import { McpServer, inputRequired } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
serveStdio(() => {
  const server = new McpServer({ name: 'sdk', version: '2.0.0' })
  server.registerTool('book', { inputSchema: z.object({}) }, (_args, ctx) => {
    const answer = ctx.mcpReq.inputResponses?.when
    if (answer) return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
    return inputRequired({ inputRequests: { when: inputRequired.elicit({ message: 'When?', requestedSchema: { type: 'object', properties: { day: { type: 'string' } } } }) } })
  })
  return server
})`

describe('an SDK v2 server that speaks both eras', () => {
  const server: Server = {
    transport: 'stdio',
    command: process.execPath,
    args: ['--input-type=module', '-e', SDK_SERVER],
    env: {},
  }

  test('locked to 2025-11-25 asks in mid-call, and the very call goes on', async () => {
    const peer = openPeer(server, { revision: '2025-11-25' })
    const asked: Question[] = []
    const answer = { action: 'accept', content: { day: 'Monday' } }
    const { outcome, sent } = await makeCall(peer, 'book', {}, accepting(answer, asked))
    expect(JSON.stringify(valueOf(outcome))).toContain('Monday')
    expect(asked).toMatchObject([{ kind: 'form', text: 'When?' }])
    expect(sent).toMatchObject([{ revision: '2025-11-25' }])
  })

  test('of 2026-07-28 answers that input is required, and asks nothing in mid-call', async () => {
    const asked: Question[] = []
    const { outcome } = await makeCall(openPeer(server), 'book', {}, accepting({}, asked))
    expect(outcome).toMatchObject({ state: 'input_required', questions: [{ kind: 'form' }] })
    expect(asked).toEqual([])
  })
})
