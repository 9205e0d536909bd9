import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import {
  answerOf,
  CLOCK,
  delegation,
  exchangeOf,
  NEVER,
  reduceNews,
} from '../../../test/a2a/calls.ts'
import {
  openSse,
  replyError,
  replyJson,
  replyResult,
  type Script,
  sendEvent,
  until,
} from '../../../test/a2a/raw-peer.ts'
import {
  type AgentShape,
  openScriptedAgent,
  paramsOf,
  type ScriptedAgent,
  taskOf,
} from '../../../test/a2a/scripted-agent.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import { openConnections } from '../bindings/http.ts'
import { sealHandle } from './handle.ts'
import { messageIdOf } from './message.ts'
import { createA2aPeer } from './peer.ts'

const connections = openConnections()
afterAll(() => connections.close())

function peerOf(agent: ScriptedAgent, settleMs = 500) {
  return createA2aPeer(
    { connections, clock: CLOCK },
    {
      name: 'agent',
      card: { url: agent.cardUrl, headers: { 'x-key': 'canary-7' } },
      trusted: false,
      upstream: {
        settleMs,
        follow: { pollMinMs: 10, pollMaxMs: 50, silenceMs: 1000 },
        find: { pausesMs: [20] },
      },
    },
  )
}

async function sendTo(
  shape: AgentShape,
  script: Script,
  json = '{"role":"ROLE_USER","parts":[{"text":"go"}]}',
): Promise<{ outcome: Outcome; facts: number; sends: number }> {
  await using agent = await openScriptedAgent(shape, script)
  const exchange = exchangeOf()
  const peer = peerOf(agent)
  const call = await delegation(peer, { json }, { deadlineAt: Date.now() + 1500 })
  const outcome = await peer.upstream.call(call, exchange, exchange.dispatched)
  const sends = agent.count('SendMessage') + agent.count('SendStreamingMessage')
  return { outcome, facts: exchange.facts.length, sends }
}

const C81 = JSON.parse(
  readFileSync(
    new URL('../../../test/cases/C81-idempotency-same-messageid.json', import.meta.url),
    'utf8',
  ),
) as { readonly given: { readonly request: { readonly params: { readonly message: object } } } }

