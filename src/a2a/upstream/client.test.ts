import { afterAll, afterEach, describe, expect, it } from 'vitest'
import {
  answerOf,
  CLOCK,
  delegation,
  exchangeOf,
  NEVER,
  reduceNews,
} from '../../../test/a2a/calls.ts'
import { openSdkAgent, type SdkAgent } from '../../../test/a2a/sdk-agent.ts'
import type { Peer } from '../../core/ports/peer.ts'
import type { Handle, Outcome } from '../../core/words/outcome.ts'
import { openConnections } from '../bindings/http.ts'
import { createA2aPeer } from './peer.ts'

const connections = openConnections()
afterAll(() => connections.close())

const agents: SdkAgent[] = []
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent[Symbol.asyncDispose]()
})

async function openAgent(streaming: boolean): Promise<{ agent: SdkAgent; peer: Peer }> {
  const agent = await openSdkAgent({ streaming })
  agents.push(agent)
  const peer = createA2aPeer(
    { connections, clock: CLOCK },
    {
      name: 'sdk',
      card: { url: agent.cardUrl, headers: { authorization: 'Bearer canary-9' } },
      trusted: false,
      upstream: { follow: { pollMinMs: 20, pollMaxMs: 100 }, find: { pausesMs: [50] } },
    },
  )
  return { agent, peer }
}

async function send(peer: Peer, text: string): Promise<Outcome> {
  const exchange = exchangeOf()
  return peer.upstream.call(await delegation(peer, text), exchange, exchange.dispatched)
}
function handleOf(outcome: Outcome): Handle {
  if (!('handle' in outcome) || outcome.handle === undefined) throw new Error(outcome.state)
  return outcome.handle
}

