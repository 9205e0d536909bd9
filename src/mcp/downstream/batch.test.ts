/** Batches: served on sessions of 2025-03-26, refused everywhere else. */
import { afterEach, expect, test } from 'vitest'
import { asks } from './testing/questions.ts'
import { readEvents } from './testing/read-events.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import { openSession } from './testing/session-caller.ts'
import { dig, openTestDoor } from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const ECHO: Scripted = {
  kind: 'tool',
  exposed: 'echo',
  run: (call) => completed({ content: [{ type: 'text', text: call.requestId }] }),
}

async function open(tools: readonly Scripted[] = [ECHO]) {
  const house = createScriptedHouse(tools)
  const server = await openTestDoor(house, { limits: { maxBatch: 4, drainMs: 50 } })
  closers.push(server.close)
  return { house, ...server }
}

const request = (id: number | string, method: string, params?: object) => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params === undefined ? {} : { params }),
})
const echo = (id: number | string) => request(id, 'tools/call', { name: 'echo' })

test('every request is answered, in one array, whatever else stands beside it', async () => {
  const { url } = await open()
  const caller = await openSession(url, { revision: '2025-03-26' })
  const notice = { jsonrpc: '2.0', method: 'notifications/initialized' }
  const { status, body } = await caller.post(
    JSON.stringify([notice, echo(1), { jsonrpc: '2.0', id: 2 }, echo('b')]),
  )

  expect(status).toBe(200)
  expect(body).toMatchObject([
    { id: 1, result: { content: [{ text: '1' }] } },
    { id: 2, error: { code: -32600 } },
    { id: 'b', result: { content: [{ text: 'b' }] } },
  ])
})

test('without a request it is taken without a body', async () => {
  const { url } = await open()
  const caller = await openSession(url, { revision: '2025-03-26' })
  const stray = { jsonrpc: '2.0', id: 7, result: {} }
  const { status, text } = await caller.post(JSON.stringify([stray, stray]))

  expect([status, text]).toEqual([202, ''])
})

test('a question in mid-batch goes out before the answers, and its answer may come in a batch', async () => {
  const { url } = await open([ECHO, asks('roots')])
  const caller = await openSession(url, { revision: '2025-03-26', capabilities: { roots: {} } })
  const batch = JSON.stringify([echo(1), request(2, 'tools/call', { name: 'ask_roots' })])
  const response = await fetch(url, { method: 'POST', headers: caller.headers, body: batch })
  const events = readEvents(response)
  const id = dig((await events.next()).message, 'id')
  await caller.post(JSON.stringify([{ jsonrpc: '2.0', id, result: { roots: [] } }]))
  const [answers] = await events.rest()

  expect(answers?.message).toMatchObject([
    { id: 1 },
    { id: 2, result: { content: [{ text: expect.stringContaining('"action":"accept"') }] } },
  ])
})

test('an id that stands twice runs once; initialize is no part of one', async () => {
  const { url, house } = await open()
  const caller = await openSession(url, { revision: '2025-03-26' })
  const initialize = request(9, 'initialize', { protocolVersion: '2025-03-26' })
  const { body } = await caller.post(JSON.stringify([echo(1), echo(1), initialize]))

  expect([0, 1, 2].map((index) => dig(body, index, 'error', 'code'))).toEqual([
    undefined,
    -32600,
    -32600,
  ])
  expect(house.calls).toHaveLength(1)
})

test.each([
  ['empty', '[]', -32600],
  ['more than the bound', JSON.stringify([1, 2, 3, 4, 5].map(echo)), -32600],
  ['broken', '[{"jsonrpc":"2.0"', -32700],
])('one that is %s is refused whole', async (_how, body, code) => {
  const { url, house } = await open()
  const caller = await openSession(url, { revision: '2025-03-26' })
  const answer = await caller.post(body)

  expect([answer.status, dig(answer.body, 'error', 'code')]).toEqual([400, code])
  expect(house.calls).toEqual([])
})

test.each(['2025-11-25', '2025-06-18'])(
  'C35: on a session of %s it is refused and nothing runs',
  async (revision) => {
    const { url, house } = await open()
    const caller = await openSession(url, { revision })
    const answers = [await caller.post(JSON.stringify([echo(1)])), await caller.post('[]')]

    for (const { status, body } of answers) {
      expect([status, dig(body, 'error', 'code')]).toEqual([400, -32600])
    }
    expect(house.calls).toEqual([])
  },
)
