/** Tasks of 2025-11-25 at a real server on the official v1 SDK, over both transports. */
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Work } from '../../src/core/ports/upstream.ts'
import type { Handle, Outcome } from '../../src/core/words/outcome.ts'
import type { Answer, Question } from '../../src/core/words/question.ts'
import type { McpPeer } from '../../src/mcp/upstream/client.ts'
import { dig } from '../../src/mcp/downstream/testing/test-door.ts'
import { mcpNative } from '../../src/mcp/wire/native.ts'
import { encodeJson } from '../../src/mcp/wire/spans.ts'
import { serveTasks } from './legacy-task-server.fixture.ts'
import { inlineServer, makeCall, openPeer, type Server, valueOf } from './upstream-peer.ts'

const FIXTURE = fileURLToPath(new URL('./legacy-task-server.fixture.ts', import.meta.url))
const HELD = { form: true, tasks: 'held' } as const

interface House {
  readonly peer: McpPeer
  readonly work: Work
  /** The server loses all that it knew. */
  forget(): Promise<void>
}

async function open(server: Server, forget: (peer: McpPeer) => Promise<void>): Promise<House> {
  const peer = openPeer(server)
  await peer.listing()
  const { work } = peer.upstream
  if (work === undefined) throw new Error('this peer has no work')
  return { peer, work, forget: () => forget(peer) }
}

function overStdio(): Promise<House> {
  const server: Server = { transport: 'stdio', command: process.execPath, args: [FIXTURE], env: {} }
  return open(server, (peer) => peer.restart())
}

async function overHttp(): Promise<House> {
  const server = await serveTasks()
  onTestFinished(server.close)
  return open({ transport: 'http', url: server.url, headers: {} }, async () => server.forget())
}

async function begin(
  { peer }: House,
  tool: string,
  options: { readonly text?: string; readonly principal?: string } = {},
): Promise<Handle> {
  const { principal, ...args } = options
  const { capabilities } = await peer.listing()
  const { fingerprint } = capabilities.find(({ name }) => name === tool)!
  const as = principal === undefined ? { fingerprint } : { fingerprint, principal }
  const { outcome } = await makeCall(peer, tool, args, { can: { ...HELD, tasks: 'own' }, ...as })
  if (outcome.state !== 'working') throw new Error(`${tool} is ${JSON.stringify(outcome)}`)
  return outcome.handle
}

/** Follows a task until it rests. */
async function rest(work: Work, handle: Handle): Promise<Outcome> {
  const signal = AbortSignal.timeout(8_000)
  let outcome: Outcome | undefined
  for await (const news of work.follow(handle, undefined, signal))
    if (news.kind === 'status') outcome = news.outcome
  if (outcome === undefined) throw new Error('no news of it')
  return outcome
}

async function asked(work: Work, handle: Handle): Promise<Question> {
  const outcome = await rest(work, handle)
  if (outcome.state !== 'input_required') throw new Error(`it is ${JSON.stringify(outcome)}`)
  return outcome.questions[0]!
}

function answer(work: Work, handle: Handle, { key }: Question, language: string): Promise<Outcome> {
  const content = encodeJson({ action: 'accept', content: { language } })
  const native = mcpNative(content, '2025-11-25')
  const answers: readonly Answer[] = [{ key, action: 'accept', native }]
  const call = { continuation: { callId: 'c-1', handle, answers } }
  const exchange = { signal: AbortSignal.timeout(8_000) }
  type Asked = Parameters<Work['answer']>
  return work.answer(call as unknown as Asked[0], exchange as unknown as Asked[1], () => undefined)
}

const texts = (outcome: Outcome): unknown => dig(valueOf(outcome), 'content', 0, 'text')