describe.each([
  ['SendMessage', false],
  ['SendStreamingMessage', true],
])('%s', (_method, streaming) => {
  it('answered with a task of which the agent does not know: unknown, and it can be asked again', async () => {
    const { outcome, sends } = await sendTo({ streaming }, (request, response) => {
      if (!streaming) return replyResult(request, response, { task: taskOf('UNSPECIFIED') })
      openSse(response)
      sendEvent(request, response, { task: taskOf('UNSPECIFIED') })
    })
    expect(outcome).toMatchObject({ state: 'unknown', because: 'peer_unclear' })
    expect(outcome).toHaveProperty('handle.taskId', 'T1')
    expect(sends).toBe(1)
  })

  it('C81 the answer is lost: unknown, sent once, found by its message id', async () => {
    let held: object | undefined
    await using agent = await openScriptedAgent({ streaming }, (request, response) => {
      const { method, params } = request.json
      if (method === 'ListTasks') {
        const tasks = [
          taskOf('WORKING', { id: 'T0', history: [{ ...C81.given.request.params.message }] }),
          taskOf('WORKING', { history: [held] }),
        ]
        return replyResult(request, response, { tasks, nextPageToken: '' })
      }
      if (method === 'GetTask') return replyResult(request, response, taskOf('WORKING'))
      held = params?.['message'] as object
      response.destroy()
    })
    const peer = peerOf(agent)
    const json = JSON.stringify(C81.given.request.params.message)
    const call = await delegation(peer, { json })
    const exchange = exchangeOf()
    const outcome = await peer.upstream.call(call, exchange, exchange.dispatched)
    expect(outcome).toMatchObject({ state: 'unknown', because: 'sent_no_answer' })
    expect(exchange.facts).toHaveLength(1)
    // The id is ours, not the caller's: another principal's equal message is another one.
    expect(held).toMatchObject({ messageId: messageIdOf(call.callId) })
    const found = await peer.upstream.work!.find(call.callId, call.openedAt, NEVER)
    if (typeof found === 'string') throw new Error(found)
    expect(found.handle.taskId).toBe('T1')
    expect(agent.count('SendMessage') + agent.count('SendStreamingMessage')).toBe(1)
    expect(agent.count('CancelTask')).toBe(0)
  })

  it('time runs out: unknown, and nothing is canceled', async () => {
    const { outcome, sends } = await sendTo({ streaming }, () => undefined)
    expect(outcome).toMatchObject({ state: 'unknown', because: 'deadline' })
    expect(sends).toBe(1)
  })

  it.each([
    ['a code that says it was not taken', -32602, { state: 'failed', ran: 'no' }],
    ['a method it does not have', -32601, { state: 'failed', ran: 'no', code: 'unsupported' }],
    ['a fault of its own', -32603, { state: 'failed', origin: 'peer', ran: 'yes' }],
    ['a content type it does not take', -32005, { state: 'failed', ran: 'no' }],
  ])('an error with %s', async (_name, code, expected) => {
    const { outcome, sends } = await sendTo({ streaming }, (request, response) =>
      replyError(request, response, code),
    )
    expect(outcome).toMatchObject(expected)
    expect(sends).toBe(1)
  })

  it.each([
    [401, { state: 'failed', ran: 'no', code: 'credentials_missing' }],
    [413, { state: 'failed', ran: 'no', origin: 'transport' }],
    [302, { state: 'failed', ran: 'no', origin: 'transport' }],
    [502, { state: 'unknown', because: 'peer_unclear' }],
  ])('HTTP %d', async (status, expected) => {
    const { outcome } = await sendTo({ streaming }, (_request, response) =>
      replyJson(response, status, '<html>'),
    )
    expect(outcome).toMatchObject(expected)
  })

  it('an answer that is not A2A 1.0 is unknown: something may have run', async () => {
    const script: Script = (request, response) => {
      const result = { kind: 'task', id: 'T1', status: { state: 'completed' } }
      if (!streaming) return replyResult(request, response, result)
      openSse(response)
      sendEvent(request, response, result)
    }
    const { outcome } = await sendTo({ streaming }, script)
    expect(outcome).toMatchObject({ state: 'unknown', because: 'peer_unclear' })
    expect(outcome.state === 'unknown' && outcome.detail).toContain('0.3 form')
  })

  it('a message that cannot be sent is not sent', async () => {
    for (const json of [
      '{"parts":[{"kind":"text"}]}',
      '[]',
      '{"taskId":"T9","parts":[{"text":"x"}]}',
    ]) {
      const { outcome, facts, sends } = await sendTo({ streaming }, () => undefined, json)
      expect(outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'bad_arguments' })
      expect([facts, sends]).toEqual([0, 0])
    }
  })
})

