/** Tasks of 2025-11-25 as a server: the real core and store behind the real door, and the official v1 client before it. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  ProgressNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { expect, onTestFinished, test } from 'vitest'
import type { Exchange, Upstream } from '../../src/core/ports/upstream.ts'
import type { Outcome } from '../../src/core/words/outcome.ts'
import type { Answer } from '../../src/core/words/question.ts'
import { createScriptedHouse } from '../../src/mcp/downstream/testing/scripted-house.ts'
import { openSession } from '../../src/mcp/downstream/testing/session-caller.ts'
import { dig, openTestDoor, postModern, until } from '../../src/mcp/downstream/testing/test-door.ts'
import { mcpNative } from '../../src/mcp/wire/native.ts'
import { encodeJson } from '../../src/mcp/wire/spans.ts'
import { deferred, FACTS, openCoreHouse } from '../../src/testkit/core-house.fixture.ts'

const RELATED = 'io.modelcontextprotocol/related-task'
const SUPPORT = { optional: 'optional', required: 'required', forbidden: 'forbidden' } as const

function result(value: object, toolError = false, revision = '2025-11-25'): Outcome {
  return { state: 'completed', native: mcpNative(encodeJson(value), revision), toolError }
}

async function openDoor(run: (exchange: Exchange) => Promise<Outcome>) {
  const call: Upstream['call'] = async (_call, exchange, dispatched) => {
    dispatched(FACTS)
    return run(exchange)
  }
  const core = await openCoreHouse({ call, over: () => ({ upstreamOf: () => ({ call }) }) })
  const tools = Object.values(SUPPORT).map((taskSupport) => ({
    kind: 'tool' as const,
    exposed: taskSupport,
    definition: { execution: { taskSupport } },
  }))
  const house = createScriptedHouse([...tools, { kind: 'tool', exposed: 'plain' }])
  const { dispatch, delegate, begin, resume: desk, store } = core
  const delegation = {
    delegate,
    begin,
    desk,
    isListed: () => false,
    artifact: async (taskId: string, artifactId: string) =>
      (await store.tasks.artifacts(taskId)).find((one) => one.artifactId === artifactId),
  }
  const limits = { taskPollMs: 20, pageSize: 2 }
  const door = await openTestDoor({ ...house, dispatch }, { limits, delegation })
  onTestFinished(() => door.close())
  return { url: door.url, core }
}

/** A session without an SDK: `call` gives the whole answer. */
async function openCaller(url: string, principal = 'local', revision?: string) {
  const session = await openSession(url, {
    headers: { 'x-test-principal': principal },
    ...(revision === undefined ? {} : { revision }),
  })
  let id = 0
  const call = async (method: string, params: object = {}): Promise<unknown> =>
    (await session.post({ id: ++id, method, params })).body
  const begin = async (name: string, task: unknown = {}): Promise<string> =>
    String(dig(await call('tools/call', { name, arguments: {}, task }), 'result', 'task', 'taskId'))
  const reach = async (taskId: string, status: string): Promise<unknown> => {
    let task: unknown
    await until(async () => {
      task = dig(await call('tasks/get', { taskId }), 'result')
      return dig(task, 'status') === status
    })
    return task
  }
  return { call, begin, reach }
}

async function openClient(url: string, capabilities: object = {}) {
  const client = new Client({ name: 'v1', version: '1' }, { capabilities })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Transport)
  onTestFinished(() => client.close())
  return client
}

function form(message: string) {
  const requestedSchema = { type: 'object', properties: { x: { type: 'string' } } }
  const request = { method: 'elicitation/create', params: { message, requestedSchema } }
  return {
    kind: 'form' as const,
    key: message,
    text: message,
    native: mcpNative(encodeJson(request), '2025-11-25'),
  }
}

