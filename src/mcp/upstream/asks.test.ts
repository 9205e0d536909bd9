import { describe, expect, test } from 'vitest'
import {
  type CallOptions,
  inlineServer,
  makeCall,
  openPeer,
  type PeerOptions,
  type Server,
  until,
  valueOf,
} from '../../../test/mcp/upstream-peer.ts'
import type { Exchange } from '../../core/ports/upstream.ts'
import type { Answer, Question } from '../../core/words/question.ts'
import { parseMessage, type RpcRequest } from '../wire/json-rpc.ts'
import { mcpNative } from '../wire/native.ts'
import { createAsks } from './asks.ts'

const ALL = { form: true, url: true, sampling: true, roots: true }
const FORM = { message: 'Which size?', requestedSchema: { type: 'object', properties: {} } }

/** Asks what the arguments say, and answers with what it was answered. */
const asking = (revision = '2025-11-25'): Server =>
  inlineServer(`
    let next = 0
    let declared
    const waiting = new Map()
    const request = (message) => new Promise((resolve) => {
      const id = 'q' + (next += 1)
      waiting.set(id, resolve)
      send({ id, ...message })
    })
    serve({
      'server/discover': (m) => refuse(m, -32601),
      initialize: (m) => {
        declared = m.params.capabilities
        answer(m, { protocolVersion: '${revision}', capabilities: { tools: {} }, serverInfo: {} })
      },
      'tools/call': async (m) => {
        const { asks = [], cancel } = m.params.arguments
        const replies = asks.map((ask) => request(ask))
        if (cancel) send({ method: 'notifications/cancelled', params: { requestId: 'q' + next } })
        const got = cancel ? [] : await Promise.all(replies)
        if (cancel !== 'and wait') answer(m, { content: [], declared, got })
      },
      '*': () => {},
      undefined: ({ id, result, error }) => waiting.get(id)?.({ result, error: error?.code }),
    })`)

interface Got {
  readonly declared: object
  readonly got: readonly { readonly result?: unknown; readonly error?: number }[]
}

async function ask(
  asks: readonly object[],
  options: CallOptions & { readonly peer?: PeerOptions; readonly revision?: string } = {},
): Promise<Got & { readonly asked: readonly Question[] }> {
  const asked: Question[] = []
  const peer = openPeer(asking(options.revision), options.peer)
  const { outcome } = await makeCall(
    peer,
    'pay',
    { asks },
    {
      can: ALL,
      ask: (question) => {
        asked.push(question)
        return Promise.resolve({ key: question.key, action: 'decline' })
      },
      ...options,
    },
  )
  return { ...(valueOf(outcome) as Got), asked }
}

const bare = (value: object): Answer['native'] =>
  mcpNative(new TextEncoder().encode(JSON.stringify(value)), '2026-07-28')

