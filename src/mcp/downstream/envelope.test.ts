/** Rounds of questions between 2026 peers and 2026 callers, and who cannot be asked. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, test } from 'vitest'
import type { Outcome } from '../../core/words/outcome.ts'
import type { QuestionKind } from '../../core/words/question.ts'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import {
  dig,
  initialize,
  modernMeta,
  openTestDoor,
  postModern,
  type TestDoorOptions,
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

const FORM = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Which language?',
    requestedSchema: { type: 'object', properties: { language: { type: 'string' } } },
  },
}

/** What a 2026 peer answers when it asks. */
function asks(kind: QuestionKind = 'form', request: object = FORM): Outcome {
  const result = {
    resultType: 'input_required',
    inputRequests: { q: request },
    requestState: 'theirs',
    big: 1,
  }
  const native = mcpNative(encodeJson(request), '2026-07-28')
  return {
    state: 'input_required',
    handle: { peer: 'desk', kind: 'mcp_state', sealed: '"theirs"' },
    questions: [{ kind, key: 'q', text: 'Which language?', native }],
    native: mcpNative(encodeJson(result), '2026-07-28'),
  }
}

const EXPORT: Scripted = {
  kind: 'tool',
  exposed: 'export',
  run: (call) => {
    if (call.continuation === undefined) return asks()
    const text = JSON.stringify(call.continuation.answers[0]?.data)
    return completed({ content: [{ type: 'text', text }], resultType: 'complete' }, '2026-07-28')
  },
}

const CAN_FORM = {
  _meta: modernMeta({ 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }),
}
const CALL = { name: 'export', arguments: { id: 'D1', n: 1 }, ...CAN_FORM }
const ANSWERED = { inputResponses: { q: { action: 'accept', content: { language: 'en' } } } }

test('the official client answers a question through the door and gets the result', async () => {
  const { url, house } = await open([EXPORT])
  const client = new Client(
    { name: 'v2', version: '1' },
    {
      versionNegotiation: { mode: { pin: '2026-07-28' } },
      capabilities: { elicitation: { form: {} } },
    },
  )
  client.setRequestHandler('elicitation/create', async () => ({
    action: 'accept',
    content: { language: 'de' },
  }))
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  closers.push(() => client.close())

  const result = await client.callTool({ name: 'export', arguments: {} })

  expect(result.content).toEqual([{ type: 'text', text: '{"language":"de"}' }])
  expect(house.calls).toHaveLength(2)
  expect(house.calls[1]?.continuation).toMatchObject({
    callId: 'call-1',
    handle: { peer: 'desk', kind: 'mcp_state', sealed: '"theirs"' },
    answers: [{ key: 'q', action: 'accept', data: { language: 'de' } }],
  })
})

test("the peer's state stays sealed, its other members travel, and the retry is not what the caller sent of rounds", async () => {
  const { url, house } = await open([EXPORT])
  house.approvals.push('ap-1')
  const first = await postModern(url, 'tools/call', CALL)
  const result = dig(first.body, 'result')
  const requestState = String(dig(result, 'requestState'))

  // In the name of the peer that asks, every other byte as it came.
  const params = { ...FORM.params, message: 'desk asks: Which language?' }
  const inputRequests = { q: { ...FORM, params } }
  expect(result).toMatchObject({ resultType: 'input_required', inputRequests, big: 1 })
  expect(result).not.toHaveProperty('ttlMs')
  expect(first.text).not.toContain('theirs')

  const second = await postModern(url, 'tools/call', { ...CALL, ...ANSWERED, requestState })
  expect(dig(second.body, 'result', 'content', 0, 'text')).toBe('{"language":"en"}')
  expect(house.calls[1]?.continuation?.approvalId).toBe('ap-1')
  expect(house.calls[1]?.native.value()).toEqual(CALL)
})