test('the v1 client calls a tool that demands it as a task, is asked in the middle, and gets the result', async () => {
  const given: Answer[] = []
  const house = await openDoor(async (exchange) => {
    const native = mcpNative(encodeJson({ progress: 1, total: 2 }), '2025-11-25')
    await exchange.emit({ kind: 'progress', native })
    given.push(await exchange.ask!(form('Which x?'), exchange.signal))
    return result({ content: [{ type: 'text', text: 'done' }], structuredContent: { n: 1 } })
  })
  const client = await openClient(house.url, { elicitation: {} })
  const asked: unknown[] = []
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params)
    return { action: 'accept', content: { x: 'y' }, _meta: { [RELATED]: { taskId: 'theirs' } } }
  })
  const heard: unknown[] = []
  client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => void heard.push(params))
  expect(client.getServerCapabilities()?.tasks).toEqual({
    list: {},
    cancel: {},
    requests: { tools: { call: {} } },
  })
  const { tools } = await client.listTools()
  expect(tools.map(({ name, execution }) => [name, execution?.taskSupport])).toEqual([
    ['optional', 'optional'],
    ['required', 'optional'],
  ])
  const more = await client.listTools({ cursor: (await client.listTools()).nextCursor })
  expect(more.tools.map(({ execution }) => execution?.taskSupport)).toEqual([
    'forbidden',
    undefined,
  ])

  const stream = client.experimental.tasks.callToolStream(
    { name: 'required', arguments: {}, _meta: { progressToken: 'p' } },
    CallToolResultSchema,
    { task: { ttl: 60_000 } },
  )
  const messages = []
  for await (const message of stream) messages.push(message)
  const [created] = messages
  const taskId = String(dig(created, 'task', 'taskId'))
  expect(created).toMatchObject({ type: 'taskCreated', task: { status: 'working', ttl: 60_000 } })
  expect(messages.at(-1)).toEqual({
    type: 'result',
    result: {
      content: [{ type: 'text', text: 'done' }],
      structuredContent: { n: 1 },
      _meta: { [RELATED]: { taskId } },
    },
  })
  expect(asked).toMatchObject([
    { message: 'desk asks: Which x?', _meta: { [RELATED]: { taskId } } },
  ])
  expect(given[0]?.native?.value()).toEqual({ action: 'accept', content: { x: 'y' } })
  await until(() => heard.length === 1)
  expect(heard[0]).toMatchObject({
    progressToken: 'p',
    progress: 1,
    _meta: { [RELATED]: { taskId } },
  })
})

test('a tool that reports an error, a fault of the protocol and a refusal are told apart', async () => {
  const outcomes: Outcome[] = [
    result({ content: [], isError: true }, true),
    {
      state: 'failed',
      origin: 'peer',
      ran: 'yes',
      code: 'peer_error',
      detail: 'desk answered error -32603: boom',
      native: mcpNative(encodeJson({ code: -32603, message: 'boom' }), '2025-11-25'),
    },
  ]
  const house = await openDoor(async () => outcomes.shift()!)
  const caller = await openCaller(house.url)
  const first = await caller.begin('optional')
  await caller.reach(first, 'failed')
  expect(await caller.call('tasks/result', { taskId: first })).toMatchObject({
    result: { content: [], isError: true, _meta: { [RELATED]: { taskId: first } } },
  })
  const second = await caller.begin('optional')
  await caller.reach(second, 'failed')
  expect(dig(await caller.call('tasks/result', { taskId: second }), 'error')).toEqual({
    code: -32603,
    message: 'boom',
  })
  house.core.rules.effect = 'deny'
  const refused = await caller.call('tools/call', { name: 'optional', arguments: {}, task: {} })
  expect(dig(refused, 'error')).toMatchObject({
    code: -31_004,
    data: { 'comity/outcome': { state: 'failed', code: 'denied', ran: 'no' } },
  })
})

test('what supports no tasks is no method as one; other params are the caller’s fault', async () => {
  const house = await openDoor(async () => result({ content: [] }))
  const caller = await openCaller(house.url)
  const call = (name: string, task: unknown) =>
    caller.call('tools/call', { name, arguments: {}, task })
  for (const name of ['forbidden', 'plain'])
    expect(dig(await call(name, {}), 'error', 'code')).toBe(-32601)
  for (const task of [7, [], { ttl: 0 }, { ttl: 'long' }])
    expect(dig(await call('optional', task), 'error', 'code')).toBe(-32602)
  const bounded = await call('optional', { ttl: 1e15 })
  expect(dig(bounded, 'result', 'task', 'ttl')).toBe(604_800_000)
  expect(dig(await call('required', undefined), 'result', 'content')).toEqual([])
})

test('no other revision is offered these tasks, or gets one', async () => {
  const house = await openDoor(async () => result({ content: [] }))
  const opened = await fetch(house.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'o' } },
    }),
  })
  expect(dig(await opened.json(), 'result', 'capabilities')).not.toHaveProperty('tasks')
  const older = await openCaller(house.url, 'local', '2025-06-18')
  const params = { name: 'required', arguments: {}, task: { ttl: 1000 } }
  expect(dig(await older.call('tools/call', params), 'result', 'content')).toEqual([])
  expect(dig(await older.call('tools/list'), 'result', 'tools', 0)).not.toHaveProperty('execution')
  expect(dig(await older.call('tasks/list'), 'error', 'code')).toBe(-32601)
  const modern = await postModern(house.url, 'tools/call', params)
  expect(dig(modern.body, 'result')).toMatchObject({ resultType: 'complete', content: [] })
  const listed = await postModern(house.url, 'tools/list')
  expect(dig(listed.body, 'result', 'tools', 1)).not.toHaveProperty('execution')
  const discovered = await postModern(house.url, 'server/discover')
  expect(dig(discovered.body, 'result', 'capabilities')).not.toHaveProperty('tasks')
})