describe.each([
  ['with streaming', true],
  ['without streaming', false],
])('an agent on the official SDK, %s', (_name, streaming) => {
  it('is one capability, defined by its card', async () => {
    const { peer } = await openAgent(streaming)
    expect(peer.report().state).toBe('starting')
    const { capabilities } = await peer.listing()
    expect(capabilities.map(({ kind, name, hints }) => ({ kind, name, hints }))).toEqual([
      { kind: 'agent', name: 'sdk', hints: {} },
    ])
    expect(peer.report()).toEqual({
      state: 'ready',
      transport: 'a2a jsonrpc',
      revision: '1.0',
      callsItself: 'Sdk agent 1.2.3',
    })
  })

  it('a direct Message is an answer, and no task', async () => {
    const { peer } = await openAgent(streaming)
    const outcome = await send(peer, 'message')
    expect(outcome).toMatchObject({ state: 'answered', text: 'just an answer' })
    expect('handle' in outcome).toBe(false)
  })

  it('a delegation returns at once and is followed to its end, chunks joined', async () => {
    const { agent, peer } = await openAgent(streaming)
    const handle = handleOf(await send(peer, 'report'))
    const seen = await reduceNews(peer.upstream.work!.follow(handle, undefined, NEVER))
    expect(seen.last).toMatchObject({ state: 'completed', toolError: false })
    expect(seen.states.filter((state) => state === 'completed')).toEqual(['completed'])
    expect(seen.texts).toEqual({ out: 'one two three' })
    expect(seen.records).toMatchObject([{ artifactId: 'out', name: 'out.md', headless: false }])
    expect(agent.count('SendStreamingMessage')).toBe(streaming ? 1 : 0)
    expect(agent.count('SubscribeToTask')).toBe(0)
    expect(agent.count('CancelTask')).toBe(0)
  })

  it('a question is asked, and the answer goes on with the same task and context', async () => {
    const { agent, peer } = await openAgent(streaming)
    const first = await send(peer, 'ask')
    const asked = await reduceNews(peer.upstream.work!.follow(handleOf(first), undefined, NEVER))
    expect(asked.last).toMatchObject({
      state: 'input_required',
      questions: [{ kind: 'text', text: 'which one?' }],
    })
    const handle = handleOf(asked.last!)
    const questions = 'questions' in asked.last! ? asked.last.questions : []
    const exchange = exchangeOf()
    const call = await answerOf(peer, handle, [
      { key: questions[0]!.key, action: 'accept', text: 'the red one' },
    ])
    const reply = await peer.upstream.work!.answer(call, exchange, exchange.dispatched)
    const done =
      reply.state === 'completed'
        ? reply
        : (await reduceNews(peer.upstream.work!.follow(handle, undefined, NEVER))).last
    expect(done).toMatchObject({ state: 'completed' })
    const answer = agent.seen.filter((request) => request.json.method === 'SendMessage').at(-1)
    expect(answer?.json.params).toMatchObject({
      message: { taskId: handle.taskId, contextId: handle.contextId },
    })
    const after = agent.seen.slice(agent.seen.indexOf(answer!) + 1)
    expect(after[0]?.json.method).toBe('GetTask')
    const snapshot = await peer.upstream.work!.inspect(handle, NEVER)
    expect(snapshot.kind === 'snapshot' && snapshot.artifacts).toMatchObject([
      { artifactId: 'answer', parts: [{ kind: 'text', text: 'you said the red one' }] },
    ])
  })

  it('authorisation that is needed is shown, and the task goes on by itself', async () => {
    const { peer } = await openAgent(streaming)
    const first = await send(peer, 'auth')
    const seen = await reduceNews(peer.upstream.work!.follow(handleOf(first), undefined, NEVER))
    expect([first.state, ...seen.states]).toContain('auth_required')
    expect(seen.last).toMatchObject({ state: 'completed' })
  })

  it.each([
    ['fail', { state: 'failed', origin: 'peer', ran: 'yes', detail: 'the disk is full' }],
    ['reject', { state: 'rejected', text: 'not my trade' }],
  ])('%s keeps the agent’s reason', async (text, expected) => {
    const { peer } = await openAgent(streaming)
    const first = await send(peer, text)
    const last =
      first.state === 'working'
        ? (await reduceNews(peer.upstream.work!.follow(handleOf(first), undefined, NEVER))).last
        : first
    expect(last).toMatchObject(expected)
  })

  it('cancel is asked once and says what is confirmed', async () => {
    const { agent, peer } = await openAgent(streaming)
    const handle = handleOf(await send(peer, 'hang'))
    const report = await peer.upstream.work!.cancel(handle, NEVER)
    expect(report.confirmed).toBe('stopped')
    expect(report.news?.kind).toBe('snapshot')
    const again = await peer.upstream.work!.cancel(handle, NEVER)
    expect(['stopped', 'already_ended']).toContain(again.confirmed)
    expect(agent.count('CancelTask')).toBe(2)
  })

  it('a task is found by the message id of a send whose answer was lost', async () => {
    const { peer } = await openAgent(streaming)
    const exchange = exchangeOf()
    const call = await delegation(peer, 'hang')
    const first = await peer.upstream.call(call, exchange, exchange.dispatched)
    const found = await peer.upstream.work!.find(call.callId, call.openedAt, NEVER)
    if (typeof found === 'string') throw new Error(found)
    expect(found.handle.taskId).toBe(handleOf(first).taskId)
    expect(found.found).toMatchObject({ kind: 'snapshot', outcome: { state: 'working' } })
    expect(await peer.upstream.work!.find('never-sent', call.openedAt, NEVER)).toBe('cannot_tell')
  })

  it('every send has its own message id, and no credential is in any body', async () => {
    const { agent, peer } = await openAgent(streaming)
    for (const text of ['message', 'report', 'ask']) await send(peer, text)
    const sends = agent.seen.filter((request) => request.json.method?.startsWith('Send') === true)
    const ids = sends.map(
      (request) => (request.json.params!['message'] as { messageId: string }).messageId,
    )
    expect(new Set(ids).size).toBe(3)
    expect(sends.every((request) => request.headers.authorization === 'Bearer canary-9')).toBe(true)
    expect(agent.seen.some((request) => request.text.includes('canary'))).toBe(false)
    expect(agent.seen.every((request) => request.headers['a2a-version'] === '1.0')).toBe(true)
  })
})

it('without streaming declared, only SendMessage and GetTask are seen', async () => {
  const { agent, peer } = await openAgent(false)
  const handle = handleOf(await send(peer, 'report'))
  await reduceNews(peer.upstream.work!.follow(handle, undefined, NEVER))
  const methods = new Set(agent.seen.map((request) => request.json.method))
  methods.delete(undefined)
  expect(methods).toEqual(new Set(['SendMessage', 'GetTask']))
})
