/** Agents as tools: waiting, handing out the task, answering, stopping, and who may see what. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, test } from 'vitest'
import type { ListedItem } from '../../core/ports/catalogue.ts'
import type { ArtifactRecord } from '../../core/words/artifact.ts'
import { refused } from '../../core/words/outcome.ts'
import type { Question } from '../../core/words/question.ts'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import type { DoorLimits } from './options.ts'
import { createScriptedAgent, DELEGATE_TOOL, HANDLE } from './testing/scripted-agent.ts'
import { createScriptedHouse } from './testing/scripted-house.ts'
import {
  dig,
  eventsOf,
  initialize,
  modernMeta,
  openTestDoor,
  postModern,
  readResponse,
  until,
} from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function open(limits: Partial<DoorLimits> = {}) {
  const agent = createScriptedAgent()
  const server = await openTestDoor(createScriptedHouse([DELEGATE_TOOL]), {
    limits,
    delegation: agent.delegation,
  })
  closers.push(server.close)
  const call = async (name: string, args: object, more: object = {}, headers = {}) => {
    const params = { name, arguments: args, ...more }
    const { body, text } = await postModern(server.url, 'tools/call', params, { headers })
    return {
      result: dig(body, 'result'),
      text: String(dig(body, 'result', 'content', 0, 'text')),
      stream: text,
    }
  }
  /** Delegates and lets the waiting run out. */
  const handOut = async () => {
    const { result } = await call('delegate_desk', { message: 'compare' })
    return String(dig(result, 'structuredContent', 'taskId'))
  }
  return { agent, call, handOut, ...server }
}

const QUESTION: Question = {
  kind: 'text',
  key: 'version',
  text: 'Which version?',
  native: mcpNative(encodeJson({}), ''),
}

const REPORT: ArtifactRecord = {
  artifactId: 'r/1',
  name: 'report.md',
  mediaType: 'text/markdown',
  parts: 1,
  bytes: 5,
  complete: true,
  headless: false,
}

