import { expect, test } from 'vitest'
import { createPipeMemory, type PipeMemory } from './pipe-memory.ts'

const bytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
const json = (line: Uint8Array | undefined): unknown =>
  line === undefined ? undefined : JSON.parse(new TextDecoder().decode(line))
const MODERN = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }

function say(memory: PipeMemory, message: object): unknown {
  return json(memory.sent(bytes({ jsonrpc: '2.0', ...message })))
}

/** What the host sees of a line of the owner: the message, or what became of it. */
function hear(memory: PipeMemory, message: object): unknown {
  const heard = memory.heard(bytes({ jsonrpc: '2.0', ...message }))
  if (heard.kind === 'instead') return heard.lines.map((line) => json(line))
  return heard.kind === 'pass' ? json(heard.line) : heard.kind
}

function initialized(): PipeMemory {
  const memory = createPipeMemory()
  say(memory, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } })
  hear(memory, { id: 1, result: {} })
  say(memory, { method: 'notifications/initialized' })
  return memory
}

test('a session of the older revisions hears that its lists may have changed, once it was begun', () => {
  const missed = (memory: PipeMemory) => memory.replay().missed.map((line) => json(line))
  expect(missed(createPipeMemory())).toEqual([])
  expect(missed(initialized())).toEqual(
    ['tools', 'prompts', 'resources'].map((kind) => ({
      jsonrpc: '2.0',
      method: `notifications/${kind}/list_changed`,
    })),
  )
})

function replayed(memory: PipeMemory): { readonly first: unknown; readonly rest: unknown[] } {
  const { initialize, rest } = memory.replay()
  return { first: json(initialize?.line), rest: rest.map((line) => json(line)) }
}

test('what was open when the owner died is answered: calls as unknown, the rest as errors, each once', () => {
  const memory = initialized()
  say(memory, { id: 'a', method: 'tools/call', params: { name: 'x', ...MODERN } })
  say(memory, { id: 2, method: 'tools/call', params: { name: 'x' } })
  say(memory, { id: 3, method: 'resources/read', params: { uri: 'a:b' } })
  say(memory, { id: 4, method: 'tools/list' })
  say(memory, { id: 5, method: 'ping' })
  hear(memory, { id: 5, result: {} })
  say(memory, { id: 6, method: 'tools/call', params: { name: 'gone' } })
  say(memory, { method: 'notifications/cancelled', params: { requestId: 6 } })

  const told = memory.lost().map((line) => json(line))
  expect(told).toMatchObject([
    { id: 'a', result: { resultType: 'complete', isError: true } },
    { id: 2, result: { isError: true, _meta: { 'comity/outcome': { ran: 'unknown' } } } },
    { id: 3, error: { code: -31007, data: { 'comity/outcome': { state: 'unknown' } } } },
    { id: 4, error: { code: -32603 } },
  ])
  expect(told[1]).not.toHaveProperty('result.resultType')
  expect(memory.lost()).toEqual([])
})

test('a session of the older revisions is said again to the next owner, and only its own answers reach the host', () => {
  const memory = initialized()
  say(memory, { id: 2, method: 'logging/setLevel', params: { level: 'debug' } })
  say(memory, { id: 3, method: 'logging/setLevel', params: { level: 'error' } })
  say(memory, { id: 4, method: 'resources/subscribe', params: { uri: 'a:1' } })
  say(memory, { id: 5, method: 'resources/subscribe', params: { uri: 'a:2' } })
  say(memory, { id: 6, method: 'resources/unsubscribe', params: { uri: 'a:1' } })
  for (const id of [2, 3, 4, 5, 6]) hear(memory, { id, result: {} })
  memory.lost()

  const { first, rest } = replayed(memory)
  expect(first).toMatchObject({ id: 'comity-replay-1', method: 'initialize' })
  expect(rest).toMatchObject([
    { method: 'notifications/initialized' },
    { id: 'comity-replay-2', method: 'logging/setLevel', params: { level: 'error' } },
    { id: 'comity-replay-3', method: 'resources/subscribe', params: { uri: 'a:2' } },
  ])
  expect(memory.isOwed('s:comity-replay-1')).toBe(true)
  expect(hear(memory, { id: 'comity-replay-1', result: {} })).toBe('swallow')
  expect(memory.isOwed('s:comity-replay-1')).toBe(false)
  expect(hear(memory, { id: 'comity-replay-2', error: { code: 1, message: '' } })).toBe('swallow')
})

