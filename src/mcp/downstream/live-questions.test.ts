/** Callers of session revisions are asked in mid-call: by the official clients, and bare. */
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, test } from 'vitest'
import type { QuestionKind } from '../../core/words/question.ts'
import { asks, questionOf } from './testing/questions.ts'
import { readEvents } from './testing/read-events.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import { openSession } from './testing/session-caller.ts'
import { dig, openTestDoor, until, type TestDoorOptions } from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const ASKING = [asks('form'), asks('url'), asks('sampling'), asks('roots')]
const CAPITAL = { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm' } as const
const ROOTS = { roots: [{ uri: 'file:///home/ada', name: 'Ada' }] }

async function open(tools: readonly Scripted[] = ASKING, options: TestDoorOptions = {}) {
  const limits = { drainMs: 50, ...options.limits }
  const server = await openTestDoor(createScriptedHouse(tools), { ...options, limits })
  closers.push(server.close)
  return server
}

const call = (id: number | string, name: string) => ({
  id,
  method: 'tools/call',
  params: { name },
})

/** What a tool of ours says came back. */
function told(message: unknown): unknown {
  const text = dig(message, 'result', 'content', 0, 'text')
  return typeof text === 'string' ? JSON.parse(text) : message
}

describe('the official clients', () => {
  test('v1 answers a form, an address, sampling and roots', async () => {
    const { url } = await open()
    const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: ALL })
    const asked: unknown[] = []
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params)
      return params.mode === 'url'
        ? { action: 'accept' }
        : { action: 'accept', content: { language: 'zh' } }
    })
    client.setRequestHandler(CreateMessageRequestSchema, () => CAPITAL)
    client.setRequestHandler(ListRootsRequestSchema, () => ROOTS)
    await client.connect(new TransportV1(new URL(url)) as unknown as Transport)
    closers.push(() => client.close())
    const answers = []
    for (const kind of ['form', 'url', 'sampling', 'roots']) {
      answers.push(told({ result: await client.callTool({ name: `ask_${kind}` }) }))
    }

    const can = { form: true, url: true, sampling: true, roots: true, tasks: 'held' }
    const accepted = (kind: string, value: object) => ({
      can,
      key: `a ${kind}`,
      action: 'accept',
      value,
    })
    expect(answers).toEqual([
      accepted('form', { action: 'accept', content: { language: 'zh' } }),
      accepted('url', { action: 'accept' }),
      accepted('sampling', CAPITAL),
      accepted('roots', ROOTS),
    ])
    expect(asked).toEqual([
      expect.objectContaining({ message: 'desk asks: Which language?', _meta: { kept: true } }),
      expect.objectContaining({ mode: 'url', url: 'https://example.com/in' }),
    ])
    expect(dig(asked[1], 'elicitationId')).toMatch(/^[\w-]{20,}$/)
  })

  test('v2 in its legacy mode answers a form; one that declared nothing is not asked', async () => {
    const { url } = await open()
    const mode = 'legacy' as const
    const says = async (capabilities: object) => {
      const client = new ClientV2(
        { name: 'v2', version: '1' },
        { versionNegotiation: { mode }, capabilities },
      )
      if ('elicitation' in capabilities) {
        client.setRequestHandler('elicitation/create', async () => ({
          action: 'accept' as const,
          content: { language: 'en' },
        }))
      }
      await client.connect(new TransportV2(new URL(url)))
      closers.push(() => client.close())
      return told({ result: await client.callTool({ name: 'ask_form' }) })
    }

    expect(await says({ elicitation: {} })).toEqual({
      can: { form: true, url: false, sampling: false, roots: false, tasks: 'held' },
      key: 'a form',
      action: 'accept',
      value: { action: 'accept', content: { language: 'en' } },
    })
    expect(await says({})).toEqual({
      can: { form: false, url: false, sampling: false, roots: false, tasks: 'held' },
      action: 'never asked',
    })
  })
})