describe('a state is refused with -32602 and nothing runs', () => {
  test.each<
    [string, (state: string) => [string, Record<string, unknown>, Record<string, string>?]]
  >([
    ['changed', (state) => ['tools/call', { ...CALL, requestState: flip(state) }]],
    ['cut', (state) => ['tools/call', { ...CALL, requestState: state.slice(0, 20) }]],
    ['no string', () => ['tools/call', { ...CALL, requestState: 5 }]],
    ['from nowhere', () => ['tools/call', { ...CALL, requestState: 'state-of-a-peer' }]],
    [
      'other arguments',
      (state) => ['tools/call', { ...CALL, arguments: { id: 'D4', n: 1 }, requestState: state }],
    ],
    [
      'another number',
      (state) => ['tools/call', { ...CALL, arguments: { id: 'D1', n: 2 }, requestState: state }],
    ],
    ['another tool', (state) => ['tools/call', { ...CALL, name: 'other', requestState: state }]],
    ['another method', (state) => ['prompts/get', { ...CALL, requestState: state }]],
    [
      'another principal',
      (state) => ['tools/call', { ...CALL, requestState: state }, { 'x-test-principal': 'eve' }],
    ],
    [
      'answers that are no object',
      (state) => ['tools/call', { ...CALL, requestState: state, inputResponses: [] }],
    ],
    [
      'an answer that is no object',
      (state) => ['tools/call', { ...CALL, requestState: state, inputResponses: { q: 'en' } }],
    ],
  ])('%s', async (_name, change) => {
    const others: Scripted[] = [
      { kind: 'tool', exposed: 'other' },
      { kind: 'prompt', exposed: 'export' },
    ]
    const { url, house } = await open([EXPORT, ...others])
    const first = await postModern(url, 'tools/call', CALL)
    const [method, params, headers] = change(String(dig(first.body, 'result', 'requestState')))
    const retry = await postModern(
      url,
      method,
      { ...ANSWERED, ...params },
      { headers: headers ?? {} },
    )

    expect(dig(retry.body, 'error', 'code')).toBe(-32602)
    expect(house.calls).toHaveLength(1)
  })

  test('too old', async () => {
    let now = 1_000_000
    const { url, house } = await open([EXPORT], { now: () => now })
    const first = await postModern(url, 'tools/call', CALL)
    const requestState = dig(first.body, 'result', 'requestState')
    now += 600_000
    const retry = await postModern(url, 'tools/call', { ...CALL, ...ANSWERED, requestState })

    expect(dig(retry.body, 'error', 'code')).toBe(-32602)
    expect(house.calls).toHaveLength(1)
  })
})

test('white space and key order may differ on a retry, and extra answers pass to the peer that ignores them', async () => {
  const { url } = await open([EXPORT])
  const first = await postModern(url, 'tools/call', CALL)
  const requestState = dig(first.body, 'result', 'requestState')
  const inputResponses = { ...ANSWERED.inputResponses, extra: { action: 'decline' } }
  const retry = await postModern(url, 'tools/call', {
    inputResponses,
    requestState,
    ...CAN_FORM,
    arguments: { n: 1, id: 'D1' },
    name: 'export',
  })

  expect(dig(retry.body, 'result', 'resultType')).toBe('complete')
})

test('answers without a state go to the peer as they are: one that keeps no state knows its questions again', async () => {
  const { url, house } = await open([EXPORT])
  const { body } = await postModern(url, 'tools/call', { ...CALL, ...ANSWERED })

  expect(dig(body, 'result', 'resultType')).toBe('complete')
  expect(house.calls[0]?.native.value()).toEqual(CALL)
  expect(house.calls[0]?.continuation).toMatchObject({
    handle: { peer: 'desk', kind: 'mcp_state', sealed: '' },
    answers: [{ key: 'q', action: 'accept', data: { language: 'en' } }],
  })
})

test.each([[[]], [null], [7], [{ q: 'en' }]])(
  'answers without a state that are no answers are refused: %j',
  async (inputResponses) => {
    const { url, house } = await open([EXPORT])
    const { body } = await postModern(url, 'tools/call', { ...CALL, inputResponses })

    expect(dig(body, 'error', 'code')).toBe(-32602)
    expect(house.calls).toEqual([])
  },
)

test('rounds are bounded', async () => {
  const endless: Scripted = { kind: 'tool', exposed: 'export', run: () => asks() }
  const { url } = await open([endless], { limits: { maxRounds: 2 } })
  let { body } = await postModern(url, 'tools/call', CALL)
  const types: unknown[] = []
  for (let round = 0; round < 2; round += 1) {
    types.push(dig(body, 'result', 'resultType'))
    const requestState = dig(body, 'result', 'requestState')
    body = (await postModern(url, 'tools/call', { ...CALL, ...ANSWERED, requestState })).body
  }

  expect(types).toEqual(['input_required', 'input_required'])
  expect(dig(body, 'result', 'isError')).toBe(true)
})

describe('who cannot be asked', () => {
  test.each<[QuestionKind, object]>([
    ['form', { elicitation: { form: {} } }],
    ['url', { elicitation: { url: {} } }],
    ['sampling', { sampling: {} }],
    ['roots', { roots: {} }],
  ])('a modern caller that did not declare %s: -32021', async (kind, requiredCapabilities) => {
    const { url } = await open([{ kind: 'tool', exposed: 'export', run: () => asks(kind) }])
    const answer = await postModern(url, 'tools/call', { name: 'export' })

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ error: { code: -32021, data: { requiredCapabilities } } })
  })

  test('a legacy caller gets words it can read', async () => {
    const { url } = await open([EXPORT])
    const { session, headers } = await initialize(url)
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'mcp-session-id': session },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export","requestState":"x"}}',
    })
    const body = await response.json()

    expect(dig(body, 'result')).toMatchObject({
      isError: true,
      _meta: { 'comity/outcome': { state: 'input_required', ran: 'yes' } },
    })
    expect(dig(body, 'result', 'content', 0, 'text')).toMatch(
      /cannot carry the question.*Which language/,
    )
  })
})

function flip(state: string): string {
  const at = state.length >> 1
  return `${state.slice(0, at)}${state[at] === 'A' ? 'B' : 'A'}${state.slice(at + 1)}`
}
