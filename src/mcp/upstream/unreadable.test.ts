import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import {
  listenModern,
  makeCall,
  openPeer,
  reply,
  type Message,
} from '../../../test/mcp/upstream-peer.ts'

const http = (url: string) => ({ transport: 'http', url, headers: {} }) as const

describe('answers that are none', () => {
  test.each<[string, (message: Message, response: ServerResponse) => void]>([
    [
      'no JSON',
      (_m, response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end('<html>'),
    ],
    ['another id', (m, response) => reply(response, m, { id: 77, result: {} })],
    [
      'a batch of nothing',
      (_m, response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end('[]'),
    ],
    ['a result that is no object', (m, response) => reply(response, m, { result: [1] })],
    [
      'a result type nobody declared',
      (m, response) => reply(response, m, { result: { resultType: 'task', taskId: '1' } }),
    ],
    ['too large', (m, response) => reply(response, m, { result: { content: ['x'.repeat(3000)] } })],
    [
      'an event too large',
      (m, response) =>
        void response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(
            `data: ${JSON.stringify({ jsonrpc: '2.0', id: m.id, result: { content: ['x'.repeat(3000)] } })}\n\n`,
          ),
    ],
    [
      'an event with a number that JSON does not have, on a stream that stays open',
      (m, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(`data: {"jsonrpc":"2.0","id":${m.id},"result":{"x":NaN}}\n\n`)
      },
    ],
    [
      'an event nested too deep, on a stream that stays open',
      (m, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const deep = `${'['.repeat(600)}${']'.repeat(600)}`
        response.write(`data: {"result":{"x":${deep}},"jsonrpc":"2.0","id":${m.id}}\n\n`)
      },
    ],
    [
      'not UTF-8',
      (_m, response) =>
        void response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(Buffer.from([0x64, 0xff, 0x0a])),
    ],
  ])(
    '%s: says nothing of what the act did, so it is unknown; a read only failed',
    async (_, handle) => {
      const url = await listenModern(handle)
      const peer = openPeer(http(url), { maxBytes: 2000 })
      expect((await makeCall(peer, 'pay')).outcome).toMatchObject({
        state: 'unknown',
        because: 'peer_unclear',
      })
      const read = await makeCall(peer, 'pay', {}, { hints: { readOnly: true } })
      expect(read.outcome).toMatchObject({
        state: 'failed',
        origin: 'protocol',
        ran: 'yes',
        code: 'protocol_violation',
      })
    },
  )

  test('a batch that holds the answer (2025-03-26) is read', async () => {
    const url = await listenModern((message, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify([{ jsonrpc: '2.0', id: message.id, result: { content: [] } }]))
    })
    expect((await makeCall(openPeer(http(url)), 'pay')).outcome.state).toBe('completed')
  })
})