describe('what may be asked', () => {
  test.each([
    ['2025-11-25', ALL, { form: true, url: true, sampling: true, roots: true, tasks: 'held' }],
    [
      '2025-11-25',
      { elicitation: {} },
      { form: true, url: false, sampling: false, roots: false, tasks: 'held' },
    ],
    [
      '2025-11-25',
      { elicitation: { url: {} } },
      { form: false, url: true, sampling: false, roots: false, tasks: 'held' },
    ],
    ['2025-06-18', ALL, { form: true, url: false, sampling: true, roots: true, tasks: 'held' }],
    ['2025-03-26', ALL, { form: false, url: false, sampling: true, roots: true, tasks: 'held' }],
  ])('a caller of %s that declares %j', async (revision, capabilities, can) => {
    const tool: Scripted = {
      kind: 'tool',
      exposed: 'can',
      run: (_call, exchange) =>
        completed({ content: [{ type: 'text', text: JSON.stringify(exchange.can) }] }),
    }
    const { url } = await open([tool])
    const caller = await openSession(url, { revision, capabilities })

    expect(told((await caller.post(call(1, 'can'))).body)).toEqual(can)
  })

  test('2025-06-18 is asked without a mode; sampling with tools only who declared them', async () => {
    const { url } = await open([asks('form'), asks('sampling', { tools: [] })])
    const older = await openSession(url, { revision: '2025-06-18', capabilities: ALL })
    const events = readEvents(await older.begin(call(1, 'ask_form')))
    const question = await events.next()
    expect(dig(question.message, 'params')).not.toHaveProperty('mode')
    expect(told((await older.post(call(2, 'ask_sampling'))).body)).toMatchObject({
      action: 'decline',
    })
    const newer = await openSession(url, { capabilities: { sampling: { tools: {} } } })
    const asked = readEvents(await newer.begin(call(1, 'ask_sampling')))
    await asked.next()

    expect(dig((await asked.next()).message, 'method')).toBe('sampling/createMessage')
    await Promise.all([events.cancel(), asked.cancel()])
  })
})

describe('answers', () => {
  async function asked(options: TestDoorOptions = {}) {
    const server = await open(ASKING, options)
    const caller = await openSession(server.url, { capabilities: ALL })
    const events = readEvents(await caller.begin(call(1, 'ask_form')))
    const primer = await events.next()
    expect(primer.data).toBe('')
    const question = await events.next()
    const id = dig(question.message, 'id') as number
    const answer = (result: object, more: object = {}) => caller.post({ id, result, ...more })
    return { ...server, caller, events, id, answer, question }
  }
  const ACCEPT = { action: 'accept', content: { language: 'en' } }

  test.each(['accept', 'decline', 'cancel'])('%s is passed on as it was said', async (action) => {
    const { events, answer } = await asked()
    expect((await answer({ action })).status).toBe(202)
    const said = await events.rest()

    expect(told(said.at(-1)?.message)).toMatchObject({ action, value: { action } })
  })

  test('an error is a refusal, with its words', async () => {
    const { caller, events, id } = await asked()
    await caller.post({ id, error: { code: -1, message: 'User rejected sampling request' } })

    expect(told((await events.next()).message)).toMatchObject({
      action: 'decline',
      text: 'User rejected sampling request',
    })
  })

  test('one that came twice, and one for nothing asked, change nothing', async () => {
    const { caller, events, id, answer } = await asked()
    expect((await caller.post({ id: String(id), result: ACCEPT })).status).toBe(202)
    expect((await caller.post({ id: id + 1, result: ACCEPT })).status).toBe(202)
    expect((await answer(ACCEPT)).status).toBe(202)
    expect((await answer({ action: 'decline' })).status).toBe(202)

    expect(told((await events.next()).message)).toMatchObject({ action: 'accept' })
  })

  test('another session’s, and another principal’s, is none', async () => {
    const { url, caller, events, id, answer } = await asked()
    const other = await openSession(url, { capabilities: ALL })
    expect((await other.post({ id, result: { action: 'decline' } })).status).toBe(202)
    const body = JSON.stringify({ jsonrpc: '2.0', id, result: { action: 'decline' } })
    const headers = { ...caller.headers, 'x-test-principal': 'eve' }
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(404)
    await answer(ACCEPT)

    expect(told((await events.next()).message)).toMatchObject({ action: 'accept' })
  })

  test.each([
    ['{"action":"accept","action":"decline"}'],
    ['{"action":"accept","content":{"a":1,"a":2}}'],
    ['{"action":"accept","content":{"a":"\\ud800"}}'],
    ['{"action":"perhaps"}'],
    ['["accept"]'],
  ])('of which readers may disagree, or that says nothing: %s', async (result) => {
    const { caller, events, id } = await asked()
    const { status, body } = await caller.post(`{"jsonrpc":"2.0","id":${id},"result":${result}}`)

    expect([status, dig(body, 'error', 'code')]).toEqual([400, -32600])
    expect(told((await events.next()).message)).toMatchObject({ action: 'cancel' })
  })

  test.each<[QuestionKind, string]>([
    ['form', '{"action":"accept","content":"en"}'],
    ['form', '{"action":"accept","content":["en"]}'],
    ['form', '{"action":["accept"]}'],
    ['sampling', '{}'],
    ['sampling', '{"role":"assistant","content":{"type":"text","text":"Paris"}}'],
    ['roots', '{}'],
    ['roots', '{"roots":{}}'],
  ])('one that answers no %s is not passed on: %s', async (kind, result) => {
    const { url } = await open(ASKING)
    const caller = await openSession(url, { capabilities: ALL })
    const events = readEvents(await caller.begin(call(1, `ask_${kind}`)))
    await events.next()
    const id = dig((await events.next()).message, 'id')
    const refused = await caller.post(`{"jsonrpc":"2.0","id":${String(id)},"result":${result}}`)

    expect([refused.status, dig(refused.body, 'error', 'code')]).toEqual([400, -32600])
    const said = told((await events.next()).message)
    expect(said).not.toMatchObject({ action: 'accept' })
    expect(said).not.toHaveProperty('value')
  })

  test('one that is too large is none', async () => {
    const { events, answer } = await asked({ limits: { maxAnswerBytes: 100 } })
    expect((await answer({ ...ACCEPT, more: 'x'.repeat(100) })).status).toBe(400)

    expect(told((await events.next()).message)).toMatchObject({ action: 'cancel' })
  })

  test('one that does not come in time is a cancel, and the caller is told so', async () => {
    const { events, id } = await asked({ limits: { questionMs: 50 } })
    const [withdrawal, result] = [await events.next(), await events.next()]

    expect(withdrawal.message).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: id },
    })
    expect(told(result.message)).toMatchObject({ action: 'cancel' })
  })

  test('a session that ends takes its questions with it', async () => {
    const { caller, events, answer } = await asked()
    expect(await caller.end()).toBe(204)

    expect(await events.rest()).toEqual([])
    expect((await answer(ACCEPT)).status).toBe(404)
  })
})