describe('a question of a 2025 server in mid-call', () => {
  test('reaches the caller as an input request object, and the answer goes back as it was given', async () => {
    const asked: Question[] = []
    const content = { size: 9007199254740993n.toString() }
    const { got, declared } = await ask([{ method: 'elicitation/create', params: FORM }], {
      ask: (question) => {
        asked.push(question)
        const native = bare({ action: 'accept', content })
        return Promise.resolve({ key: question.key, action: 'accept', native: native! })
      },
    })
    expect(declared).toEqual({ elicitation: { form: {}, url: {} }, sampling: {}, roots: {} })
    expect(got).toEqual([{ result: { action: 'accept', content } }])
    expect(asked).toMatchObject([{ kind: 'form', key: 'ask-1', text: 'Which size?' }])
    expect(asked[0]?.attributed).toBeUndefined()
    expect(asked[0]?.native.value()).toEqual({ method: 'elicitation/create', params: FORM })
  })

  test.each<[string, object, object]>([
    ['form', { method: 'elicitation/create', params: FORM }, { result: { action: 'decline' } }],
    [
      'url',
      {
        method: 'elicitation/create',
        params: { mode: 'url', message: 'm', url: 'https://x.example' },
      },
      { result: { action: 'decline' } },
    ],
    [
      'sampling',
      { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
      { error: -1 },
    ],
    ['roots', { method: 'roots/list' }, { error: -1 }],
  ])('declined: %s', async (kind, message, reply) => {
    const { asked, got } = await ask([message])
    expect(asked).toMatchObject([{ kind }])
    expect(got).toEqual([reply])
  })

  test('plain answers become an elicitation result; sampling and roots are answered by their own objects alone', async () => {
    const messages = [
      { method: 'elicitation/create', params: FORM },
      { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
      { method: 'roots/list' },
    ]
    const roots = { roots: [{ uri: 'file:///a' }] }
    const { got } = await ask(messages, {
      ask: ({ key, kind }) => {
        if (kind === 'roots')
          return Promise.resolve({ key, action: 'accept', native: bare(roots)! })
        return Promise.resolve({ key, action: 'accept', data: { size: 3 } })
      },
    })
    expect(got).toEqual([
      { result: { action: 'accept', content: { size: 3 } } },
      { error: -1 },
      { result: roots },
    ])
  })

  test('what belongs to the hop of the server does not pass', async () => {
    const params = { ...FORM, task: { ttl: 1 }, _meta: { progressToken: 7, 'x.example/y': 1 } }
    const { asked } = await ask([{ method: 'elicitation/create', params }])
    const { task: _task, ...rest } = params
    expect(asked[0]?.native.value()).toEqual({
      method: 'elicitation/create',
      params: { ...rest, _meta: { 'x.example/y': 1 } },
    })
  })

  test.each<[string, object, number, PeerOptions, string]>([
    ['an unknown method', { method: 'tasks/list' }, -32601, {}, '2025-11-25'],
    [
      'a kind that the lock forbids',
      { method: 'sampling/createMessage', params: {} },
      -32601,
      { capabilities: { sampling: false } },
      '2025-11-25',
    ],
    [
      'a kind that the revision does not have',
      { method: 'elicitation/create', params: FORM },
      -32601,
      {},
      '2025-03-26',
    ],
    [
      'a mode that the revision does not have',
      { method: 'elicitation/create', params: { ...FORM, mode: 'url' } },
      -32602,
      {},
      '2025-06-18',
    ],
    [
      'a mode that nobody has',
      { method: 'elicitation/create', params: { ...FORM, mode: 'voice' } },
      -32602,
      {},
      '2025-11-25',
    ],
    [
      'sampling with tools',
      { method: 'sampling/createMessage', params: { messages: [], tools: [] } },
      -32602,
      {},
      '2025-11-25',
    ],
  ])('is refused unasked: %s', async (_, message, code, peer, revision) => {
    const { asked, got } = await ask([message], { peer, revision })
    expect(asked).toEqual([])
    expect(got).toEqual([{ error: code }])
  })

  test('a caller that can be asked nothing: the server is not told that a person declined', async () => {
    const peer = openPeer(asking())
    const asks = [{ method: 'elicitation/create', params: FORM }]
    const { outcome } = await makeCall(peer, 'pay', { asks })
    expect(valueOf(outcome)).toMatchObject({ got: [{ error: -1 }] })
  })

  test('more at once than is passed on is refused, the others are asked', async () => {
    const text = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'elicitation/create',
      params: FORM,
    })
    const request = parseMessage(new TextEncoder().encode(text)) as RpcRequest
    const asks = createAsks({ elicitation: true, sampling: true, roots: true })
    asks.agreed('2025-11-25')
    const held: (() => void)[] = []
    const exchange: Exchange = {
      signal: new AbortController().signal,
      stopReason: () => undefined,
      emit: () => undefined,
      can: ALL,
      ask: ({ key }) =>
        new Promise((resolve) => held.push(() => resolve({ key, action: 'decline' }))),
    }
    asks.open({ principal: 'alice', exchange, hold: () => () => undefined })
    const never = new AbortController().signal
    const replies = Array.from({ length: 10 }, () => asks.onStray(request, never))
    expect(await Promise.all(replies.slice(8))).toMatchObject([
      { error: { code: -1 } },
      { error: { code: -1 } },
    ])
    expect(held).toHaveLength(8)
    for (const release of held) release()
    expect(await Promise.all(replies.slice(0, 8))).toEqual(
      Array.from({ length: 8 }, () => ({ result: expect.any(Uint8Array) })),
    )
  })

  test('one that the server takes back is withdrawn and not answered', async () => {
    let withdrawn = false
    const controller = new AbortController()
    const peer = openPeer(asking())
    const made = makeCall(
      peer,
      'pay',
      { asks: [{ method: 'elicitation/create', params: FORM }], cancel: 'and wait' },
      {
        can: ALL,
        signal: controller.signal,
        ask: ({ key }, signal) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              withdrawn = true
              resolve({ key, action: 'cancel' })
            })
          }),
      },
    )
    await until('it is withdrawn', () => withdrawn)
    controller.abort()
    expect((await made).outcome).toMatchObject({ state: 'unknown', because: 'cancel_unconfirmed' })
  })

  test('one that is open when the call is answered is withdrawn', async () => {
    let withdrawn = false
    const peer = openPeer(asking())
    const asks = [{ method: 'elicitation/create', params: FORM }]
    const { outcome } = await makeCall(
      peer,
      'pay',
      { asks, cancel: 'and answer' },
      {
        can: ALL,
        ask: ({ key }, signal) =>
          new Promise((resolve) => {
            const end = (): void => {
              withdrawn = true
              resolve({ key, action: 'cancel' })
            }
            if (signal.aborted) end()
            signal.addEventListener('abort', end)
          }),
      },
    )
    expect(outcome.state).toBe('completed')
    expect(withdrawn).toBe(true)
  })

  test('the time that a person takes is not the time of the server', async () => {
    const { got } = await ask([{ method: 'elicitation/create', params: FORM }], {
      deadlineMs: 1_500,
      ask: async ({ key }) => {
        const end = Date.now() + 1_600
        await until('the deadline has passed', () => Date.now() > end)
        return { key, action: 'decline' }
      },
    })
    expect(got).toEqual([{ result: { action: 'decline' } }])
  })
})

