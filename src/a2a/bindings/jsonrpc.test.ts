import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { Agent, buildConnector } from 'undici'
import { afterAll, describe, expect, it } from 'vitest'
import {
  openRawPeer,
  openSse,
  type RawPeer,
  replyError,
  replyJson,
  replyResult,
  sendEvent,
  until,
} from '../../../test/a2a/raw-peer.ts'
import { openConnections } from './http.ts'
import { createJsonRpc, type JsonRpcOptions, type RpcCall, type StreamItem } from './jsonrpc.ts'

const connections = openConnections()
afterAll(() => connections.close())

const never = new AbortController().signal
const call = (more: Partial<RpcCall> = {}): RpcCall => ({
  method: 'GetTask',
  params: '{"id":"t"}',
  wireId: 'w-1',
  signal: never,
  timeoutMs: 5000,
  act: true,
  ...more,
})
const clientOf = (peer: RawPeer, more: Partial<JsonRpcOptions> = {}) =>
  createJsonRpc(connections, { url: `${peer.origin}/rpc`, headersOrigin: peer.origin, ...more })

async function collect(items: AsyncIterable<StreamItem>): Promise<StreamItem[]> {
  const all: StreamItem[] = []
  for await (const item of items) all.push(item)
  return all
}

describe('one call', () => {
  it('a result comes back with the text it was received as', async () => {
    await using peer = await openRawPeer((_request, response) => {
      replyJson(response, 200, '{"jsonrpc":"2.0","id":"w-1","result": {"n": 12345678901234567890}}')
    })
    const reply = await clientOf(peer).send(call())
    expect(reply.kind === 'result' && reply.received.text).toBe('{"n": 12345678901234567890}')
    const [request] = peer.seen
    expect(request?.json).toEqual({
      jsonrpc: '2.0',
      id: 'w-1',
      method: 'GetTask',
      params: { id: 't' },
    })
    expect(request?.headers['a2a-version']).toBe('1.0')
    expect(request?.headers['content-type']).toBe('application/json')
  })

  it('configured headers go to the card’s origin and to no other', async () => {
    await using peer = await openRawPeer((request, response) => replyResult(request, response, {}))
    const headers = { Authorization: 'Bearer canary-1' }
    await clientOf(peer, { headers }).send(call())
    await clientOf(peer, { headers, headersOrigin: 'https://card.example' }).send(call())
    expect(peer.seen.map((request) => request.headers.authorization)).toEqual([
      'Bearer canary-1',
      undefined,
    ])
    expect(peer.seen.some((request) => request.text.includes('canary'))).toBe(false)
  })

  it('a redirect is not followed, and nothing reaches where it points', async () => {
    await using target = await openRawPeer((request, response) => replyResult(request, response, 1))
    await using peer = await openRawPeer((_request, response) => {
      response.writeHead(307, { location: target.origin }).end()
    })
    const reply = await clientOf(peer).send(call())
    expect(reply.kind === 'error' && reply.error).toMatchObject({ kind: 'http', status: 307 })
    expect(target.seen).toEqual([])
  })

  it('an error is known by its reason first', async () => {
    await using peer = await openRawPeer((request, response) => {
      const data = [{ reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' }]
      const error = { code: -32603, message: 'gone', data }
      replyJson(response, 404, { jsonrpc: '2.0', id: request.json.id, error })
    })
    const reply = await clientOf(peer).send(call())
    expect(reply.kind === 'error' && reply.error).toMatchObject({
      kind: 'rpc',
      reason: 'TASK_NOT_FOUND',
      code: -32603,
      message: 'the agent answered with error TASK_NOT_FOUND, saying "gone"',
    })
  })

  it('401 says what to set', async () => {
    await using peer = await openRawPeer((_request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end('<html>')
    })
    const reply = await clientOf(peer).send(call())
    expect(reply.kind === 'error' && reply.error.message).toContain('set `headers`')
  })

  it.each([
    ['not JSON', '<html>', 'not JSON'],
    ['another id', '{"jsonrpc":"2.0","id":"other","result":{}}', 'id is not the one'],
    ['an array', '[]', 'not a JSON-RPC response object'],
    ['neither', '{"jsonrpc":"2.0","id":"w-1"}', 'neither result nor error'],
    ['an error that is none', '{"jsonrpc":"2.0","id":"w-1","error":"x"}', 'not an object'],
  ])('%s is unreadable', async (_name, body, said) => {
    await using peer = await openRawPeer((_request, response) => replyJson(response, 200, body))
    const reply = await clientOf(peer).send(call())
    expect(reply.kind === 'error' && reply.error.kind).toBe('unreadable')
    expect(reply.kind === 'error' && reply.error.message).toContain(said)
  })

  it('an answer over the limit is cut off, not read to its end', async () => {
    await using peer = await openRawPeer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const pour = (): void => {
        while (response.write('x'.repeat(65_536))) continue
        response.once('drain', pour)
      }
      pour()
    })
    const reply = await clientOf(peer, { maxMessageBytes: 1_000_000 }).send(call())
    expect(reply.kind === 'error' && reply.error.message).toContain('longer than 1000000 bytes')
  })

  it('invalid UTF-8 is unreadable', async () => {
    await using peer = await openRawPeer((_request, response) => {
      response.end(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))
    })
    const reply = await clientOf(peer).send(call())
    expect(reply.kind === 'error' && reply.error.message).toContain('not UTF-8')
  })
})

