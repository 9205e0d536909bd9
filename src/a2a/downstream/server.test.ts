/** The A2A door on bare sockets: answers that nobody reads, headers that come twice. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { A2aDoorPorts, A2aLimits } from './options.ts'
import { createA2aDoor } from './server.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

// Beyond what the kernel buffers for a socket whose other end does not read.
const BIG_BYTES = 20 * 1024 * 1024

/** A door with a card that is too large to be buffered, and a small one; no work is begun in these tests. */
async function open(limits: Partial<A2aLimits> = {}) {
  const never = (): never => {
    throw new Error('nothing is asked of the core here')
  }
  const ports: A2aDoorPorts = {
    agents: [
      { name: 'big', description: 'x'.repeat(BIG_BYTES), version: '1', skills: [] },
      { name: 'small', description: 'small', version: '1', skills: [] },
    ],
    route: never,
    begin: never,
    tasks: { load: never, artifacts: never },
    desk: { load: never, list: never, answer: never, cancel: never, wait: never, watch: never },
  }
  const door = createA2aDoor(ports, {
    clock: { now: Date.now },
    authenticate: () => Promise.resolve({ principal: { id: 'local', groups: [], via: 'local' } }),
    limits: { drainMs: 50, ...limits },
  })
  const server = createServer((request, response) => void door.handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  door.servedAt(`http://127.0.0.1:${port}`)
  closers.push(async () => {
    await door.close()
    server.closeAllConnections()
    server.close()
  })
  const small = () => fetch(`http://127.0.0.1:${port}/a2a/small/.well-known/agent-card.json`)
  const isServed = async (): Promise<boolean> => {
    const response = await small()
    await response.text()
    return response.status === 200
  }
  return { port, small, isServed }
}

/** Reads the big card's first bytes and no more. */
async function readUnread(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  closers.push(() => socket.destroy())
  socket.write('GET /a2a/big/.well-known/agent-card.json HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await new Promise<void>((resolve) => {
    socket.once('data', (first: Buffer) => {
      socket.pause()
      socket.unshift(first)
      resolve()
    })
  })
  return socket
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    if (await condition()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error('the condition did not come true in time')
}

describe('an answer nobody reads', () => {
  test('is given up, with its connection, when the socket took nothing for long', async () => {
    const { port, isServed } = await open({ writeIdleMs: 200, maxInFlight: 1 })
    const socket = await readUnread(port)
    await until(isServed)

    let size = 0
    for await (const part of socket) size += (part as Buffer).length

    expect(size).toBeLessThan(BIG_BYTES)
  })

  test('counts as in flight until its connection is gone', async () => {
    const { port, isServed } = await open({ maxInFlight: 1 })
    const socket = await readUnread(port)

    expect(await isServed()).toBe(false)
    socket.destroy()
    await until(isServed)
  })

  test('beyond the bytes a door holds, new requests are told to come back', async () => {
    const { port, small, isServed } = await open({ maxUnreadBytes: BIG_BYTES })
    const sockets = [await readUnread(port), await readUnread(port)]

    const refused = await small()

    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await refused.text()).toContain('waiting to be read')
    for (const socket of sockets) socket.destroy()
    await until(isServed)
  })

  test('arrives whole when it is read', async () => {
    const { port } = await open({ writeIdleMs: 500 })
    const response = await fetch(`http://127.0.0.1:${port}/a2a/big/.well-known/agent-card.json`)

    const card = (await response.json()) as { description: string }

    expect(card.description.length).toBe(BIG_BYTES)
  })
})

describe('a header that comes twice', () => {
  test.each([
    ['Authorization', 'Bearer one', 'Bearer two'],
    ['Host', 'localhost', 'localhost'],
    ['Origin', 'http://localhost', 'https://evil.example'],
    ['Content-Type', 'application/json', 'text/plain'],
    ['MCP-Protocol-Version', '2026-07-28', '2025-11-25'],
    ['Mcp-Method', 'a', 'b'],
    ['Mcp-Name', 'a', 'b'],
    ['Mcp-Session-Id', 'a', 'b'],
    ['A2A-Version', '1.0', '0.3'],
  ])('%s is 400', async (name, first, second) => {
    const { port } = await open()
    const socket = connect(port, '127.0.0.1')
    closers.push(() => socket.destroy())
    const body = '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}'
    const others = ['host: localhost', 'content-type: application/json', 'a2a-version: 1.0'].filter(
      (line) => !line.startsWith(`${name.toLowerCase()}:`),
    )
    const lines = [
      'POST /a2a/small HTTP/1.1',
      `${name}: ${first}`,
      ...others,
      'connection: close',
      `content-length: ${body.length}`,
      `${name.toLowerCase()}: ${second}`,
    ]
    socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
    let answer = ''
    for await (const part of socket) answer += String(part)

    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain(`the header ${name} came more than once`)
  })
})