describe('whose question it is, where nothing says so', () => {
  /** Two calls wait; then it asks once, and ends both with the answer. */
  const twoCalls = (): Server =>
    inlineServer(`
      const calls = []
      serve({
        'server/discover': (m) => refuse(m, -32601),
        initialize: (m) => answer(m, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} }),
        'tools/call': (m) => {
          calls.push(m)
          if (calls.length === 2) send({ id: 'q', ...m.params.arguments.ask })
        },
        '*': () => {},
        undefined: ({ id, result, error }) => { for (const call of calls) answer(call, { content: [], got: { result, error: error?.code } }) },
      })`)

  async function both(
    ask: object,
    options: readonly [CallOptions, CallOptions],
    peerOptions: PeerOptions = {},
  ): Promise<{ readonly asked: readonly (readonly [string, Question])[]; readonly got: unknown }> {
    const peer = openPeer(twoCalls(), peerOptions)
    const asked: (readonly [string, Question])[] = []
    const call = (name: string, index: 0 | 1): Promise<{ outcome: object }> =>
      makeCall(
        peer,
        'pay',
        { ask },
        {
          ask: (question) => {
            asked.push([name, question])
            return Promise.resolve({ key: question.key, action: 'decline' })
          },
          ...options[index],
        },
      )
    await peer.listing()
    const first = call('first', 0)
    const second = call('second', 1)
    await first
    const { outcome } = await second
    return { asked, got: (valueOf(outcome as never) as { got: unknown }).got }
  }

  test('the most recent call of the principal that can bear it, and it says so', async () => {
    const ask = { method: 'elicitation/create', params: FORM }
    const { asked } = await both(ask, [{ can: ALL }, { can: ALL }])
    expect(asked).toMatchObject([['second', { attributed: true }]])
    const { asked: older } = await both(ask, [{ can: ALL }, { can: { roots: true } }])
    expect(older).toMatchObject([['first', { attributed: true }]])
  })

  test("never another principal's: with calls of two, nobody is asked", async () => {
    const two = [
      { can: ALL, principal: 'alice' },
      { can: ALL, principal: 'bob' },
    ] as const
    const elicitation = { method: 'elicitation/create', params: FORM }
    expect(await both(elicitation, two, { stateless: true })).toEqual({
      asked: [],
      got: { result: { action: 'cancel' } },
    })
    const roots = await both({ method: 'roots/list' }, two, { stateless: true })
    expect(roots).toEqual({ asked: [], got: { result: { roots: [] } } })
  })

  test('outside of any call there are no roots, and nobody to ask', async () => {
    const peer = openPeer(
      inlineServer(`
        const got = []
        let call
        const end = () => { if (call && got.length === 3) answer(call, { content: [], got }) }
        serve({
          'server/discover': (m) => refuse(m, -32601),
          initialize: (m) => answer(m, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} }),
          'notifications/initialized': () => {
            send({ id: 1, method: 'roots/list' })
            send({ id: 2, method: 'sampling/createMessage', params: { messages: [] } })
            send({ id: 3, method: 'elicitation/create', params: { message: '', requestedSchema: {} } })
          },
          'tools/call': (m) => { call = m; end() },
          undefined: ({ id, result, error }) => { got.push({ id, result, error: error?.code }); end() },
        })`),
    )
    await peer.listing()
    expect(valueOf((await makeCall(peer, 'pay')).outcome)).toMatchObject({
      got: [
        { id: 1, result: { roots: [] } },
        { id: 2, error: -1 },
        { id: 3, result: { action: 'cancel' } },
      ],
    })
  })
})