describe('delegating', () => {
  test('the tools for tasks are listed behind the others, and only with delegation', async () => {
    const { url } = await open()
    const bare = await openTestDoor(createScriptedHouse([DELEGATE_TOOL]))
    closers.push(bare.close)
    const names = async (at: string) =>
      (dig((await postModern(at, 'tools/list')).body, 'result', 'tools') as { name: string }[]).map(
        ({ name }) => name,
      )

    expect(await names(url)).toEqual(['delegate_desk', 'task_status', 'task_answer', 'task_cancel'])
    expect(await names(bare.url)).toEqual(['delegate_desk'])
  })

  test('without agents they are listed to sessions where work may outlive a call; whoever holds a handle may ask', async () => {
    const house = createScriptedHouse([])
    let longWork = false
    const items: readonly ListedItem[] = []
    const catalogue = {
      ...house.catalogue,
      // The very items: a page that was written of them may not be shown again.
      list: async (...asked: Parameters<typeof house.catalogue.list>) => ({
        ...(await house.catalogue.list(...asked)),
        items,
        longWork,
      }),
    }
    const agent = createScriptedAgent()
    const delegation = { ...agent.delegation, isListed: () => false }
    const { url, close } = await openTestDoor({ ...house, catalogue }, { delegation })
    closers.push(close)
    const { session, headers } = await initialize(url)
    const listed = async (): Promise<unknown> => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'mcp-session-id': session },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
      return (dig((await readResponse(response)).body, 'result', 'tools') as unknown[]).length
    }
    expect(await listed()).toBe(0)
    longWork = true
    expect(await listed()).toBe(3)
    expect(dig((await postModern(url, 'tools/list')).body, 'result', 'tools')).toEqual([])
    const asked = { name: 'task_status', arguments: { taskId: 't-none' } }
    const { body } = await postModern(url, 'tools/call', asked)
    expect(dig(body, 'result', '_meta', 'comity/outcome', 'code')).toBe('not_found')
  })

  test('a direct message is the answer, and its context comes back', async () => {
    const { agent, call } = await open()
    const asked = call('delegate_desk', { message: 'hi', contextId: 'c-1' })
    await until(() => agent.calls.length === 1)
    const native = { ...mcpNative(encodeJson({}), '1.0'), protocol: 'a2a' as const }
    agent.reply({ state: 'answered', native, text: 'hello', contextId: 'c-1' })
    const { result, text } = await asked

    expect(text).toContain('hello')
    expect(result).toMatchObject({
      structuredContent: { state: 'answered', next: 'nobody', text: 'hello', contextId: 'c-1' },
      _meta: { 'comity/outcome': { state: 'answered', callId: 'call-1', ran: 'yes' } },
    })
    expect(result).not.toHaveProperty('isError')
    expect(agent.calls[0]).toMatchObject({
      operation: 'delegate',
      contextId: 'c-1',
      route: { kind: 'agent' },
    })
  })

  test('work that ends while it is waited for comes with its artifacts and verdict', async () => {
    const { agent, call } = await open()
    const asked = call('delegate_desk', { message: 'compare' })
    await until(() => agent.calls.length === 1)
    agent.reply({ state: 'working', handle: HANDLE })
    agent.artifacts.set('task-1/r/1', { ...REPORT, content: [{ kind: 'text', text: '# Hi!' }] })
    const verdict = { state: 'accepted', judgedAt: '2026-01-01T00:00:01.000Z', checks: [] } as const
    const data = {
      ...REPORT,
      artifactId: 'd',
      name: 'big.json',
      mediaType: 'application/json',
      bytes: 20_000,
    }
    agent.move('task-1', { state: 'completed', handle: HANDLE, artifacts: [REPORT, data], verdict })
    const { result, text } = await asked

    expect(text).toContain('Verdict: accepted')
    expect(result).toMatchObject({
      isError: false,
      structuredContent: { taskId: 'task-1', state: 'completed', next: 'nobody', agent: 'desk' },
    })
    expect((dig(result, 'content') as unknown[]).slice(1)).toEqual([
      {
        type: 'resource',
        resource: {
          uri: 'comity://artifacts/task-1/r%2F1',
          mimeType: 'text/markdown',
          text: '# Hi!',
        },
      },
      {
        type: 'resource_link',
        uri: 'comity://artifacts/task-1/d',
        name: 'big.json',
        mimeType: 'application/json',
        size: 20_000,
      },
    ])
  })

  test('a refused delivery says so in first place', async () => {
    const { agent, call } = await open()
    const asked = call('delegate_desk', { message: 'compare' })
    await until(() => agent.calls.length === 1)
    agent.reply({ state: 'working', handle: HANDLE })
    const reasons = ['report.md: line 4 quotes what is not there']
    const verdict = { state: 'refused', judgedAt: '2026-01-01T00:00:01.000Z', reasons } as const
    agent.move('task-1', { state: 'completed', handle: HANDLE, artifacts: [REPORT], verdict })
    const { result, text } = await asked

    expect(text).toMatch(/^REFUSED: .*line 4 quotes/)
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { state: 'completed', verdict },
    })
  })

  test('when the waiting is over the handle comes back, the work goes on, and task_status finds it', async () => {
    const { agent, call } = await open({ delegationWaitMs: 30 })
    const { result, text } = await call('delegate_desk', { message: 'compare' })

    expect(result).toMatchObject({
      isError: false,
      structuredContent: { taskId: 'task-1', state: 'submitted', next: 'agent' },
    })
    expect(text).toContain('task_status {"taskId":"task-1"}')
    expect(agent.exchanges[0]?.signal.aborted).toBe(false)
    agent.reply({ state: 'working', handle: HANDLE })
    agent.move('task-1', { state: 'completed', handle: HANDLE })
    const status = await call('task_status', { taskId: 'task-1' })
    expect(status.result).toMatchObject({
      structuredContent: { state: 'completed', next: 'nobody' },
    })
    expect(agent.canceled).toEqual([])
  })

  test('a refusal of the gate is told like any other', async () => {
    const { agent, call } = await open()
    agent.refusal = refused('policy', 'approval_required', 'needs a person', 'ap-3')
    const { result, text } = await call('delegate_desk', { message: 'x' })

    expect(text).toContain('comity approve ap-3')
    expect(result).toMatchObject({
      isError: true,
      _meta: { 'comity/outcome': { approvalId: 'ap-3', ran: 'no' } },
    })
  })

  test.each([
    ['not sent', refused('transport', 'peer_unreachable', 'nobody listens'), 'no'],
    [
      'unknown',
      { state: 'unknown', because: 'sent_no_answer', detail: 'no answer' } as const,
      'unknown',
    ],
  ])('a first send that failed is told with its task: %s', async (_name, outcome, ran) => {
    const { agent, call } = await open()
    const asked = call('delegate_desk', { message: 'x' })
    await until(() => agent.calls.length === 1)
    agent.reply(outcome)

    expect((await asked).result).toMatchObject({
      isError: true,
      _meta: { 'comity/outcome': { ran, taskId: 'task-1', callId: 'call-1' } },
    })
  })
})

