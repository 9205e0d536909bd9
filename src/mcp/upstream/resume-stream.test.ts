import { describe, expect, test } from 'vitest'
import { listen, makeCall, openPeer, reply, type Message } from '../../../test/mcp/upstream-peer.ts'

const EMPTY = 'id: 1\nretry: 0\ndata:\n\n'

/** A session server whose calls are answered by a stream that ends at once, as each that goes on with it does. */
async function listenFruitless(onGet: () => void): Promise<string> {
  return listen((request, response, body) => {
    const stream = (): void =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(EMPTY)
    if (request.method === 'DELETE') return void response.writeHead(200).end()
    if (request.method === 'GET') {
      onGet()
      return stream()
    }
    const message = JSON.parse(body) as Message
    if (message.id === undefined) return void response.writeHead(202).end()
    if (message.method === 'tools/call') return stream()
    const capabilities = { tools: {} }
    const serverInfo = { name: 'x', version: '1' }
    const result =
      message.method === 'initialize'
        ? { protocolVersion: '2025-11-25', capabilities, serverInfo }
        : { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] }
    reply(response, message, { result })
  })
}

describe('an answer that is put off for ever', () => {
  test('is asked for ever less often, though the server wants no pause; the call ends with its time, unknown', async () => {
    let gets = 0
    const url = await listenFruitless(() => (gets += 1))
    const peer = openPeer({ transport: 'http', url, headers: {} })
    await peer.listing()
    const { outcome } = await makeCall(peer, 'pay', {}, { deadlineMs: 3_000 })
    expect(outcome).toMatchObject({ state: 'unknown', because: 'deadline' })
    // After 50, 100, 200, 400, 800 and 1000 milliseconds.
    expect(gets).toBeGreaterThan(2)
    expect(gets).toBeLessThan(9)
  })
})