describe('what is sent', () => {
  it('parts travel as written, the tenant is echoed, ids are ours, no header is in it', async () => {
    await using agent = await openScriptedAgent({ tenant: 'blue/1' }, (request, response) =>
      replyResult(request, response, { task: taskOf('COMPLETED') }),
    )
    const peer = peerOf(agent)
    const json =
      '{"role":"ROLE_AGENT","message_id":"theirs","parts":[{"data":{"n":12345678901234567890}},{"text":"é"}]}'
    const call = await delegation(peer, { json }, { contextId: 'X0' })
    const exchange = exchangeOf()
    await peer.upstream.call(call, exchange, exchange.dispatched)
    const sent = agent.seen.find((request) => request.json.method === 'SendMessage')!
    expect(sent.text).toContain('"parts":[{"data":{"n":12345678901234567890}},{"text":"é"}]')
    expect(sent.json.params).toMatchObject({
      tenant: 'blue/1',
      configuration: { returnImmediately: true },
      message: { messageId: messageIdOf(call.callId), role: 'ROLE_USER', contextId: 'X0' },
    })
    expect(sent.text).not.toContain('theirs')
    expect(sent.text).not.toContain('canary-7')
    expect(sent.headers['x-key']).toBe('canary-7')
    expect(exchange.facts).toMatchObject([
      { wireId: sent.json.id, revision: '1.0', ours: { method: 'SendMessage' } },
    ])
  })

  it('an allowed interface at another origin gets the work and no credentials', async () => {
    await using other = await openScriptedAgent({}, (request, response) =>
      replyResult(request, response, { task: taskOf('COMPLETED') }),
    )
    const interfaceUrl = `${other.origin}/a2a`
    await using agent = await openScriptedAgent({ interfaceUrl }, () => undefined)
    const peer = createA2aPeer(
      { connections, clock: CLOCK },
      {
        name: 'agent',
        card: {
          url: agent.cardUrl,
          headers: { 'x-key': 'canary-7' },
          allowedOrigins: [other.origin],
        },
        trusted: false,
      },
    )
    const exchange = exchangeOf()
    const call = await delegation(peer, 'go')
    const outcome = await peer.upstream.call(call, exchange, exchange.dispatched)
    expect(outcome.state).toBe('completed')
    expect(agent.seen.map((request) => request.headers['x-key'])).toEqual(['canary-7'])
    expect(other.seen.map((request) => request.headers['x-key'])).toEqual([undefined])
    expect(JSON.stringify(other.seen)).not.toContain('canary-7')
  })

  it('a card that changed after the gate looked: nothing is sent', async () => {
    await using agent = await openScriptedAgent({}, () => undefined)
    const peer = peerOf(agent)
    const call = await delegation(peer, 'go')
    const exchange = exchangeOf()
    const other = { ...call, route: { ...call.route, fingerprint: 'another' } }
    const outcome = await peer.upstream.call(other, exchange, exchange.dispatched)
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'gate_changed' })
    expect(agent.count('SendMessage')).toBe(0)
  })

  it('canceled or late before it is sent: nothing is sent', async () => {
    await using agent = await openScriptedAgent({}, () => undefined)
    const peer = peerOf(agent)
    const late = await delegation(peer, 'go', { deadlineAt: Date.now() - 1 })
    const exchange = exchangeOf()
    expect(await peer.upstream.call(late, exchange, exchange.dispatched)).toMatchObject({
      code: 'deadline_before_send',
      ran: 'no',
    })
    expect(agent.count('SendMessage')).toBe(0)
  })
})

describe('a caller that leaves', () => {
  it('an open stream is kept for the follower, who misses nothing of it', async () => {
    const go = Promise.withResolvers<void>()
    await using agent = await openScriptedAgent({ streaming: true }, async (request, response) => {
      if (request.json.method === 'GetTask') {
        return replyResult(request, response, taskOf('COMPLETED'))
      }
      openSse(response)
      sendEvent(request, response, { task: taskOf('SUBMITTED') })
      await go.promise
      const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'step 1' }] }
      for (const status of [
        { state: 'TASK_STATE_WORKING', message },
        { state: 'TASK_STATE_COMPLETED' },
      ]) {
        sendEvent(request, response, { statusUpdate: { taskId: 'T1', contextId: 'X1', status } })
      }
    })
    const peer = peerOf(agent)
    const exchange = exchangeOf()
    const outcome = await peer.upstream.call(
      await delegation(peer, 'go'),
      exchange,
      exchange.dispatched,
    )
    exchange.stop('caller_gone')
    go.resolve()
    const handle = 'handle' in outcome ? outcome.handle! : sealHandle('agent', { taskId: '' })
    const seen = await reduceNews(peer.upstream.work!.follow(handle, undefined, NEVER))
    expect(seen.news.map((news) => ('text' in news ? news.text : undefined))).toContain('step 1')
    expect(seen.last).toMatchObject({ state: 'completed' })
    expect(agent.count('SubscribeToTask')).toBe(0)
    expect(agent.count('CancelTask')).toBe(0)
  })

  it('in mid-send: unknown, and the agent is told nothing', async () => {
    await using agent = await openScriptedAgent({}, () => undefined)
    const peer = peerOf(agent)
    const exchange = exchangeOf()
    const call = await delegation(peer, 'go')
    const pending = peer.upstream.call(call, exchange, exchange.dispatched)
    await until(() => agent.count('SendMessage') === 1)
    exchange.stop('caller_canceled')
    expect(await pending).toMatchObject({ state: 'unknown', because: 'cancel_unconfirmed' })
    expect(agent.count('CancelTask')).toBe(0)
  })
})