describe('signs of life', () => {
  test('state changes come under the token of the caller, with the id of the task', async () => {
    const { agent, call } = await open()
    const _meta = { ...modernMeta(), progressToken: 'p' }
    const asked = call('delegate_desk', { message: 'x' }, { _meta })
    await until(() => agent.calls.length === 1)
    agent.reply({ state: 'working', handle: HANDLE })
    agent.move('task-1', { state: 'working', theirWords: 'reading' })
    await until(() => agent.watched('task-1') === 1)
    agent.move('task-1', { state: 'completed' })
    const { stream } = await asked
    const events = eventsOf(stream).map((data) => JSON.parse(data) as unknown)

    expect(events.slice(0, -1).map((event) => dig(event, 'params'))).toEqual([
      { progressToken: 'p', progress: 1, message: 'task task-1 at desk, submitted' },
      { progressToken: 'p', progress: 2, message: 'task task-1 at desk, working: “reading”' },
      { progressToken: 'p', progress: 3, message: 'task task-1 at desk, completed: “reading”' },
    ])
  })

  test('the official client sees them, and heartbeats in silence', async () => {
    const { agent, url } = await open({ heartbeatMs: 10 })
    const client = new Client(
      { name: 'v2', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    )
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    closers.push(() => client.close())
    const seen: (string | undefined)[] = []
    const asked = client.callTool(
      { name: 'delegate_desk', arguments: { message: 'x' } },
      { onprogress: ({ message }) => seen.push(message) },
    )
    await until(() => seen.length >= 4)
    agent.reply({ state: 'working', handle: HANDLE })
    agent.move('task-1', { state: 'completed' })

    expect((await asked).structuredContent).toMatchObject({ taskId: 'task-1', state: 'completed' })
    expect(new Set(seen.slice(0, 4))).toEqual(new Set(['task task-1 at desk, submitted']))
  })
})

describe('leaving', () => {
  async function leaveAfter(progressToken: string | undefined, reply: boolean) {
    const { agent, url } = await open()
    const leave = new AbortController()
    const _meta = { ...modernMeta(), ...(progressToken === undefined ? {} : { progressToken }) }
    const params = { name: 'delegate_desk', arguments: { message: 'x' }, _meta }
    const response = postModern(url, 'tools/call', params, { signal: leave.signal })
    await until(() => agent.calls.length === 1)
    if (reply) agent.reply({ state: 'working', handle: HANDLE })
    leave.abort()
    await expect(response).rejects.toThrow()
    return agent
  }

  test('before the task was shown it cancels the send', async () => {
    const agent = await leaveAfter(undefined, false)
    await until(() => agent.exchanges[0]?.signal.aborted === true)

    expect(agent.exchanges[0]?.stopReason()).toBe('caller_canceled')
  })

  test('after the reply, not shown, it cancels the task', async () => {
    const agent = await leaveAfter(undefined, true)
    await until(() => agent.canceled.length === 1)

    expect(agent.canceled).toEqual(['task-1'])
  })

  test.each([false, true])('once shown it cancels nothing (reply there: %s)', async (reply) => {
    const agent = await leaveAfter('p', reply)
    // The gone connection is noticed by the exchange, which is how this test knows the close arrived.
    await until(() => agent.exchanges[0]?.stopReason() === 'caller_gone')

    expect(agent.exchanges[0]?.signal.aborted).toBe(false)
    expect(agent.canceled).toEqual([])
  })
})

test('a door that closes hands out the task and cancels nothing', async () => {
  const agent = createScriptedAgent()
  const { delegation } = agent
  const house = createScriptedHouse([DELEGATE_TOOL])
  const server = await openTestDoor(house, { delegation, limits: { drainMs: 20 } })
  const params = { name: 'delegate_desk', arguments: { message: 'x' } }
  const asked = postModern(server.url, 'tools/call', params)
  await until(() => agent.calls.length === 1)
  agent.reply({ state: 'working', handle: HANDLE })
  await server.close()

  expect(dig((await asked).body, 'result', 'structuredContent')).toMatchObject({ taskId: 'task-1' })
  expect(agent.canceled).toEqual([])
})

describe('task tools', () => {
  test('a question is shown as theirs and answered by text, by fields, or both', async () => {
    const { agent, call, handOut } = await open({ delegationWaitMs: 30 })
    const taskId = await handOut()
    const form: Question = { ...QUESTION, kind: 'form', key: 'fields' }
    agent.move(taskId, { state: 'input_required', handle: HANDLE, questions: [QUESTION, form] })
    const { text, result } = await call('task_status', { taskId })
    await call('task_answer', { taskId, answer: '2026.8', data: { version: '2026.8' } })
    await call('task_answer', { taskId, answer: '2026.8' })

    expect(text).toContain('The agent asks (text, key version): “Which version?”')
    expect(text).toContain(`task_answer {"taskId":"${taskId}"`)
    expect(result).toMatchObject({
      structuredContent: { next: 'you', questions: [{ key: 'version' }, { key: 'fields' }] },
    })
    expect(agent.answers).toEqual([
      [
        { key: 'version', action: 'accept', text: '2026.8' },
        { key: 'fields', action: 'accept', data: { version: '2026.8' } },
      ],
      [{ key: 'version', action: 'accept', text: '2026.8' }],
    ])
  })

  test('an answer waits for how it goes on', async () => {
    const { agent, call, handOut } = await open({ delegationWaitMs: 200 })
    const handing = handOut()
    await until(() => agent.calls.length === 1)
    agent.reply({ state: 'input_required', handle: HANDLE, questions: [QUESTION] })
    agent.move('task-1', { state: 'input_required', questions: [QUESTION] })
    const taskId = await handing
    agent.move(taskId, { state: 'working', questions: [] })
    const answering = call('task_answer', { taskId, answer: 'x' })
    await until(() => agent.answers.length === 1)
    agent.move(taskId, { state: 'completed' })

    expect((await answering).result).toMatchObject({ structuredContent: { state: 'completed' } })
  })

  test('an answer that was refused or got lost is told before the view', async () => {
    const { agent, call, handOut } = await open({ delegationWaitMs: 30 })
    const taskId = await handOut()
    agent.answerOutcome = { state: 'unknown', because: 'sent_no_answer', detail: 'the line broke' }
    const { result, text } = await call('task_answer', { taskId, answer: 'x' })

    expect(text).toMatch(/^It is not known whether this ran: the line broke/)
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { taskId },
      // What may be settled by hand is the answer's own call, not the delegation's.
      _meta: { 'comity/outcome': { state: 'unknown', callId: 'call-of-answer', ran: 'unknown' } },
    })
  })

  test.each([
    ['stopped', 'The agent confirms that it stopped'],
    ['already_ended', 'Nothing to stop'],
    ['unconfirmed', 'It is not confirmed that it stopped'],
  ] as const)('cancel says what is confirmed: %s', async (confirmed, words) => {
    const { agent, call, handOut } = await open({ delegationWaitMs: 30 })
    const taskId = await handOut()
    agent.report = { confirmed, detail: 'so it was' }
    const { result, text } = await call('task_cancel', { taskId })

    expect(text).toContain(`${words}: so it was`)
    expect(result).toMatchObject({
      structuredContent: { cancel: { confirmed, detail: 'so it was' } },
    })
    expect(agent.canceled).toEqual([taskId])
  })

  test("another principal's task is like one that never was, and so are its artifacts", async () => {
    const { agent, call, handOut, url } = await open({ delegationWaitMs: 30 })
    const taskId = await handOut()
    agent.artifacts.set(`${taskId}/r/1`, { ...REPORT, content: [{ kind: 'text', text: '# Hi!' }] })
    const eve = { 'x-test-principal': 'eve' }
    const theirs = await call('task_status', { taskId }, {}, eve)
    const none = await call('task_status', { taskId: 'task-9' }, {}, eve)
    const uri = `comity://artifacts/${taskId}/r%2F1`
    const stolen = await postModern(url, 'resources/read', { uri }, { headers: eve })
    const own = await postModern(url, 'resources/read', { uri })

    expect(theirs.text.replace(taskId, 'task-9')).toBe(none.text)
    expect(dig(stolen.body, 'error', 'code')).toBe(-32602)
    expect(dig(own.body, 'result')).toMatchObject({
      contents: [{ uri, mimeType: 'text/markdown', text: '# Hi!' }],
      ttlMs: 0,
      cacheScope: 'private',
    })
  })

  test.each([
    ['task_status', {}],
    ['task_status', { taskId: 5 }],
    ['task_status', { taskId: 'task-1', wait: true }],
    ['task_answer', { taskId: 'task-1' }],
    ['task_answer', { taskId: 'task-1', answer: 5 }],
    ['task_answer', { taskId: 'task-1', data: [] }],
  ])('bad arguments are told in words: %s %j', async (name, args) => {
    const { agent, call } = await open()
    const { result } = await call(name, args)

    expect(result).toMatchObject({
      isError: true,
      _meta: { 'comity/outcome': { state: 'failed', code: 'bad_arguments', ran: 'no' } },
    })
    expect(agent.answers).toEqual([])
  })
})