test('an initialize that nobody answered yet is asked again as the host asked it', () => {
  const memory = createPipeMemory()
  const asked = { id: 7, method: 'initialize', params: { protocolVersion: '2025-11-25' } }
  say(memory, asked)
  expect(memory.lost()).toEqual([])
  expect(replayed(memory)).toEqual({ first: { jsonrpc: '2.0', ...asked }, rest: [] })
  expect(hear(memory, { id: 7, result: {} })).toMatchObject({ id: 7 })
})

test('callers of 2026-07-28 need nothing said again but what they listen to', () => {
  const memory = createPipeMemory()
  const listen = { id: 'l', method: 'subscriptions/listen', params: { ...MODERN } }
  const acknowledged = {
    method: 'notifications/subscriptions/acknowledged',
    params: {
      notifications: { toolsListChanged: true, promptsListChanged: false },
      _meta: { 'io.modelcontextprotocol/subscriptionId': 'l' },
    },
  }
  say(memory, listen)
  say(memory, { id: 2, method: 'tools/list', params: MODERN })
  expect(hear(memory, acknowledged)).toMatchObject(acknowledged)
  expect(memory.leave().map((line) => json(line))).toMatchObject([
    { method: 'notifications/cancelled', params: { requestId: 'l' } },
  ])
  expect(memory.lost().map((line) => json(line))).toMatchObject([{ id: 2 }])
  expect(replayed(memory)).toEqual({ first: undefined, rest: [{ jsonrpc: '2.0', ...listen }] })
  // Acknowledged once already, as far as the host knows; what nobody told it of meanwhile may have changed.
  expect(hear(memory, acknowledged)).toEqual([
    {
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
      params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 'l' } },
    },
  ])
  expect(hear(memory, acknowledged)).toMatchObject(acknowledged)
  expect(hear(memory, { id: 'l', result: {} })).toMatchObject({ id: 'l' })
  expect(replayed(memory).rest).toEqual([])
})

test('questions of an owner that died are withdrawn, and a late answer to one is not taken for the next owner’s', () => {
  const memory = initialized()
  const question = { id: 1, method: 'elicitation/create', params: {} }
  expect(hear(memory, question)).toMatchObject(question)
  expect(memory.lost().map((line) => json(line))).toMatchObject([
    { method: 'notifications/cancelled', params: { requestId: 1 } },
  ])
  const shown = hear(memory, question) as { readonly id: string }
  expect(shown.id).not.toBe(1)
  expect(say(memory, { id: 1, result: { late: true } })).toBeUndefined()
  expect(say(memory, { id: shown.id, result: {} })).toMatchObject({ id: 1 })
  const again = hear(memory, { ...question, id: 'q' }) as { readonly id: string }
  expect(
    hear(memory, { method: 'notifications/cancelled', params: { requestId: 'q' } }),
  ).toMatchObject({ params: { requestId: again.id } })
})

test('an answer is known by its first bytes, whatever follows, and by its whole when its head is unusual', () => {
  const memory = createPipeMemory()
  for (const id of ['ä"\\', 'x']) say(memory, { id, method: 'tools/call', params: { name: 'x' } })
  const broken = new TextEncoder().encode(`{"jsonrpc":"2.0","id":"x","result":{"a":1`)
  expect(memory.heard(broken).kind).toBe('pass')
  expect(memory.heard(bytes({ id: 'ä"\\', result: {}, jsonrpc: '2.0' })).kind).toBe('pass')
  expect(memory.lost()).toEqual([])
})

test('what no owner got is refused as not sent', () => {
  const memory = createPipeMemory()
  const call = bytes({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } })
  expect(json(memory.refusal(call, 'nobody is there'))).toMatchObject({
    result: { isError: true, _meta: { 'comity/outcome': { state: 'failed', ran: 'no' } } },
  })
  expect(memory.refusal(bytes({ jsonrpc: '2.0', method: 'a/b' }), 'nobody')).toBeUndefined()
})

test('a batch of 2025-03-26 is as many requests; what it leaves open is answered one by one', () => {
  const memory = createPipeMemory()
  say(memory, { id: 1, method: 'initialize', params: { protocolVersion: '2025-03-26' } })
  hear(memory, { id: 1, result: { protocolVersion: '2025-03-26' } })
  const asked = [2, 3, 4].map((id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'x' },
  }))
  expect(json(memory.sent(bytes(asked)))).toEqual(asked)
  const answers = [{ jsonrpc: '2.0', id: 3, result: {} }]
  const heard = memory.heard(bytes(answers))
  expect(heard.kind === 'pass' && json(heard.line)).toEqual(answers)
  expect(memory.lost().map((line) => json(line))).toMatchObject([{ id: 2 }, { id: 4 }])
})