describe('answers', () => {
  const handle = sealHandle('agent', { taskId: 'T1', contextId: 'X1', tenant: 'blue' })
  const question = { messageId: 'q1', role: 'ROLE_AGENT', parts: [{ text: 'which?' }] }
  const waiting = {
    ...taskOf('INPUT_REQUIRED'),
    status: { state: 'TASK_STATE_INPUT_REQUIRED', message: question },
  }
  const keyOf = async (agent: ScriptedAgent): Promise<string> => {
    const news = await peerOf(agent).upstream.work!.inspect(handle, NEVER)
    return news.kind === 'snapshot' && 'questions' in news.outcome
      ? news.outcome.questions[0]!.key
      : ''
  }
  const answer = async (agent: ScriptedAgent, key: string, settleMs?: number): Promise<Outcome> => {
    const peer = peerOf(agent, settleMs)
    const exchange = exchangeOf()
    const call = await answerOf(peer, handle, [{ key, action: 'accept', text: 'red', data: [1] }])
    return peer.upstream.work!.answer(call, exchange, exchange.dispatched)
  }

  it('the reply comes first, then the task is read; what only the reply brought is kept', async () => {
    await using agent = await openScriptedAgent({}, (request, response) => {
      const artifacts = [{ artifactId: 'early', parts: [{ text: 'e' }] }]
      if (request.json.method === 'SendMessage') {
        return replyResult(request, response, { task: taskOf('WORKING', { artifacts }) })
      }
      const late = [{ artifactId: 'late', parts: [{ text: 'l' }] }]
      replyResult(request, response, taskOf('COMPLETED', { artifacts: late }))
    })
    const outcome = await answer(agent, 'q')
    expect(
      outcome.state === 'completed' && outcome.artifacts?.map((one) => one.artifactId),
    ).toEqual(['late', 'early'])
    expect(paramsOf(agent, 'SendMessage')).toMatchObject([
      {
        tenant: 'blue',
        message: {
          taskId: 'T1',
          contextId: 'X1',
          parts: [{ text: 'red' }, { data: [1], mediaType: 'application/json' }],
        },
      },
    ])
    expect(paramsOf(agent, 'GetTask')).toMatchObject([{ tenant: 'blue', id: 'T1' }])
  })

  it('a task that still shows the answered question is read until it moves', async () => {
    let gets = 0
    await using agent = await openScriptedAgent({}, (request, response) => {
      if (request.json.method === 'SendMessage') {
        return replyResult(request, response, { task: waiting })
      }
      gets += 1
      replyResult(request, response, gets < 4 ? waiting : taskOf('WORKING'))
    })
    const key = await keyOf(agent)
    expect(await answer(agent, key, 5000)).toMatchObject({ state: 'working' })
    expect(agent.count('SendMessage')).toBe(1)
  })

  it('another question is another question', async () => {
    const second = { ...question, messageId: 'q2', parts: [{ text: 'and which size?' }] }
    await using agent = await openScriptedAgent({}, (request, response) => {
      const status = { state: 'TASK_STATE_INPUT_REQUIRED', message: second }
      const task = { ...taskOf('WORKING'), status }
      replyResult(request, response, request.json.method === 'GetTask' ? task : { task })
    })
    const outcome = await answer(agent, 'q-of-before')
    expect(outcome).toMatchObject({ questions: [{ text: 'and which size?' }] })
  })

  it('the answer to an answer is lost: unknown, not sent again', async () => {
    await using agent = await openScriptedAgent({}, (_request, response) => void response.destroy())
    expect(await answer(agent, 'q')).toMatchObject({ state: 'unknown', because: 'sent_no_answer' })
    expect(agent.count('SendMessage')).toBe(1)
  })

  it('a schema in a data part makes the question a form', async () => {
    const data = { schema: { type: 'object', properties: { size: { type: 'string' } } } }
    const message = { ...question, parts: [{ text: 'fill in' }, { data }] }
    await using agent = await openScriptedAgent({}, (request, response) => {
      const status = { state: 'TASK_STATE_INPUT_REQUIRED', message }
      replyResult(request, response, { ...taskOf('WORKING'), status })
    })
    const news = await peerOf(agent).upstream.work!.inspect(handle, NEVER)
    expect(news).toMatchObject({ outcome: { questions: [{ kind: 'form', text: 'fill in' }] } })
  })
})

