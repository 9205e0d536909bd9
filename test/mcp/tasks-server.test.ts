/** The Tasks extension as a server: the real core and store behind the real door, over HTTP. */
import { expect, onTestFinished, test } from 'vitest'
import type { Exchange, Upstream } from '../../src/core/ports/upstream.ts'
import type { Outcome } from '../../src/core/words/outcome.ts'
import { createScriptedHouse } from '../../src/mcp/downstream/testing/scripted-house.ts'
import {
  dig,
  eventsOf,
  modernMeta,
  openTestDoor,
  postModern,
  until,
} from '../../src/mcp/downstream/testing/test-door.ts'
import { mcpNative } from '../../src/mcp/wire/native.ts'
import { deferred, FACTS, openCoreHouse } from '../../src/testkit/core-house.fixture.ts'

const TASKS = 'io.modelcontextprotocol/tasks'
const DECLARED = { extensions: { [TASKS]: {} }, elicitation: {} }

function result(value: unknown, toolError = false): Outcome {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  return { state: 'completed', native: mcpNative(bytes, '2026-07-28'), toolError }
}

async function openDoor(run: (exchange: Exchange) => Promise<Outcome>, taskAfterMs = 20) {
  const call: Upstream['call'] = async (_call, exchange, dispatched) => {
    dispatched(FACTS)
    return run(exchange)
  }
  const core = await openCoreHouse({
    call,
    over: () => ({ upstreamOf: () => ({ call }) }),
  })
  const house = createScriptedHouse([{ kind: 'tool', exposed: 'slow' }])
  const { dispatch, delegate, begin, resume: desk, store } = core
  const door = await openTestDoor(
    { ...house, dispatch },
    {
      limits: { taskAfterMs },
      delegation: {
        delegate,
        begin,
        desk,
        artifact: async (taskId, artifactId) =>
          (await store.tasks.artifacts(taskId)).find((one) => one.artifactId === artifactId),
        isListed: () => false,
      },
    },
  )
  onTestFinished(() => door.close())
  const post = async (
    method: string,
    params: Readonly<Record<string, unknown>>,
    as?: { readonly principal?: string; readonly capabilities?: object },
  ) => {
    const capabilities = as?.capabilities ?? DECLARED
    const _meta = modernMeta({ 'io.modelcontextprotocol/clientCapabilities': capabilities })
    const taskId = params['taskId']
    return postModern(
      door.url,
      method,
      { _meta, ...params },
      {
        headers: {
          ...(typeof taskId === 'string' ? { 'mcp-name': taskId } : {}),
          ...(as?.principal === undefined ? {} : { 'x-test-principal': as.principal }),
        },
      },
    )
  }
  const get = async (taskId: string) => dig((await post('tasks/get', { taskId })).body, 'result')
  const reach = async (taskId: string, status: string) => {
    let task: unknown
    await until(async () => {
      task = await get(taskId)
      return dig(task, 'status') === status
    })
    return task
  }
  return { post, get, reach, url: door.url, core }
}

async function begun(house: Awaited<ReturnType<typeof openDoor>>): Promise<string> {
  const { body } = await house.post('tools/call', { name: 'slow', arguments: {} })
  expect(dig(body, 'result')).toMatchObject({ resultType: 'task', status: 'working' })
  return String(dig(body, 'result', 'taskId'))
}

test('a call that lasts is answered as a task that can be read at once', async () => {
  const going = deferred()
  const house = await openDoor(async () => (await going.promise, result({ content: [], n: 1 })))
  const { body } = await house.post('tools/call', { name: 'slow', arguments: {} })
  const task = dig(body, 'result')
  expect(task).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 604_800_000 })
  expect(task).toMatchObject({ pollIntervalMs: 1_000, createdAt: expect.stringMatching(/Z$/u) })
  expect(Object.keys(task as object)).not.toContain('requestState')
  const taskId = String(dig(task, 'taskId'))
  expect(await house.get(taskId)).toMatchObject({
    resultType: 'complete',
    taskId,
    status: 'working',
  })
  going.resolve()
  const done = await house.reach(taskId, 'completed')
  expect(dig(done, 'result')).toEqual({ content: [], n: 1 })
})

