/** A peer of a session revision asks in mid-call, its caller speaks 2026-07-28: parked, answered, taken over. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, test } from 'vitest'
import type { Exchange } from '../../core/ports/upstream.ts'
import type { Answer, QuestionKind } from '../../core/words/question.ts'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import {
  dig,
  eventsOf,
  modernMeta,
  openTestDoor,
  postModern,
  type TestDoorOptions,
  until,
} from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function open(capabilities: readonly Scripted[], options: TestDoorOptions = {}) {
  const house = createScriptedHouse(capabilities)
  const server = await openTestDoor(house, options)
  closers.push(server.close)
  return { house, ...server }
}

const never = new AbortController().signal

const PARAMS: Record<QuestionKind, object> = {
  form: {
    message: 'Which language?',
    requestedSchema: { type: 'object', properties: { language: { type: 'string' } } },
    _meta: { progressToken: 7 },
  },
  url: { mode: 'url', message: 'Sign in', url: 'https://login.example/', elicitationId: 'e1' },
  sampling: { messages: [], maxTokens: 5 },
  roots: {},
  text: {},
}
const METHODS = {
  form: 'elicitation/create',
  url: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
  text: 'none',
} as const

/** Asks as an adapter of a 2025-11-25 peer does. */
function ask(
  exchange: Exchange,
  kind: QuestionKind,
  more: { readonly params?: object; readonly withdrawn?: AbortSignal; readonly key?: string } = {},
): Promise<Answer> {
  const params = more.params ?? PARAMS[kind]
  const native = mcpNative(encodeJson({ method: METHODS[kind], params }), '2025-11-25')
  const key = more.key ?? 'their-3'
  if (exchange.ask === undefined) throw new Error('this caller can be asked nothing')
  return exchange.ask({ kind, key, text: 'Which language?', native }, more.withdrawn ?? never)
}

function said(value: unknown) {
  return completed({ content: [{ type: 'text', text: JSON.stringify(value) }] })
}

/** A tool that asks one form and says what it was answered. */
const EXPORT: Scripted = {
  kind: 'tool',
  exposed: 'export',
  run: async (_call, exchange) => {
    const { key, action, native } = await ask(exchange, 'form')
    return said({ key, action, native: native?.value() })
  },
}

const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const META = modernMeta({ 'io.modelcontextprotocol/clientCapabilities': EVERYTHING })
const CALL = { name: 'export', arguments: { id: 'D1' }, _meta: META }
const ENGLISH = { action: 'accept', content: { language: 'en' } }

const textOf = (body: unknown): unknown =>
  JSON.parse(String(dig(body, 'result', 'content', 0, 'text')))
const stateOf = (body: unknown): string => String(dig(body, 'result', 'requestState'))

test('the official client is asked by a peer that holds its call open, and gets the result of that one call', async () => {
  const { url, house } = await open([EXPORT])
  const client = new Client(
    { name: 'v2', version: '1' },
    {
      versionNegotiation: { mode: { pin: '2026-07-28' } },
      capabilities: { elicitation: { form: {} } },
    },
  )
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    expect(params.message).toBe('desk asks: Which language?')
    return { action: 'accept', content: { language: 'de' } }
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  closers.push(() => client.close())

  const result = await client.callTool({ name: 'export', arguments: {} })

  expect(textOf({ result })).toEqual({
    key: 'their-3',
    action: 'accept',
    native: { action: 'accept', content: { language: 'de' } },
  })
  expect(house.calls).toHaveLength(1)
})

