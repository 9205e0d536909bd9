/**
 * Long work for a caller of 2026-07-28 with tasks, over HTTP and stdio, across `kill -9` of comity: a server's own task is followed
 * on and read by its id, a plain call that became a task dies with its process as unknown and is not sent again.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test, vi } from 'vitest'
import { dig, modernMeta, postModern } from '../../src/mcp/downstream/testing/test-door.ts'
import { serveHttp } from '../../src/testkit/conforming-peer/http.ts'
import {
  comity,
  comityCommand,
  createHome,
  type Home,
  startUp,
  until,
} from './comity-process.fixture.ts'

// Real processes, each started anew.
vi.setConfig({ testTimeout: 60_000 })

const CAN = { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: {} }
const WAITING = join(import.meta.dirname, 'asking-peer.fixture.ts')

interface Caller {
  ask(method: string, params: object): Promise<unknown>
  /** `kill -9` of the comity that serves it. */
  kill(): Promise<void>
}

async function overHttp(home: Home): Promise<Caller> {
  const up = await startUp(home)
  onTestFinished(async () => void (await up.stop()))
  return {
    async ask(method, params) {
      const taskId = dig(params, 'taskId')
      const headers = typeof taskId === 'string' ? { 'mcp-name': taskId } : {}
      const _meta = modernMeta({ 'io.modelcontextprotocol/clientCapabilities': CAN })
      const { body } = await postModern(`${up.url}/mcp`, method, { ...params, _meta }, { headers })
      return body
    },
    kill: async () => void (await up.stop('SIGKILL')),
  }
}

async function overStdio(home: Home): Promise<Caller> {
  const { command, args, env, cwd } = comityCommand(home, 'mcp', '--standalone')
  const child = spawn(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'ignore'] })
  const gone = once(child, 'exit')
  const waiting = new Map<number, (message: unknown) => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message: unknown = JSON.parse(line)
    waiting.get(Number(dig(message, 'id')))?.(message)
  })
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await gone
  }
  onTestFinished(kill)
  let last = 0
  return {
    ask: (method, params) =>
      new Promise((resolve) => {
        const id = (last += 1)
        waiting.set(id, resolve)
        const _meta = modernMeta({ 'io.modelcontextprotocol/clientCapabilities': CAN })
        const message = { jsonrpc: '2.0', id, method, params: { ...params, _meta } }
        child.stdin.write(`${JSON.stringify(message)}\n`)
      }),
    kill,
  }
}

const WIRES = [
  ['HTTP', overHttp],
  ['stdio', overStdio],
] as const

async function house() {
  const peer = await serveHttp(0, 'modern')
  onTestFinished(() => peer.close())
  const home = createHome({ store: 'sqlite:./comity.db' })
  onTestFinished(home.remove)
  const folder = home.path('waiting')
  mkdirSync(folder)
  home.configure({
    mcpServers: {
      peer: { url: peer.url },
      waiting: { command: process.execPath, args: [WAITING, folder] },
    },
    store: 'sqlite:./comity.db',
    policy: { rules: [{ match: ['*/*'], effect: 'allow' }] },
    tasks: { after: '200ms' },
  })
  return { home, release: () => writeFileSync(join(folder, 'release'), '') }
}

const call = (caller: Caller, name: string, args = {}): Promise<unknown> =>
  caller.ask('tools/call', { name, arguments: args })

async function taskOf(answer: Promise<unknown>): Promise<string> {
  const body = await answer
  expect(dig(body, 'result', 'resultType'), JSON.stringify(body)).toBe('task')
  return String(dig(body, 'result', 'taskId'))
}

async function untilStatus(caller: Caller, taskId: string, status: string): Promise<unknown> {
  return until(`it is ${status}`, async () => {
    const body = await caller.ask('tasks/get', { taskId })
    return dig(body, 'result', 'status') === status ? dig(body, 'result') : undefined
  })
}

test.each(WIRES)(
  'over %s a server’s task is followed across kill -9, asked and answered by its id',
  async (_wire, open) => {
    const { home } = await house()
    const first = await open(home)
    const computing = await taskOf(call(first, 'peer_slow_compute', { seconds: 2, label: 'x' }))
    const asking = await taskOf(call(first, 'peer_confirm_delete', { filename: 'a.txt' }))
    await first.kill()
    const second = await open(home)
    const asked = await untilStatus(second, asking, 'input_required')
    const requests = dig(asked, 'inputRequests') as Record<string, unknown>
    const [key = '', request] = Object.entries(requests)[0] ?? []
    expect(dig(request, 'params', 'message')).toBe('peer asks: Delete a.txt?')
    const inputResponses = { [key]: { action: 'accept', content: { confirm: true } } }
    await second.ask('tasks/update', { taskId: asking, inputResponses })
    const deleted = await untilStatus(second, asking, 'completed')
    expect(dig(deleted, 'result', 'content', 0, 'text')).toBe('deleted a.txt')
    const computed = await untilStatus(second, computing, 'completed')
    expect(dig(computed, 'result', 'content', 0, 'text')).toBe('computed x in 2 s')
  },
)

test.each(WIRES)(
  'over %s a long plain call is a task that ends with its result, or with its process as unknown',
  async (_wire, open) => {
    const { home, release } = await house()
    const first = await open(home)
    const lost = await taskOf(call(first, 'waiting_wait'))
    expect(dig(await first.ask('tasks/get', { taskId: lost }), 'result', 'status')).toBe('working')
    await first.kill()
    const second = await open(home)
    const failed = await untilStatus(second, lost, 'failed')
    expect(dig(failed, 'statusMessage')).toContain('it is not known whether this ran to its end')
    expect(dig(failed, 'error', 'data', 'comity/outcome', 'state')).toBe('unknown')

    // The same again is that one's twin, and is not sent unless somebody knows better.
    const twin = await call(second, 'waiting_wait')
    expect(JSON.stringify(twin)).toContain('unknown')
    await comity(
      home,
      'settle',
      String(dig(failed, 'error', 'data', 'comity/outcome', 'callId')),
      '--as',
      'did-not-run',
    )
    const taskId = await taskOf(call(second, 'waiting_wait'))
    release()
    const done = await untilStatus(second, taskId, 'completed')
    expect(dig(done, 'result', 'content', 0, 'text')).toBe('"released"')
  },
)