test('a question that its peer takes back is withdrawn from the caller', async () => {
  const back = new AbortController()
  const impatient: Scripted = {
    kind: 'tool',
    exposed: 'impatient',
    run: async (_call, exchange) => {
      const answer = await exchange.ask?.(questionOf('roots'), back.signal)
      return completed({ content: [{ type: 'text', text: JSON.stringify(answer) }] })
    },
  }
  const { url } = await open([impatient])
  const caller = await openSession(url, { capabilities: ALL })
  const events = readEvents(await caller.begin(call(1, 'impatient')))
  await events.next()
  const id = dig((await events.next()).message, 'id')
  back.abort()

  expect((await events.next()).message).toMatchObject({
    method: 'notifications/cancelled',
    params: { requestId: id },
  })
  expect(told((await events.next()).message)).toEqual({ key: 'a roots', action: 'cancel' })
})

test('no more questions are open at once than the bound; the next one is declined', async () => {
  const { url } = await open(ASKING, { limits: { maxOpenQuestions: 2 } })
  const caller = await openSession(url, { capabilities: ALL })
  const first = readEvents(await caller.begin(call(1, 'ask_form')))
  const second = readEvents(await caller.begin(call(2, 'ask_form')))
  for (const events of [first, second])
    for (let count = 0; count < 2; count += 1) await events.next()
  const third = await caller.post(call(3, 'ask_form'))

  expect(told(third.body)).toMatchObject({ action: 'decline' })
  await Promise.all([first.cancel(), second.cancel()])
})

test('a caller that withdraws its call is not asked any further, and the call knows', async () => {
  const seen: unknown[] = []
  const tool: Scripted = {
    kind: 'tool',
    exposed: 'asks',
    run: async (_call, exchange) => {
      seen.push('asked')
      seen.push(await exchange.ask?.(questionOf('form'), new AbortController().signal))
      return completed({ content: [] })
    },
  }
  const { url } = await open([tool])
  const caller = await openSession(url, { capabilities: ALL })
  const events = readEvents(await caller.begin(call(7, 'asks')))
  await events.next()
  await events.next()
  await caller.post({ method: 'notifications/cancelled', params: { requestId: 7 } })
  await until(() => seen.length === 2)

  expect(seen).toEqual(['asked', { key: 'a form', action: 'cancel' }])
  await events.cancel()
})