test('a call that is quick is answered as it is', async () => {
  const house = await openDoor(async () => result({ content: [], n: 1 }), 60_000)
  const quick = await house.post('tools/call', { name: 'slow', arguments: {} })
  expect(dig(quick.body, 'result')).toMatchObject({ resultType: 'complete', n: 1 })
})

test('who did not declare tasks is never given one, and may not ask for one', async () => {
  const going = deferred()
  let running = false
  const run = async () => {
    running = true
    await going.promise
    return result({ content: [] })
  }
  const house = await openDoor(run, 1)
  const plain = house.post('tools/call', { name: 'slow', arguments: {} }, { capabilities: {} })
  await until(() => running)
  going.resolve()
  expect(dig((await plain).body, 'result', 'resultType')).toBe('complete')
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const params = { taskId: 'x', inputResponses: {} }
    const { body, status } = await house.post(method, params, { capabilities: {} })
    expect(status).toBe(400)
    expect(dig(body, 'error')).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    })
  }
})

test('a task of somebody else and one that never was look alike', async () => {
  const house = await openDoor(async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return { state: 'unknown', because: 'cancel_unconfirmed', detail: 'told to stop' }
  })
  const taskId = await begun(house)
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const foreign = await house.post(
      method,
      { taskId, inputResponses: {} },
      { principal: 'mallory' },
    )
    const absent = await house.post(method, { taskId: 'task_none', inputResponses: {} })
    expect(dig(foreign.body, 'error', 'code')).toBe(-32602)
    expect(dig(absent.body, 'error', 'code')).toBe(-32602)
    const words = (body: unknown, id: string) =>
      String(dig(body, 'error', 'message')).replace(id, '')
    expect(words(foreign.body, taskId)).toBe(words(absent.body, 'task_none'))
  }
  const canceled = await house.post('tasks/cancel', { taskId })
  expect(dig(canceled.body, 'result')).toMatchObject({ resultType: 'complete' })
  const task = await house.reach(taskId, 'cancelled')
  expect(dig(task, 'statusMessage')).toContain('not confirmed')
  expect(dig((await house.post('tasks/cancel', { taskId })).body, 'result')).toBeDefined()
})

test('what it asks is answered bit by bit; what it does not ask is passed over; nonsense is refused', async () => {
  const kept = deferred()
  const ask = (exchange: Exchange, key: string) =>
    exchange.ask!(
      {
        kind: 'form',
        key,
        text: key,
        native: mcpNative(
          new TextEncoder().encode(
            JSON.stringify({
              method: 'elicitation/create',
              params: { message: key, requestedSchema: { type: 'object', properties: {} } },
            }),
          ),
          '2025-11-25',
        ),
      },
      exchange.signal,
    )
  const house = await openDoor(async (exchange) => {
    await kept.promise
    const answers = await Promise.all([ask(exchange, 'a'), ask(exchange, 'b')])
    return result({ content: [], said: answers.map(({ data }) => data) })
  })
  const taskId = await begun(house)
  kept.resolve()
  await until(
    async () => Object.keys(dig(await house.get(taskId), 'inputRequests') ?? {}).length === 2,
  )
  const asking = await house.reach(taskId, 'input_required')
  expect(dig(asking, 'inputRequests', 'q1')).toMatchObject({
    method: 'elicitation/create',
    params: { message: 'desk asks: a' },
  })
  const update = (inputResponses: object) => house.post('tasks/update', { taskId, inputResponses })
  const odd = await update({ q1: { action: 'perhaps' } })
  expect(dig(odd.body, 'error', 'code')).toBe(-32602)
  const partly = await update({
    q2: { action: 'accept', content: { x: 2 } },
    q9: { action: 'accept' },
  })
  expect(dig(partly.body, 'result')).toMatchObject({ resultType: 'complete' })
  await until(
    async () => Object.keys(dig(await house.get(taskId), 'inputRequests') ?? {}).length === 1,
  )
  expect(dig(await house.get(taskId), 'status')).toBe('input_required')
  await update({ q2: { action: 'decline' } })
  await update({ q1: { action: 'accept', content: { x: 1 } } })
  const done = await house.reach(taskId, 'completed')
  expect(dig(done, 'result', 'said')).toEqual([{ x: 1 }, { x: 2 }])
})

