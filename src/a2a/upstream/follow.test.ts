import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { afterAll, describe, expect, it } from 'vitest'
import { CLOCK, NEVER, reduceNews } from '../../../test/a2a/calls.ts'
import {
  openSse,
  type RawRequest,
  replyError,
  replyResult,
  sendEvent,
  type Script,
  until,
} from '../../../test/a2a/raw-peer.ts'
import { openScriptedAgent, type ScriptedAgent, taskOf } from '../../../test/a2a/scripted-agent.ts'
import { openConnections } from '../bindings/http.ts'
import { sealHandle } from './handle.ts'
import { createA2aPeer } from './peer.ts'
import type { FollowOptions } from './watch.ts'

const connections = openConnections()
afterAll(() => connections.close())

const handle = sealHandle('agent', { taskId: 'T1', contextId: 'X1' })
const quick: Partial<FollowOptions> = { pollMinMs: 10, pollMaxMs: 50, silenceMs: 150, reachMs: 800 }

function watch(agent: ScriptedAgent, follow: Partial<FollowOptions> = {}) {
  const notes: string[] = []
  const peer = createA2aPeer(
    { connections, clock: CLOCK, note: (_peer, _task, what) => notes.push(what) },
    {
      name: 'agent',
      card: { url: agent.cardUrl },
      trusted: false,
      upstream: { follow: { ...quick, ...follow } },
    },
  )
  return { notes, news: (signal = NEVER) => peer.upstream.work!.follow(handle, undefined, signal) }
}

/** An agent whose task completes once it has been read `reads` times. */
function completing(reads: number, onSubscribe: Script): Script {
  let count = 0
  return (request, response) => {
    if (request.json.method === 'SubscribeToTask') return onSubscribe(request, response)
    if (request.json.method !== 'GetTask') return replyError(request, response, -32601)
    count += 1
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'all' }] }]
    const task = count >= reads ? taskOf('COMPLETED', { artifacts }) : taskOf('WORKING')
    replyResult(request, response, task)
  }
}

const C73 = JSON.parse(
  readFileSync(
    new URL('../../../test/cases/C73-state-stream-ends-early.json', import.meta.url),
    'utf8',
  ),
) as { readonly given: { readonly streams: Readonly<Record<string, readonly unknown[]>> } }
const { streams } = C73.given

/** Plays one stream of the case: its events, then its marked end. */
function play(name: string): Script {
  const items = streams[name]!
  return (request, response) => {
    openSse(response)
    for (const item of items) playItem(item, request, response)
  }
}