describe('never sent, or sent and no answer', () => {
  it('nobody listens: not sent, and never said to be sending', async () => {
    const peer = await openRawPeer(() => {})
    await peer[Symbol.asyncDispose]()
    let sending = 0
    const reply = await clientOf(peer).send(call({ onSending: () => (sending += 1) }))
    expect(reply).toMatchObject({ kind: 'not_sent', because: 'unreachable' })
    expect(sending).toBe(0)
  })

  it('read and dropped: no answer, and it is not sent a second time', async () => {
    await using peer = await openRawPeer((_request, response) => void response.destroy())
    let sending = 0
    const reply = await clientOf(peer).send(call({ onSending: () => (sending += 1) }))
    expect(reply).toMatchObject({ kind: 'no_answer', because: 'broken' })
    expect(sending).toBe(1)
    expect(peer.seen.length).toBe(1)
  })

  it('the head came and the rest did not: no answer', async () => {
    await using peer = await openRawPeer((_request, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"jsonrpc"')
      setImmediate(() => response.destroy())
    })
    const reply = await clientOf(peer).send(call())
    expect(reply).toMatchObject({ kind: 'no_answer', because: 'broken' })
  })

  it('time runs out while waiting, and while the body trickles', async () => {
    await using silent = await openRawPeer(() => {})
    expect(await clientOf(silent).send(call({ timeoutMs: 100 }))).toMatchObject({
      kind: 'no_answer',
      because: 'deadline',
    })
    await using trickle = await openRawPeer((_request, response) => {
      response.writeHead(200).write('{')
    })
    expect(await clientOf(trickle).send(call({ timeoutMs: 100 }))).toMatchObject({
      kind: 'no_answer',
      because: 'deadline',
    })
  })

  it('time runs out before a connection is there: not sent, not later either', async () => {
    let opened = 0
    const mute = createServer(() => (opened += 1))
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    const { port } = mute.address() as AddressInfo
    // TLS to a server that never answers the handshake: no connection, no byte of the request.
    const url = `https://127.0.0.1:${port}/rpc`
    const client = createJsonRpc(connections, { url, headersOrigin: 'https://x.example' })
    let sending = 0
    const reply = await client.send(call({ timeoutMs: 100, onSending: () => (sending += 1) }))
    expect(reply).toMatchObject({ kind: 'not_sent', because: 'deadline' })
    expect([opened, sending]).toEqual([1, 0])
    mute.close()
  })

  it('a connection that comes too late is not used for what was given up', async () => {
    await using peer = await openRawPeer((request, response) => replyResult(request, response, 1))
    const gate = Promise.withResolvers<void>()
    const connector = buildConnector({})
    const late = new Agent({
      connect: (options, callback) => {
        void gate.promise.then(() => connector(options, callback))
      },
      connections: 1,
    })
    const held = { reads: late, acts: late, close: () => late.destroy() }
    const client = createJsonRpc(held, { url: peer.origin, headersOrigin: peer.origin })
    const first = await client.send(call({ wireId: 'w-0', timeoutMs: 50 }))
    expect(first).toMatchObject({ kind: 'not_sent', because: 'deadline' })
    gate.resolve()
    expect(await client.send(call({ wireId: 'w-1' }))).toMatchObject({ kind: 'result' })
    expect(peer.seen.map((request) => request.json.id)).toEqual(['w-1'])
    await held.close()
  })

  it('canceled before and canceled after', async () => {
    await using peer = await openRawPeer(() => {})
    const before = AbortSignal.abort()
    expect(await clientOf(peer).send(call({ signal: before }))).toMatchObject({
      kind: 'not_sent',
      because: 'canceled',
    })
    const after = new AbortController()
    const pending = clientOf(peer).send(call({ signal: after.signal }))
    await until(() => peer.seen.length === 1)
    after.abort()
    expect(await pending).toMatchObject({ kind: 'no_answer', because: 'canceled' })
  })

  it('a header that cannot be sent is not sent', async () => {
    await using peer = await openRawPeer((request, response) => replyResult(request, response, 1))
    const reply = await clientOf(peer, { headers: { 'x-a': 'b\r\nc: d' } }).send(call())
    expect(reply).toMatchObject({ kind: 'not_sent' })
    expect(JSON.stringify(reply)).not.toContain('c: d')
  })
})

