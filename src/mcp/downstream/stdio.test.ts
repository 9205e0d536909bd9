/** The stdio door over real pipes: the official clients, and bare lines. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, describe, expect, test } from 'vitest'
import { dig, modernMeta } from './testing/test-door.ts'

const SCRIPT = new URL('./testing/scripted-stdio.ts', import.meta.url).pathname
const LAUNCH = { command: process.execPath, args: [SCRIPT] }

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

describe('the official clients', () => {
  test.each(['modern', 'legacy', 'auto'] as const)('v2, %s', async (era) => {
    const mode = era === 'modern' ? { pin: '2026-07-28' } : era
    const client = new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new StdioV2(LAUNCH))
    closers.push(() => client.close())

    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'desk_echo',
      'desk_late',
      'desk_sleep',
    ])
    const result = await client.callTool({ name: 'desk_echo', arguments: { text: 'ß\n' } })
    expect(result.content).toEqual([{ type: 'text', text: 'ß\n' }])
    expect(client.getNegotiatedProtocolVersion()).toBe(
      era === 'legacy' ? '2025-11-25' : '2026-07-28',
    )
  })

  test('v1', async () => {
    const client = new ClientV1({ name: 'v1', version: '1' })
    await client.connect(new StdioV1(LAUNCH))
    closers.push(() => client.close())

    const result = await client.callTool({ name: 'desk_echo', arguments: { text: 'x' } })
    expect(result['content']).toEqual([{ type: 'text', text: 'x' }])
  })
})

describe('bare lines', () => {
  test('requests of both eras run at once on one pipe and are answered as they finish', async () => {
    const pipe = openPipe()
    pipe.send({ id: 1, method: 'tools/call', params: modern('desk_sleep', { ms: 60_000 }) })
    pipe.send({ id: 'a', method: 'initialize', params: { protocolVersion: '2025-06-18' } })
    pipe.send({
      id: 'b',
      method: 'tools/call',
      params: { name: 'desk_echo', arguments: { text: 'y' } },
    })

    const answers = [await pipe.next(), await pipe.next()]
    // Its end of input is what ends the first one.
    pipe.child.stdin.end()
    answers.push(await pipe.next())

    expect(answers.map((answer) => dig(answer, 'id'))).toEqual(['a', 'b', 1])
    expect(dig(answers[0], 'result', 'protocolVersion')).toBe('2025-06-18')
    expect(answers[1]).not.toHaveProperty('result.resultType')
    expect(answers[2]).toHaveProperty('result.resultType', 'complete')
  })

  test.each(['modern', 'legacy'] as const)(
    '%s: a withdrawn request stops and is not answered',
    async (era) => {
      const pipe = openPipe()
      if (era === 'legacy') {
        pipe.send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } })
        await pipe.next()
      }
      const params = {
        name: 'desk_sleep',
        arguments: { ms: 60_000 },
        _meta: { progressToken: 't' },
      }
      const meta = { ...modernMeta(), progressToken: 't' }
      pipe.send({
        id: 5,
        method: 'tools/call',
        params: era === 'modern' ? { ...params, _meta: meta } : params,
      })
      // The progress shows that the call runs.
      expect(await pipe.next()).toEqual({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: 't', progress: 1 },
      })
      pipe.send({ method: 'notifications/cancelled', params: { requestId: '5' } })
      pipe.send({ method: 'notifications/cancelled', params: { requestId: 5 } })
      expect(await pipe.stderr()).toBe('stopped: caller_canceled')
      pipe.send({ id: 6, method: 'tools/list', params: { _meta: modernMeta() } })

      expect(dig(await pipe.next(), 'id')).toBe(6)
    },
  )

  test('what a peer says after its answer is not passed on', async () => {
    const pipe = openPipe()
    const params = { ...modern('desk_late', {}), _meta: { ...modernMeta(), progressToken: 't' } }
    pipe.send({ id: 1, method: 'tools/call', params })
    expect(dig(await pipe.next(), 'id')).toBe(1)
    expect(await pipe.stderr()).toBe('said too late')
    pipe.send({ id: 2, method: 'ping' })

    expect(dig(await pipe.next(), 'id')).toBe(2)
  })

  test('a line that is too long, one that is no JSON and a batch are refused; the next one is served', async () => {
    const pipe = openPipe()
    pipe.raw(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${'y'.repeat(70_000)}"}}\n`)
    pipe.raw('{"jsonrpc": nonsense}\n')
    pipe.raw(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d, 0x0a]))
    pipe.raw('[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n')
    pipe.raw('  \n')
    pipe.send({ id: 9, method: 'ping' })

    const codes = []
    for (let index = 0; index < 4; index += 1) codes.push(dig(await pipe.next(), 'error', 'code'))
    expect(codes).toEqual([-32600, -32700, -32700, -32600])
    expect(await pipe.next()).toEqual({ jsonrpc: '2.0', id: 9, result: {} })
  })

  test('before initialize a request without metadata is told what is expected', async () => {
    const pipe = openPipe()
    pipe.send({ id: 1, method: 'tools/list' })

    expect(await pipe.next()).toMatchObject({ id: 1, error: { code: -32602 } })
  })

  test('a reader that is gone ends the door, and stops what still runs for it', async () => {
    const pipe = openPipe()
    pipe.send({ id: 1, method: 'tools/call', params: modern('desk_sleep', { ms: 60_000 }) })
    pipe.send({ id: 2, method: 'ping' })
    expect(dig(await pipe.next(), 'id')).toBe(2)
    pipe.child.stdout.destroy()
    pipe.send({ id: 3, method: 'ping' })

    expect(await pipe.stderr()).toBe('stopped: caller_canceled')
    const [code] = await pipe.exited
    expect(code).toBe(0)
  })

  test('at the end of input running requests still answer, and the process ends by itself', async () => {
    const pipe = openPipe()
    pipe.send({ id: 1, method: 'tools/call', params: modern('desk_sleep', { ms: 100 }) })
    pipe.send({ id: 2, method: 'tools/call', params: modern('desk_sleep', { ms: 60_000 }) })
    pipe.child.stdin.end()

    const answers = [await pipe.next(), await pipe.next()]

    expect(answers.map((answer) => dig(answer, 'result', 'content', 0, 'text'))).toEqual([
      'slept',
      'stopped: shutdown',
    ])
    const [code] = await pipe.exited
    expect(code).toBe(0)
  })
})

function modern(name: string, args: object): Record<string, unknown> {
  return { name, arguments: args, _meta: modernMeta() }
}

function openPipe() {
  const child: ChildProcessWithoutNullStreams = spawn(LAUNCH.command, LAUNCH.args)
  const exited = once(child, 'exit')
  closers.push(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const errors = createInterface({ input: child.stderr })[Symbol.asyncIterator]()
  return {
    child,
    exited,
    raw: (bytes: string | Uint8Array) => child.stdin.write(bytes),
    send: (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    next: async (): Promise<unknown> => {
      const { value, done } = await lines.next()
      if (done === true) throw new Error('the output ended')
      return JSON.parse(value)
    },
    stderr: async () => (await errors.next()).value,
  }
}