test('cancel stops it, once; its result says that it was stopped', async () => {
  const house = await openDoor(async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return { state: 'unknown', because: 'cancel_unconfirmed', detail: 'told to stop' }
  })
  const caller = await openCaller(house.url)
  const taskId = await caller.begin('optional')
  const canceled = dig(await caller.call('tasks/cancel', { taskId }), 'result')
  expect(canceled).toMatchObject({ taskId, status: 'cancelled' })
  expect(dig(await caller.call('tasks/cancel', { taskId }), 'error', 'code')).toBe(-32602)
  expect(dig(await caller.call('tasks/result', { taskId }), 'result')).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining(taskId) }],
  })
})

test('tasks are listed in pages, each to its own principal only', async () => {
  const house = await openDoor(async () => result({ content: [] }))
  const [alice, mallory] = [await openCaller(house.url, 'alice'), await openCaller(house.url, 'm')]
  const made: string[] = []
  for (let count = 0; count < 3; count += 1) made.unshift(await alice.begin('optional'))
  const first = dig(await alice.call('tasks/list'), 'result')
  const cursor = dig(first, 'nextCursor')
  const second = dig(await alice.call('tasks/list', { cursor }), 'result')
  const ids = [first, second].flatMap((page) =>
    (dig(page, 'tasks') as { taskId: string }[]).map(({ taskId }) => taskId),
  )
  expect(ids).toEqual(made)
  expect(second).not.toHaveProperty('nextCursor')
  expect(await mallory.call('tasks/list')).toMatchObject({ result: { tasks: [] } })
  expect(dig(await mallory.call('tasks/list', { cursor }), 'error', 'code')).toBe(-32602)
  expect(dig(await alice.call('tasks/list', { cursor: 'x' }), 'error', 'code')).toBe(-32602)
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    const foreign = await mallory.call(method, { taskId: made[0] })
    const absent = await mallory.call(method, { taskId: 'none' })
    expect(dig(foreign, 'error', 'code')).toBe(-32602)
    expect(String(dig(foreign, 'error', 'message')).replace(made[0]!, 'none')).toBe(
      dig(absent, 'error', 'message'),
    )
  }
})

test('a question stays open for the next one who waits, and for an answer from elsewhere', async () => {
  const given: Answer[] = []
  const house = await openDoor(async (exchange) => {
    given.push(await exchange.ask!(form('first'), exchange.signal))
    given.push(await exchange.ask!(form('second'), exchange.signal))
    return result({ content: [] })
  })
  const client = await openClient(house.url, { elicitation: {} })
  const asked: string[] = []
  const leave = new AbortController()
  client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
    asked.push(params.message)
    if (asked.length === 2) return { action: 'accept', content: { x: 'late' } }
    if (asked.length === 1) leave.abort()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return { action: 'cancel' }
  })
  const { tasks } = client.experimental
  const created = await client.experimental.tasks
    .callToolStream({ name: 'optional', arguments: {} }, CallToolResultSchema, { task: {} })
    .next()
  const taskId = String(dig(created.value, 'task', 'taskId'))
  const left = tasks.getTaskResult(taskId, CallToolResultSchema, { signal: leave.signal })
  await expect(left).rejects.toThrow()
  expect([asked, given]).toEqual([['desk asks: first'], []])

  const waiting = tasks.getTaskResult(taskId, CallToolResultSchema)
  await until(() => asked.length === 3)
  expect(given[0]?.native?.value()).toEqual({ action: 'accept', content: { x: 'late' } })
  const local = { id: 'local', groups: [], via: 'local' } as const
  const row = (await house.core.resume.load(taskId, local))!
  const answers = [{ key: row.questions[0]!.key, action: 'decline' } as const]
  const by = { principal: local, door: 'cli', deadlineAt: Date.now() + 5_000 }
  const exchange = { signal: leave.signal, stopReason: () => undefined, emit: () => undefined }
  const can = { form: false, url: false, sampling: false, roots: false }
  await house.core.resume.answer(taskId, answers, by, { ...exchange, can })
  expect(await waiting).toMatchObject({ content: [] })
  expect(given[1]).toMatchObject({ action: 'decline' })
})

test('a task goes on when its caller hangs up, and is read by another session of the same principal', async () => {
  const going = deferred()
  const house = await openDoor(async () => (await going.promise, result({ content: [], n: 1 })))
  const client = await openClient(house.url)
  const created = await client.experimental.tasks
    .callToolStream({ name: 'optional', arguments: {} }, CallToolResultSchema, { task: {} })
    .next()
  const taskId = String(dig(created.value, 'task', 'taskId'))
  await client.close()
  const caller = await openCaller(house.url)
  const waiting = caller.call('tasks/result', { taskId })
  going.resolve()
  expect(await waiting).toMatchObject({ result: { content: [], n: 1 } })
  expect(dig(await caller.reach(taskId, 'completed'), 'pollInterval')).toBe(20)
})