describe('a stream', () => {
  it('events arrive one by one, however the bytes are cut', async () => {
    await using peer = await openRawPeer(async (request, response) => {
      openSse(response)
      const id = JSON.stringify(request.json.id)
      const text = `: hi\r\nevent: message\r\ndata: {"jsonrpc":"2.0","id":${id},\r\ndata: "result":"größe"}\r\n\r\n`
      for (const byte of Buffer.from(text)) {
        response.write(Buffer.from([byte]))
        await new Promise((resolve) => setImmediate(resolve))
      }
      sendEvent(request, response, 2)
      response.end()
    })
    const stream = await clientOf(peer).stream(call())
    const items = stream.kind === 'stream' ? await collect(stream.items) : []
    expect(items).toEqual([
      { kind: 'event', received: { value: 'größe', text: '"größe"' } },
      { kind: 'event', received: { value: 2, text: '2' } },
      { kind: 'end', how: 'closed', detail: 'the agent closed the stream' },
    ])
  })

  it('a break is an end too, and is told from a close', async () => {
    await using peer = await openRawPeer((request, response) => {
      openSse(response)
      sendEvent(request, response, 1)
      response.write('data: {"half', () => response.destroy())
    })
    const stream = await clientOf(peer).stream(call())
    const items = stream.kind === 'stream' ? await collect(stream.items) : []
    expect(items.map((item) => (item.kind === 'end' ? item.how : item.kind))).toEqual([
      'event',
      'broken',
    ])
  })

  it('an error event, an event of another id and one too large', async () => {
    await using peer = await openRawPeer((request, response) => {
      openSse(response)
      const error = { code: -32603, message: 'boom' }
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: request.json.id, error })}\n\n`)
      response.write('data: {"jsonrpc":"2.0","id":"x","result":1}\n\n')
      response.write(`data: ${'x'.repeat(5000)}\n\n`)
    })
    const stream = await clientOf(peer, { maxMessageBytes: 4000 }).stream(call())
    const items = stream.kind === 'stream' ? await collect(stream.items) : []
    expect(items.map((item) => (item.kind === 'error' ? item.error.kind : item.kind))).toEqual([
      'rpc',
      'unreadable',
      'end',
    ])
    expect(items[2]).toMatchObject({ how: 'broken' })
  })

  it('an error instead of a stream is an error', async () => {
    await using peer = await openRawPeer((request, response) =>
      replyError(request, response, -32004),
    )
    const reply = await clientOf(peer).stream(call())
    expect(reply.kind === 'error' && reply.error.reason).toBe('UNSUPPORTED_OPERATION')
  })

  it('closing lets go of the connection at once', async () => {
    let closed = false
    await using peer = await openRawPeer((request, response) => {
      openSse(response)
      response.on('close', () => (closed = true))
      sendEvent(request, response, 1)
    })
    const stream = await clientOf(peer).stream(call())
    if (stream.kind !== 'stream') throw new Error('no stream')
    for await (const item of stream.items) if (item.kind === 'event') break
    stream.close()
    await until(() => closed)
  })

  it('a flood waits in the sockets, not in memory', async () => {
    let written = 0
    let stalled = false
    await using peer = await openRawPeer((request, response) => {
      openSse(response)
      const body = JSON.stringify({ jsonrpc: '2.0', id: request.json.id, result: 'y'.repeat(1000) })
      const pour = (): void => {
        stalled = false
        while (response.write(`data: ${body}\n\n`)) written += 1
        stalled = true
        response.once('drain', pour)
      }
      pour()
    })
    const stream = await clientOf(peer).stream(call())
    if (stream.kind !== 'stream') throw new Error('no stream')
    const items = stream.items[Symbol.asyncIterator]()
    expect((await items.next()).value).toMatchObject({ kind: 'event' })
    let last = -1
    let polls = 0
    // Nothing is read from here on: the writer must come to a stand, and stay there.
    await until(() => {
      polls = stalled && written === last ? polls + 1 : 0
      last = written
      return polls === 40
    })
    expect(written).toBeLessThan(16_000)
    stream.close()
  })
})