test('what belonged to the peer’s hop stays behind, and the caller sees which peer asks', async () => {
  const { url } = await open([
    {
      kind: 'tool',
      exposed: 'export',
      run: async (_call, exchange) =>
        said(await Promise.all([ask(exchange, 'form'), ask(exchange, 'url')])),
    },
  ])
  const { body, text } = await postModern(url, 'tools/call', CALL)

  expect(dig(body, 'result')).toEqual({
    resultType: 'input_required',
    inputRequests: {
      q1: {
        method: 'elicitation/create',
        params: {
          message: 'desk asks: Which language?',
          requestedSchema: { type: 'object', properties: { language: { type: 'string' } } },
        },
      },
      q2: {
        method: 'elicitation/create',
        params: { mode: 'url', message: 'desk asks: Sign in', url: 'https://login.example/' },
      },
    },
    requestState: expect.any(String),
    _meta: expect.objectContaining({ 'comity/asking': { peer: 'desk', callId: 'call-1' } }),
  })
  expect(text).not.toContain('their-3')
})

test('what was not answered is asked again, extra answers are left, and each state holds once', async () => {
  const { url, house } = await open([
    {
      kind: 'tool',
      exposed: 'export',
      run: async (_call, exchange) => {
        const answers = await Promise.all([
          ask(exchange, 'form', { key: 'a' }),
          ask(exchange, 'roots', { key: 'b' }),
        ])
        return said(answers.map(({ key, native }) => [key, native?.value()]))
      },
    },
  ])
  const first = await postModern(url, 'tools/call', CALL)
  const second = await postModern(url, 'tools/call', {
    ...CALL,
    requestState: stateOf(first.body),
    inputResponses: { q1: ENGLISH, q9: ENGLISH },
  })
  expect(dig(second.body, 'result', 'inputRequests')).toEqual({
    q2: { method: 'roots/list', params: {} },
  })

  const roots = { roots: [{ uri: 'file:///home' }] }
  const inputResponses = { q1: { action: 'decline' }, q2: roots }
  const stale = await postModern(url, 'tools/call', {
    ...CALL,
    requestState: stateOf(first.body),
    inputResponses,
  })
  expect(stale.body).toMatchObject({
    error: { code: -32602, message: expect.stringContaining('used already') },
  })

  const last = await postModern(url, 'tools/call', {
    ...CALL,
    requestState: stateOf(second.body),
    inputResponses,
  })
  expect(textOf(last.body)).toEqual([
    ['a', ENGLISH],
    ['b', roots],
  ])
  const again = await postModern(url, 'tools/call', {
    ...CALL,
    requestState: stateOf(second.body),
    inputResponses,
  })
  expect(again.body).toMatchObject({
    error: { code: -32602, message: expect.stringContaining('used already') },
  })
  expect(house.calls).toHaveLength(1)
})

test('of two retries at once one takes the call over', async () => {
  const { url } = await open([EXPORT])
  const first = await postModern(url, 'tools/call', CALL)
  const retry = { ...CALL, requestState: stateOf(first.body), inputResponses: { q1: ENGLISH } }
  const both = await Promise.all([
    postModern(url, 'tools/call', retry),
    postModern(url, 'tools/call', retry),
  ])
  const codes = new Set(both.map(({ body }) => dig(body, 'error', 'code')))
  expect(codes).toEqual(new Set([-32602, undefined]))
})

describe('a state is refused, and the call still waits for its answer', () => {
  test.each<[string, Record<string, unknown>, Record<string, string>?]>([
    ['another principal', {}, { 'x-test-principal': 'eve' }],
    ['other arguments', { arguments: { id: 'D2' } }],
    ['an answer without an action', { inputResponses: { q1: { language: 'en' } } }],
    ['an answer that is no object', { inputResponses: { q1: 'en' } }],
    ['content that is no object', { inputResponses: { q1: { action: 'accept', content: 'en' } } }],
  ])('%s', async (_name, change, headers) => {
    const { url } = await open([EXPORT])
    const first = await postModern(url, 'tools/call', CALL)
    const retry = { ...CALL, requestState: stateOf(first.body), inputResponses: { q1: ENGLISH } }
    const refused = await postModern(
      url,
      'tools/call',
      { ...retry, ...change },
      { headers: headers ?? {} },
    )
    expect(dig(refused.body, 'error', 'code')).toBe(-32602)

    const { body } = await postModern(url, 'tools/call', retry)
    expect(textOf(body)).toMatchObject({ action: 'accept', native: ENGLISH })
  })

  test('too old', async () => {
    let now = 1_000_000
    const { url } = await open([EXPORT], { now: () => now })
    const first = await postModern(url, 'tools/call', CALL)
    now += 1_200_000
    const retry = { ...CALL, requestState: stateOf(first.body), inputResponses: { q1: ENGLISH } }
    const { body } = await postModern(url, 'tools/call', retry)
    expect(body).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('expired') },
    })
  })
})