test('a tool that reports an error has completed; only a fault of the protocol is failed', async () => {
  const outcomes: Outcome[] = [
    result({ content: [], isError: true }, true),
    {
      state: 'failed',
      origin: 'peer',
      ran: 'yes',
      code: 'peer_error',
      detail: 'desk answered error -32603: boom',
      native: mcpNative(new TextEncoder().encode('{"code":-32603,"message":"boom"}'), '2026-07-28'),
    },
  ]
  const going = [deferred(), deferred()]
  let count = 0
  const house = await openDoor(async () => {
    const index = count++
    await going[index]!.promise
    return outcomes[index]!
  })
  const first = await begun(house)
  const second = await begun(house)
  for (const { resolve } of going) resolve()
  expect(dig(await house.reach(first, 'completed'), 'result')).toMatchObject({ isError: true })
  expect(dig(await house.reach(second, 'failed'), 'error')).toEqual({
    code: -32603,
    message: 'boom',
  })
})

test('news of tasks come on a subscription, whole, to those who may know them', async () => {
  const going = deferred()
  const house = await openDoor(async () => (await going.promise, result({ content: [], n: 3 })))
  const taskId = await begun(house)
  const leave = new AbortController()
  const response = await fetch(house.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'sub',
      method: 'subscriptions/listen',
      params: {
        _meta: modernMeta({ 'io.modelcontextprotocol/clientCapabilities': DECLARED }),
        notifications: { taskIds: [taskId, 'task_of_nobody'] },
      },
    }),
    signal: leave.signal,
  })
  let text = ''
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body!) text += decoder.decode(chunk, { stream: true })
  })().catch(() => undefined)
  const news = () => eventsOf(text).map((data): unknown => JSON.parse(data))
  await until(() => news().length >= 2)
  expect(news()[0]).toMatchObject({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { taskIds: [taskId] } },
  })
  expect(news()[1]).toMatchObject({
    method: 'notifications/tasks',
    params: { taskId, status: 'working' },
  })
  going.resolve()
  await until(() => dig(news().at(-1), 'params', 'status') === 'completed')
  expect(dig(news().at(-1), 'params')).toMatchObject({
    taskId,
    result: { content: [], n: 3 },
    _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' },
  })
  leave.abort()
  await reading
})

test('a caller that hangs up before its call is a task stops it; afterwards it does not', async () => {
  const ends: string[] = []
  const house = await openDoor(async (exchange) => {
    const timer = deferred<string>()
    exchange.signal.addEventListener('abort', () => timer.resolve('stopped'))
    void going.promise.then(() => timer.resolve('went on'))
    ends.push(await timer.promise)
    return result({ content: [] })
  }, 60)
  const going = deferred()
  const early = new AbortController()
  const params = {
    _meta: modernMeta({ 'io.modelcontextprotocol/clientCapabilities': DECLARED }),
    name: 'slow',
    arguments: {},
  }
  const leaving = postModern(house.url, 'tools/call', params, { signal: early.signal }).catch(
    () => undefined,
  )
  early.abort()
  await leaving
  const taskId = await begun(house)
  going.resolve()
  await house.reach(taskId, 'completed')
  expect(ends.at(-1)).toBe('went on')
})