function playItem(item: unknown, request: RawRequest, response: ServerResponse): void {
  if (item === '…working…') {
    sendEvent(request, response, { task: taskOf('SUBMITTED') })
    const statusUpdate = { taskId: 'T1', contextId: 'X1', status: { state: 'TASK_STATE_WORKING' } }
    sendEvent(request, response, { statusUpdate })
  } else if (item === '<clean close>') response.end()
  else if (item === '<socket reset>') setTimeout(() => response.socket?.resetAndDestroy(), 20)
  else if (item === '<JSON-RPC error event -32603>') {
    const error = { code: -32603, message: 'boom' }
    response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: request.json.id, error })}\n\n`)
  } else if (typeof item === 'object') sendEvent(request, response, item)
  // `<held open 60 s>` and `<200 headers, no event, 60 s>`: nothing more is done.
}

describe('C73 a stream that ends early', () => {
  it.each(['cut', 'reset'])(
    'C73 %s: no success; read again, completed is seen once',
    async (name) => {
      let reads = 0
      await using agent = await openScriptedAgent(
        { streaming: true },
        completing(3, (request, response) => {
          reads += 1
          return play(name)(request, response)
        }),
      )
      const seen = await reduceNews(watch(agent).news())
      expect(seen.states.filter((state) => state === 'completed')).toEqual(['completed'])
      expect(seen.last).toMatchObject({ state: 'completed' })
      expect(seen.states[0]).toBe('working')
      expect(seen.texts).toEqual({ a: 'all' })
      expect(reads).toBeGreaterThan(0)
      expect(agent.count('CancelTask')).toBe(0)
    },
  )

  it('C73 wait: paused for an answer, not truncated', async () => {
    const message = { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text: 'which?' }] }
    await using agent = await openScriptedAgent({ streaming: true }, (request, response) => {
      if (request.json.method === 'SubscribeToTask') return play('wait')(request, response)
      const status = { state: 'TASK_STATE_INPUT_REQUIRED', message }
      replyResult(request, response, { ...taskOf('WORKING'), status })
    })
    const seen = await reduceNews(watch(agent).news())
    expect(seen.last).toMatchObject({ state: 'input_required', questions: [{ text: 'which?' }] })
    expect(seen.states.filter((state) => state === 'input_required')).toHaveLength(1)
    expect(agent.count('SubscribeToTask')).toBe(1)
  })

  it('C73 open: over at the terminal event, the held stream is not waited for', async () => {
    await using agent = await openScriptedAgent({ streaming: true }, completing(1, play('open')))
    const began = Date.now()
    const seen = await reduceNews(watch(agent, { silenceMs: 30_000 }).news())
    expect(seen.last).toMatchObject({ state: 'completed' })
    expect(seen.texts).toEqual({ a: 'all' })
    expect(Date.now() - began).toBeLessThan(5000)
  })

  it('C73 silent: a bounded wait, then the task is read', async () => {
    await using agent = await openScriptedAgent({ streaming: true }, completing(3, play('silent')))
    const seen = await reduceNews(watch(agent).news())
    expect(seen.last).toMatchObject({ state: 'completed' })
    expect(agent.count('SubscribeToTask')).toBe(1)
  })

  it('C73 err: noted, and the task is looked up before anything is said of it', async () => {
    await using agent = await openScriptedAgent({ streaming: true }, completing(2, play('err')))
    const following = watch(agent)
    const seen = await reduceNews(following.news())
    expect(seen.states).not.toContain('failed')
    expect(seen.last).toMatchObject({ state: 'completed' })
    expect(following.notes.join()).toContain('boom')
  })
})

describe('an agent that does not know what became of its task', () => {
  it.each([false, true])('is believed, and following rests (streaming: %s)', async (streaming) => {
    await using agent = await openScriptedAgent({ streaming }, (request, response) => {
      if (request.json.method === 'GetTask') {
        return replyResult(request, response, taskOf('UNSPECIFIED'))
      }
      openSse(response)
      sendEvent(request, response, { task: taskOf('UNSPECIFIED') })
    })
    const following = watch(agent)
    const seen = await reduceNews(following.news())
    expect(seen.news).toHaveLength(1)
    expect(seen.last).toMatchObject({ state: 'unknown', because: 'peer_unclear', handle })
    expect(following.notes).toEqual([])
  })
})

describe('a stream beside the task', () => {
  it('one that falls silent after it began and missed the end is given up', async () => {
    await using agent = await openScriptedAgent(
      { streaming: true },
      completing(1, (request, response) => {
        openSse(response)
        sendEvent(request, response, { task: taskOf('WORKING') })
      }),
    )
    const seen = await reduceNews(watch(agent).news())
    expect(seen.states).toEqual(['working', 'completed'])
  })

  it('a quiet but truthful one is kept, and its later events count once', async () => {
    let gets = 0
    const artifact = { artifactId: 'a', parts: [{ text: 'x' }] }
    await using agent = await openScriptedAgent({ streaming: true }, async (request, response) => {
      if (request.json.method === 'GetTask') {
        gets += 1
        const done = gets > 2
        const task = done ? taskOf('COMPLETED', { artifacts: [artifact] }) : taskOf('WORKING')
        return replyResult(request, response, task)
      }
      openSse(response)
      sendEvent(request, response, { task: taskOf('WORKING') })
      await until(() => gets === 2)
      const chunk = { taskId: 'T1', contextId: 'X1', artifact, append: false, lastChunk: true }
      sendEvent(request, response, { artifactUpdate: chunk })
      const status = { state: 'TASK_STATE_COMPLETED' }
      sendEvent(request, response, { statusUpdate: { taskId: 'T1', contextId: 'X1', status } })
    })
    const seen = await reduceNews(watch(agent, { silenceMs: 50 }).news())
    expect(seen.states).toEqual(['working', 'completed'])
    expect(seen.texts).toEqual({ a: 'x' })
    expect(agent.count('SubscribeToTask')).toBe(1)
  })

  it('events of another task on the stream are nobody’s', async () => {
    await using agent = await openScriptedAgent(
      { streaming: true },
      completing(2, (request, response) => {
        openSse(response)
        sendEvent(request, response, { task: taskOf('WORKING') })
        const status = { state: 'TASK_STATE_FAILED' }
        sendEvent(request, response, { statusUpdate: { taskId: 'T2', contextId: 'X', status } })
        const artifact = { artifactId: 'evil', parts: [{ text: 'x' }] }
        sendEvent(request, response, { artifactUpdate: { taskId: 'T2', contextId: 'X', artifact } })
      }),
    )
    const seen = await reduceNews(watch(agent).news())
    expect(new Set(seen.states)).toEqual(new Set(['working', 'completed']))
    expect(Object.keys(seen.texts)).toEqual(['a'])
  })

  it('one that missed something is opened again: late events on a snapshot would double', async () => {
    const shown = { artifacts: [{ artifactId: 'a', parts: [{ text: 'x' }] }] }
    let opened = 0
    await using agent = await openScriptedAgent({ streaming: true }, (request, response) => {
      if (request.json.method === 'GetTask') {
        return replyResult(request, response, taskOf('WORKING', shown))
      }
      openSse(response)
      opened += 1
      if (opened === 1) return sendEvent(request, response, { task: taskOf('WORKING') })
      sendEvent(request, response, { task: taskOf('COMPLETED', shown) })
    })
    const seen = await reduceNews(watch(agent).news())
    expect(seen.states).toEqual(['working', 'working', 'completed'])
    expect(seen.texts).toEqual({ a: 'x' })
    expect(opened).toBe(2)
  })

  it('a stream refused although declared is no obstacle', async () => {
    await using agent = await openScriptedAgent(
      { streaming: true },
      completing(4, (request, response) => replyError(request, response, -32004)),
    )
    const seen = await reduceNews(watch(agent).news())
    expect(seen.last).toMatchObject({ state: 'completed' })
    expect(agent.count('SubscribeToTask')).toBeLessThanOrEqual(3)
  })

  it('auth-required is shown and followed through', async () => {
    await using agent = await openScriptedAgent(
      { streaming: true },
      completing(1, (request, response) => {
        openSse(response)
        sendEvent(request, response, { task: taskOf('WORKING') })
        for (const state of ['AUTH_REQUIRED', 'WORKING', 'COMPLETED']) {
          const status = { state: `TASK_STATE_${state}` }
          sendEvent(request, response, { statusUpdate: { taskId: 'T1', contextId: 'X1', status } })
        }
      }),
    )
    const seen = await reduceNews(watch(agent).news())
    expect(seen.states).toEqual(['working', 'auth_required', 'working', 'completed'])
  })
})

it('an agent that goes away and comes back is streamed from again', async () => {
  const begun = Promise.withResolvers<void>()
  const before = await openScriptedAgent({ streaming: true }, (request, response) => {
    if (request.json.method !== 'SubscribeToTask') return replyError(request, response, -32601)
    openSse(response)
    sendEvent(request, response, { task: taskOf('WORKING') })
  })
  const following = watch(before, { reachMs: 20_000 })
  const states: string[] = []
  const done = (async () => {
    for await (const news of following.news()) {
      if (news.kind === 'artifact') continue
      states.push(news.outcome.state)
      begun.resolve()
    }
  })()
  await begun.promise
  await before[Symbol.asyncDispose]()
  // Several reads fail before it is back.
  await until(() => following.notes.length > 8)
  await using after = await openScriptedAgent(
    { streaming: true },
    completing(2, (request, response) => {
      openSse(response)
      sendEvent(request, response, { task: taskOf('WORKING', { metadata: { again: true } }) })
      const status = { state: 'TASK_STATE_COMPLETED' }
      sendEvent(request, response, { statusUpdate: { taskId: 'T1', contextId: 'X1', status } })
    }),
    Number(new URL(before.origin).port),
  )
  await done
  expect(states.at(-1)).toBe('completed')
  expect(after.count('SubscribeToTask')).toBe(1)
  expect(before.count('CancelTask') + after.count('CancelTask')).toBe(0)
})

describe('polling', () => {
  it('an unchanged task is not told twice', async () => {
    await using agent = await openScriptedAgent(
      {},
      completing(6, () => undefined),
    )
    const seen = await reduceNews(watch(agent).news())
    expect(seen.states).toEqual(['working', 'completed'])
    expect(agent.count('GetTask')).toBe(6)
  })

  it('an agent out of reach for a while is asked again', async () => {
    let count = 0
    await using agent = await openScriptedAgent({}, (request, response) => {
      count += 1
      if (count < 4) return void response.destroy()
      replyResult(request, response, taskOf('COMPLETED'))
    })
    const following = watch(agent)
    const seen = await reduceNews(following.news())
    expect(seen.states).toEqual(['completed'])
    expect(following.notes.length).toBe(3)
  })

  it('one that stays out of reach ends the following, saying nothing of the task', async () => {
    await using agent = await openScriptedAgent({}, (_request, response) => void response.destroy())
    const seen = await reduceNews(watch(agent, { reachMs: 200 }).news())
    expect(seen.news).toEqual([])
    expect(agent.count('CancelTask')).toBe(0)
  })

  it('a task the agent no longer knows is unknown, not failed', async () => {
    await using agent = await openScriptedAgent({}, (request, response) =>
      replyError(request, response, -32001),
    )
    const seen = await reduceNews(watch(agent).news())
    expect(seen.last).toMatchObject({ state: 'unknown', because: 'peer_unclear' })
  })

  it('an answer about another task, or of 0.3, is not believed', async () => {
    const answers = [
      { ...taskOf('COMPLETED'), id: 'T9' },
      { ...taskOf('COMPLETED'), kind: 'task' },
      { id: 'T1', contextId: 'X1', status: { state: 'completed' } },
      taskOf('COMPLETED'),
    ]
    let count = 0
    await using agent = await openScriptedAgent({}, (request, response) => {
      replyResult(request, response, answers[count])
      count += 1
    })
    const following = watch(agent)
    const seen = await reduceNews(following.news())
    expect(seen.states).toEqual(['completed'])
    expect(following.notes.length).toBe(3)
  })

  it('ends at once when told to, and tells the agent nothing', async () => {
    await using agent = await openScriptedAgent({ streaming: true }, (request, response) => {
      if (request.json.method !== 'SubscribeToTask') return replyError(request, response, -32601)
      openSse(response)
      sendEvent(request, response, { task: taskOf('WORKING') })
    })
    const stop = new AbortController()
    const states: string[] = []
    for await (const news of watch(agent, { silenceMs: 60_000 }).news(stop.signal)) {
      if (news.kind === 'snapshot') states.push(news.outcome.state)
      setImmediate(() => stop.abort())
    }
    expect(states).toEqual(['working'])
    const methods = agent.seen.flatMap(({ json }) => (json.method === undefined ? [] : json.method))
    expect(methods).toEqual(['SubscribeToTask'])
  })

  it('a snapshot that is on record already is not told again after a restart', async () => {
    await using agent = await openScriptedAgent(
      {},
      completing(3, () => undefined),
    )
    const first = watch(agent).news()[Symbol.asyncIterator]()
    const { value } = await first.next()
    await first.return?.()
    const peer = createA2aPeer(
      { connections, clock: CLOCK },
      { name: 'agent', card: { url: agent.cardUrl }, trusted: false, upstream: { follow: quick } },
    )
    const rest = await reduceNews(peer.upstream.work!.follow(handle, value?.cursor, NEVER))
    expect(rest.states).toEqual(['completed'])
  })
})