test('a process that does not know the call says unknown with the call’s id, never failed', async () => {
  const before = await open([EXPORT])
  const after = await open([EXPORT])
  const first = await postModern(before.url, 'tools/call', CALL)
  const { body } = await postModern(after.url, 'tools/call', {
    ...CALL,
    requestState: stateOf(first.body),
    inputResponses: { q1: ENGLISH },
  })
  expect(dig(body, 'result')).toMatchObject({
    isError: true,
    _meta: {
      'comity/outcome': {
        state: 'unknown',
        code: 'process_died',
        callId: 'call-1',
        ran: 'unknown',
      },
    },
  })
  expect(dig(body, 'result', 'content', 0, 'text')).toContain('comity explain call-1')
  expect(after.house.calls).toEqual([])
})

test('unanswered in time, the peer hears cancel and goes on; the end can be fetched once', async () => {
  let ended = false
  const patient: Scripted = {
    ...EXPORT,
    run: async (_call, exchange) => {
      const { action } = await ask(exchange, 'form')
      ended = true
      return said(action)
    },
  }
  const { url } = await open([patient], { limits: { questionMs: 300 } })
  const first = await postModern(url, 'tools/call', CALL)
  await until(() => ended)
  const retry = { ...CALL, requestState: stateOf(first.body), inputResponses: { q1: ENGLISH } }
  const fetched = await postModern(url, 'tools/call', retry)
  expect(textOf(fetched.body)).toBe('cancel')
  const second = await postModern(url, 'tools/call', retry)
  expect(dig(second.body, 'error', 'code')).toBe(-32602)
})

test('a question that the peer takes back is answered with cancel, and the retry gets the end', async () => {
  const withdrawal = new AbortController()
  const { url } = await open([
    {
      ...EXPORT,
      run: async (_call, exchange) =>
        said((await ask(exchange, 'form', { withdrawn: withdrawal.signal })).action),
    },
  ])
  const first = await postModern(url, 'tools/call', CALL)
  withdrawal.abort()
  const { body } = await postModern(url, 'tools/call', {
    ...CALL,
    requestState: stateOf(first.body),
    inputResponses: { q1: ENGLISH },
  })
  expect(textOf(body)).toBe('cancel')
})

test('the time of a call stands still while its caller is asked', async () => {
  const { url } = await open([EXPORT], { limits: { callMs: 400 } })
  const first = await postModern(url, 'tools/call', CALL)
  const askedAt = performance.now()
  await until(() => performance.now() - askedAt > 600)
  const retry = { ...CALL, requestState: stateOf(first.body), inputResponses: { q1: ENGLISH } }
  const { body } = await postModern(url, 'tools/call', retry)
  expect(textOf(body)).toMatchObject({ action: 'accept' })
})