describe('cancel', () => {
  const handle = sealHandle('agent', { taskId: 'T1' })
  const cancel = async (script: Script) => {
    await using agent = await openScriptedAgent({}, script)
    const report = await peerOf(agent).upstream.work!.cancel(handle, NEVER)
    return { report, cancels: agent.count('CancelTask') }
  }

  it('the agent says it cannot, since the task ended', async () => {
    const { report } = await cancel((request, response) =>
      request.json.method === 'CancelTask'
        ? replyError(request, response, -32002)
        : replyResult(request, response, taskOf('COMPLETED')),
    )
    expect(report).toMatchObject({ confirmed: 'already_ended' })
    expect(report.detail).toContain('completed')
  })

  it('asked and not confirmed stays unconfirmed', async () => {
    const { report, cancels } = await cancel((request, response) =>
      replyResult(request, response, taskOf('WORKING')),
    )
    expect(report).toMatchObject({ confirmed: 'unconfirmed' })
    expect(cancels).toBe(1)
  })

  it('no answer to the cancel: the task tells', async () => {
    const { report, cancels } = await cancel((request, response) =>
      request.json.method === 'CancelTask'
        ? void response.destroy()
        : replyResult(request, response, taskOf('CANCELED')),
    )
    expect(report).toMatchObject({ confirmed: 'stopped' })
    expect(cancels).toBe(1)
  })

  it('nothing can be said when nobody answers', async () => {
    const { report } = await cancel((_request, response) => void response.destroy())
    expect(report).toMatchObject({ confirmed: 'unconfirmed' })
  })
})

describe('find', () => {
  it('an agent without a list cannot tell, and a list in circles ends', async () => {
    await using none = await openScriptedAgent({}, (request, response) =>
      replyError(request, response, -32601),
    )
    expect(await peerOf(none).upstream.work!.find('c', Date.now(), NEVER)).toBe('cannot_tell')
    expect(none.count('ListTasks')).toBe(1)
    await using circle = await openScriptedAgent({}, (request, response) =>
      replyResult(request, response, { tasks: [], nextPageToken: 'again' }),
    )
    expect(await peerOf(circle).upstream.work!.find('c', Date.now(), NEVER)).toBe('cannot_tell')
    expect(circle.count('ListTasks')).toBe(4)
  })

  it('looks from just before the send, page by page', async () => {
    const sentAt = Date.parse('2026-05-01T12:00:00Z')
    await using agent = await openScriptedAgent({}, (request, response) => {
      if (request.json.method === 'GetTask') {
        return replyResult(request, response, taskOf('COMPLETED'))
      }
      const history = [{ messageId: messageIdOf('c'), role: 'ROLE_USER', parts: [{ text: 'x' }] }]
      const isFirst = request.json.params?.['pageToken'] === undefined
      const tasks = isFirst ? [taskOf('WORKING', { id: 'T0' })] : [taskOf('WORKING', { history })]
      replyResult(request, response, { tasks, nextPageToken: isFirst ? 'two' : '' })
    })
    const found = await peerOf(agent).upstream.work!.find('c', sentAt, NEVER)
    expect(found).toMatchObject({ found: { outcome: { state: 'completed' } } })
    expect(paramsOf(agent, 'ListTasks')[0]).toMatchObject({
      statusTimestampAfter: '2026-05-01T11:58:00.000Z',
    })
  })
})
