/** Answers that nobody reads, and headers that come twice, on bare sockets. */
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import {
  exchangeRaw,
  modernMeta,
  openTestDoor,
  postModern,
  rawPost,
  type TestDoorOptions,
  until,
} from './testing/test-door.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

// Beyond what the kernel buffers for a socket whose other end does not read.
const BIG_BYTES = 20 * 1024 * 1024

const SMALL: Scripted = {
  kind: 'tool',
  exposed: 'small',
  run: () => completed({ content: [] }),
}

const BIG: Scripted = {
  kind: 'tool',
  exposed: 'big',
  run: () => completed({ content: [{ type: 'text', text: 'x'.repeat(BIG_BYTES) }] }),
}

async function open(options: TestDoorOptions = {}) {
  const house = createScriptedHouse([SMALL, BIG])
  const server = await openTestDoor(house, options)
  closers.push(server.close)
  const isServed = async (): Promise<boolean> => {
    const { status } = await postModern(server.url, 'tools/call', { name: 'small' })
    return status === 200
  }
  return { house, isServed, ...server }
}

const CALL_BIG = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'big', _meta: modernMeta() },
})

/** Asks for the big answer and stops reading once it has begun. */
async function callUnread(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  closers.push(() => socket.destroy())
  const head = rawPost('localhost', CALL_BIG, {
    connection: 'keep-alive',
    'mcp-method': 'tools/call',
    'mcp-name': 'big',
  })
  socket.write(head)
  await new Promise<void>((resolve) => {
    socket.once('data', (first: Buffer) => {
      socket.pause()
      socket.unshift(first)
      resolve()
    })
  })
  return socket
}

function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    const done = (): void => resolve(Buffer.concat(parts).toString())
    socket.on('data', (part: Buffer) => parts.push(part))
    socket.once('close', done)
    socket.resume()
  })
}

describe('an answer nobody reads', () => {
  test('is given up, with its connection, when the socket took nothing for long', async () => {
    const { port, isServed } = await open({ limits: { writeIdleMs: 200, maxInFlight: 1 } })
    const socket = await callUnread(port)
    await until(isServed)

    // What the kernel held comes, the rest does not.
    const text = await readAll(socket)

    expect(text).toMatch(/^HTTP\/1\.1 200 /)
    expect(text.length).toBeLessThan(BIG_BYTES)
  })

  test('arrives whole when it is read slowly, in longer than the limit', async () => {
    const { port } = await open({ limits: { writeIdleMs: 3000 } })
    const socket = connect(port, '127.0.0.1')
    closers.push(() => socket.destroy())
    socket.write(rawPost('localhost', CALL_BIG, { 'mcp-method': 'tools/call', 'mcp-name': 'big' }))
    const began = Date.now()
    let size = 0
    for await (const part of socket) {
      size += (part as Buffer).length
      // Slow, all in all longer than the limit, yet well within it from one opening of the kernel's window to the next.
      if (Date.now() - began < 4000) await new Promise((resolve) => setTimeout(resolve, 15))
    }

    expect(size).toBeGreaterThan(BIG_BYTES)
    expect(Date.now() - began).toBeGreaterThan(3000)
  })

  test('counts as in flight until it was taken or its connection is gone', async () => {
    const { port, isServed } = await open({ limits: { maxInFlight: 1 } })
    const socket = await callUnread(port)

    expect(await isServed()).toBe(false)
    socket.destroy()
    await until(isServed)
  })

  test('beyond the bytes a door holds, new requests are told to come back', async () => {
    const { port, url, isServed } = await open({ limits: { maxUnreadBytes: BIG_BYTES } })
    const first = await callUnread(port)
    const second = await callUnread(port)

    const refused = await postModern(url, 'tools/call', { name: 'small' })

    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(refused.text).toContain('waiting to be read')
    first.destroy()
    second.destroy()
    await until(isServed)
  })

  test('a pipelined answer waits for the one before it as long as that takes', async () => {
    const gate = Promise.withResolvers<void>()
    const slow: Scripted = {
      kind: 'tool',
      exposed: 'slow',
      run: async () => {
        await gate.promise
        return completed({ content: [{ type: 'text', text: 'first' }] })
      },
    }
    const server = await openTestDoor(createScriptedHouse([slow, SMALL]), {
      limits: { writeIdleMs: 50 },
    })
    closers.push(server.close)
    const ask = (name: string): string => {
      const params = { name, _meta: modernMeta() }
      const body = JSON.stringify({ jsonrpc: '2.0', id: name, method: 'tools/call', params })
      return rawPost('localhost', body, { 'mcp-method': 'tools/call', 'mcp-name': name })
    }
    const both = exchangeRaw(server.port, [
      ask('slow').replace('connection: close\r\n', ''),
      ask('small'),
    ])
    setTimeout(gate.resolve, 400)

    const text = await both

    expect(text.match(/HTTP\/1\.1 200 /g)).toHaveLength(2)
    expect(text).toContain('"id":"small"')
  })

  test('does not hold up the end of a door', async () => {
    const { port, close } = await open({ limits: { drainMs: 50 } })
    const socket = await callUnread(port)

    await close()
    closers.length = 0

    socket.destroy()
    await expect(fetch(`http://127.0.0.1:${port}/mcp`)).rejects.toThrow()
  })
})

describe('a header that comes twice', () => {
  const list = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/list',
    params: { _meta: modernMeta() },
  })

  test.each([
    ['Authorization', 'Bearer one', 'Bearer two'],
    ['Host', 'localhost', 'localhost'],
    ['Origin', 'http://localhost', 'https://evil.example'],
    ['Content-Type', 'application/json', 'text/plain'],
    ['MCP-Protocol-Version', '2026-07-28', '2025-11-25'],
    ['Mcp-Method', 'tools/list', 'tools/call'],
    ['Mcp-Name', 'a', 'b'],
    ['Mcp-Session-Id', 'a', 'b'],
    ['Mcp-Param-Region', 'a', 'b'],
    ['A2A-Version', '1.0', '0.3'],
  ])('%s is 400', async (name, first, second) => {
    const { port, house } = await open()
    const head = rawPost('localhost', list).replace(new RegExp(`\r\n${name}: [^\r]*`, 'i'), '')

    const answer = await exchangeRaw(port, [
      head.replace('\r\n', `\r\n${name}: ${first}\r\n${name.toLowerCase()}: ${second}\r\n`),
    ])

    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer.toLowerCase()).toContain(`the header ${name.toLowerCase()} `)
    expect(house.calls).toEqual([])
  })

  test('Accept may, its values are a list', async () => {
    const { port } = await open()
    const head = rawPost('localhost', list, { accept: 'application/json' })

    const answer = await exchangeRaw(port, [
      head.replace('\r\n', '\r\naccept: text/event-stream\r\n'),
    ])

    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })
})