describe.each([
  ['stdio', overStdio],
  ['HTTP', overHttp],
])('over %s', (_, openHouse) => {
  test('what demands a task is listed, begun as one, and its result is collected without what was its hop’s', async () => {
    const house = await openHouse()
    const { capabilities, leftOut } = await house.peer.listing()
    expect(leftOut).toEqual([])
    expect(capabilities.map(({ name }) => name)).toContain('report')
    const { outcome, sent } = await makeCall(house.peer, 'report', { text: 'a' }, { can: HELD })
    expect(outcome).toMatchObject({ state: 'working', handle: { kind: 'mcp_task' } })
    expect(sent).toHaveLength(1)
    if (outcome.state !== 'working') return
    const end = await rest(house.work, outcome.handle)
    expect(end).toMatchObject({ state: 'completed', toolError: false })
    expect(valueOf(end)).toEqual({ content: [{ type: 'text', text: 'a, kept for 86400000' }] })
  })

  test('who takes no tasks is refused unsent by what demands one, and served as ever by what allows one', async () => {
    const house = await openHouse()
    const { outcome, sent } = await makeCall(house.peer, 'report', {}, { can: { form: true } })
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'unsupported' })
    expect(sent).toEqual([])
    const chat = makeCall(
      house.peer,
      'chat',
      {},
      { can: HELD, ask: async ({ key }) => ({ key, action: 'decline' }) },
    )
    expect(texts((await chat).outcome)).toBe('{"action":"decline"}')
  })

  test('a tool that reports an error ends its task with it', async () => {
    const house = await openHouse()
    const end = await rest(house.work, await begin(house, 'fail'))
    expect(end).toMatchObject({ state: 'completed', toolError: true })
    expect(texts(end)).toBe('no paper')
  })

  test('its question is the task’s, answered by its key, whatever else is asked meanwhile', async () => {
    const house = await openHouse()
    const handle = await begin(house, 'ask')
    const other: string[] = []
    const { promise: answered, resolve } = Promise.withResolvers<void>()
    const chat = makeCall(
      house.peer,
      'chat',
      {},
      {
        can: HELD,
        ask: async ({ key, text }) => {
          other.push(text)
          await answered
          return { key, action: 'decline' }
        },
      },
    )
    const question = await asked(house.work, handle)
    expect(question).toMatchObject({ kind: 'form', text: 'Which language?' })
    expect(dig(question.native.value(), 'params')).not.toHaveProperty('_meta.progressToken')
    expect(JSON.stringify(question.native.value())).not.toContain('related-task')
    expect((await answer(house.work, handle, question, 'zh')).state).toMatch(/working|completed/u)
    const end = await rest(house.work, handle)
    expect(texts(end)).toContain('"language":"zh"')
    expect(await answer(house.work, handle, question, 'en')).toMatchObject({
      state: 'failed',
      ran: 'no',
    })
    resolve()
    expect(texts((await chat).outcome)).toBe('{"action":"decline"}')
    expect(other).toEqual(['Chat?'])
  })

  test('cancel is confirmed, once', async () => {
    const house = await openHouse()
    const handle = await begin(house, 'wait')
    const signal = AbortSignal.timeout(8_000)
    expect(await house.work.cancel(handle, signal)).toMatchObject({
      confirmed: 'stopped',
      news: { outcome: { state: 'canceled' } },
    })
    expect(await rest(house.work, handle)).toMatchObject({ state: 'canceled' })
    expect((await house.work.cancel(handle, signal)).confirmed).toBe('stopped')
    const done = await begin(house, 'report')
    await rest(house.work, done)
    expect((await house.work.cancel(done, signal)).confirmed).toBe('already_ended')
  })

  test('what a server does not know any more is unknown, and so is its question', async () => {
    const house = await openHouse()
    const [waiting, asking] = [await begin(house, 'wait'), await begin(house, 'ask')]
    const question = await asked(house.work, asking)
    await house.forget()
    const gone = { state: 'unknown', because: 'peer_unclear' }
    expect(await rest(house.work, waiting)).toMatchObject(gone)
    expect(await rest(house.work, asking)).toMatchObject(gone)
    expect(await answer(house.work, asking, question, 'zh')).toMatchObject({
      state: 'failed',
      ran: 'no',
    })
  })

  test('each principal’s tasks live on its own session', async () => {
    const house = await openHouse()
    const [one, two] = [
      await begin(house, 'ask', { principal: 'alice' }),
      await begin(house, 'ask', { principal: 'bob' }),
    ]
    const [first, second] = [await asked(house.work, one), await asked(house.work, two)]
    expect(await answer(house.work, two, first, 'en')).toMatchObject({ state: 'failed' })
    await answer(house.work, one, first, 'en')
    await answer(house.work, two, second, 'zh')
    expect(texts(await rest(house.work, one))).toContain('"en"')
    expect(texts(await rest(house.work, two))).toContain('"zh"')
  })
})

test('a server that answers at once, or hands out what is no task, is taken by its answer', async () => {
  const source = (result: string): Server =>
    inlineServer(`
      serve({
        initialize: (m) => answer(m, {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
          serverInfo: { name: 'inline', version: '1' },
        }),
        'tools/list': (m) => answer(m, { tools: [
          { name: 'pay', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } },
        ] }),
        'tools/call': (m) => answer(m, ${result}),
        'tasks/get': (m) => answer(m, { taskId: m.params.taskId, status: 'working' }),
      })
    `)
  const made = async (result: string) => {
    const house = await open(source(result), async () => undefined)
    const { outcome } = await makeCall(house.peer, 'pay', {}, { can: HELD })
    return { house, outcome }
  }
  expect((await made('{ content: [] }')).outcome).toMatchObject({ state: 'completed' })
  expect((await made('{ task: { taskId: 7 } }')).outcome).toMatchObject({
    state: 'unknown',
    because: 'peer_unclear',
  })
  const { house, outcome } = await made('{ task: { taskId: "t", status: "working" } }')
  if (outcome.state !== 'working') throw new Error(`it is ${outcome.state}`)
  const report = await house.work.cancel(outcome.handle, AbortSignal.timeout(8_000))
  expect(report.confirmed).toBe('unconfirmed')
})
