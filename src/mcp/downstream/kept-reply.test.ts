/** An answer that is given again: the same bytes behind each caller's own id, over a true connection. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { Deadlines } from '../wire/deadlines.ts'
import { createId } from '../wire/json-rpc.ts'
import { encodeJson } from '../wire/spans.ts'
import { wholeBody, type Reply, type ResultAnswer } from './answer.ts'
import { HttpAnswer, Lines } from './http-answer.ts'
import { keptReply } from './kept-reply.ts'
import { createUnread } from './outgoing.ts'

const DOOR = { serverInfo: { name: 'door', version: '1' } }

function pageOf(value: unknown): ResultAnswer {
  return { kind: 'result', bytes: encodeJson(value), kept: {}, ttlMs: 5 }
}

function messageOf(reply: Reply | undefined): unknown {
  return JSON.parse(new TextDecoder().decode(reply && wholeBody(reply)))
}

/** What a client reads of a reply. @param begun the event stream had begun before it was known. */
async function read(reply: Reply, begun = false): Promise<Response & { readonly said: string }> {
  const unread = createUnread(1024)
  const over = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    request.resume()
    const times = { streamAfterMs: 60_000, keepAliveMs: 60_000, writeIdleMs: 60_000 }
    const terms = { ...times, deadlines: new Deadlines('apart'), lines: new Lines(), unread }
    const watcher = { answerLost: () => undefined, answerOver: () => over.resolve() }
    const answer = new HttpAnswer(response, terms, watcher)
    if (begun) answer.begin()
    answer.end(reply)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const said = await response.text()
  await over.promise
  expect(unread.isFull()).toBe(false)
  server.close()
  return Object.assign(response, { said })
}

test('each message has its own id and time before the same bytes', () => {
  const page = pageOf({ tools: [{ name: 'a' }], nextCursor: 'c' })
  const first = keptReply(DOOR, createId(1), page)
  const second = keptReply(DOOR, createId('two'), { ...page, ttlMs: 4 })

  const shared = {
    tools: [{ name: 'a' }],
    nextCursor: 'c',
    resultType: 'complete',
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': DOOR.serverInfo },
  }
  expect(messageOf(first)).toEqual({ jsonrpc: '2.0', id: 1, result: { ...shared, ttlMs: 5 } })
  expect(messageOf(second)).toEqual({ jsonrpc: '2.0', id: 'two', result: { ...shared, ttlMs: 4 } })
  expect(second?.tail).toBe(first?.tail)
})

test('an answer that does not come again is not kept', () => {
  const { kept: _kept, ...once_ } = pageOf({ tools: [] })
  expect(keptReply(DOOR, createId(1), once_)).toBeUndefined()
})

test.each([10, 100_000])(
  'a page of %i tools arrives whole, and is told with its length',
  async (count) => {
    const tools = Array.from({ length: count }, (_, index) => ({ name: `tool-${index}` }))
    const reply = keptReply(DOOR, createId(7), pageOf({ tools })) as Reply
    const { said, headers } = await read(reply)

    expect(Number(headers.get('content-length'))).toBe(Buffer.byteLength(said))
    expect(JSON.parse(said)).toMatchObject({ id: 7, result: { tools } })
  },
)

test('behind the begin of an event stream it is one event', async () => {
  const reply = keptReply(DOOR, createId(7), pageOf({ tools: [] })) as Reply
  const { said } = await read(reply, true)

  const [data] = said.split('\n').filter((line) => line.startsWith('data: '))
  expect(JSON.parse(data?.slice(6) ?? '')).toEqual(messageOf(reply))
})