test('progress goes to the retry’s own stream under its own token, and closing that stream cancels', async () => {
  let reason: unknown
  const { url } = await open([
    {
      ...EXPORT,
      run: async (_call, exchange) => {
        await ask(exchange, 'form')
        const native = mcpNative(encodeJson({ progressToken: 1, progress: 1 }), '2025-11-25')
        await exchange.emit({ kind: 'progress', native })
        await new Promise((resolve) =>
          exchange.signal.addEventListener('abort', resolve, { once: true }),
        )
        reason = exchange.stopReason()
        return said('stopped')
      },
    },
  ])
  const first = await postModern(url, 'tools/call', CALL)
  const leave = new AbortController()
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'export',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: {
        ...CALL,
        _meta: { ...META, progressToken: 'retry' },
        requestState: stateOf(first.body),
        inputResponses: { q1: ENGLISH },
      },
    }),
    signal: leave.signal,
  })
  const reader = response.body?.getReader()
  const seen = Buffer.from((await reader?.read())?.value ?? []).toString()
  expect(JSON.parse(eventsOf(seen)[0] ?? '')).toMatchObject({
    method: 'notifications/progress',
    params: { progressToken: 'retry', progress: 1 },
  })
  leave.abort()
  await until(() => reason !== undefined)
  expect(reason).toBe('caller_canceled')
})

test('a caller is asked only what it declared; tools within sampling are a capability of their own', async () => {
  const { url } = await open([
    {
      ...EXPORT,
      run: async (_call, exchange) => {
        const withTools = { messages: [], maxTokens: 5, tools: [] }
        const [plain, tools] = await Promise.all([
          ask(exchange, 'sampling', { key: 'plain' }),
          ask(exchange, 'sampling', { key: 'tools', params: withTools }),
        ])
        return said([plain.action, tools.action])
      },
    },
  ])
  const first = await postModern(url, 'tools/call', CALL)
  expect(Object.keys(dig(first.body, 'result', 'inputRequests') as object)).toEqual(['q1'])
  const message = { role: 'assistant', model: 'm', content: { type: 'text', text: 'x' } }
  const bad = {
    ...CALL,
    requestState: stateOf(first.body),
    inputResponses: { q1: { role: 'assistant' } },
  }
  expect(dig((await postModern(url, 'tools/call', bad)).body, 'error', 'code')).toBe(-32602)
  const { body } = await postModern(url, 'tools/call', { ...bad, inputResponses: { q1: message } })
  expect(textOf(body)).toEqual(['accept', 'decline'])
})

test('calls that wait are bounded for each principal; ends that nobody fetched give way first', async () => {
  const { url } = await open([EXPORT], { limits: { maxParkedEach: 1, questionMs: 60_000 } })
  const held = await postModern(url, 'tools/call', CALL)
  expect(dig(held.body, 'result', 'resultType')).toBe('input_required')
  const full = await postModern(url, 'tools/call', CALL)
  expect(textOf(full.body)).toMatchObject({ action: 'cancel' })
  const other = await postModern(url, 'tools/call', CALL, {
    headers: { 'x-test-principal': 'eve' },
  })
  expect(dig(other.body, 'result', 'resultType')).toBe('input_required')

  const retry = { ...CALL, requestState: stateOf(held.body), inputResponses: { q1: ENGLISH } }
  await postModern(url, 'tools/call', retry)
  const free = await postModern(url, 'tools/call', CALL)
  expect(dig(free.body, 'result', 'resultType')).toBe('input_required')
})

test('prompts and reads are bridged alike', async () => {
  const run: Scripted['run'] = async (_call, exchange) => {
    const { native } = await ask(exchange, 'form')
    return completed({ contents: [], messages: [], heard: native?.value() })
  }
  const { url } = await open([
    { kind: 'prompt', exposed: 'greet', run },
    { kind: 'resource', exposed: 'note://1', run },
  ])
  for (const [method, params] of [
    ['prompts/get', { name: 'greet', _meta: META }],
    ['resources/read', { uri: 'note://1', _meta: META }],
  ] as const) {
    const first = await postModern(url, method, params)
    const retry = { ...params, requestState: stateOf(first.body), inputResponses: { q1: ENGLISH } }
    const { body } = await postModern(url, method, retry)
    expect(dig(body, 'result')).toMatchObject({ resultType: 'complete', heard: ENGLISH })
  }
})
