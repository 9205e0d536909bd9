import { expect, test } from 'vitest'
import {
  ALICE,
  completed,
  deferred,
  exchangeOf,
  FACTS,
  native,
  openCoreHouse,
  toolCall,
} from '../testkit/core-house.fixture.ts'
import type { Exchange } from './ports/upstream.ts'
import type { Handle, Outcome } from './words/outcome.ts'
import type { Question } from './words/question.ts'
import type { TaskRecord } from './words/task.ts'

const OPERATOR = { id: 'operator', groups: [], via: 'operator' } as const
const REMOTE: Handle = { peer: 'tickets', kind: 'mcp_task', sealed: '{}', taskId: 'far-1' }

function question(key: string): Question {
  return { kind: 'form', key, text: `${key}?`, native: native({}) }
}

function bearing(): Exchange {
  return { ...exchangeOf().exchange, can: { form: true, url: true, sampling: true, roots: true } }
}

async function rowWhen(
  house: Awaited<ReturnType<typeof openCoreHouse>>,
  task: TaskRecord,
  fits: (row: TaskRecord) => boolean,
): Promise<TaskRecord> {
  const signal = AbortSignal.timeout(5_000)
  let row = await house.store.tasks.load(task.id, ALICE)
  while (row !== undefined && !fits(row))
    row = await house.store.tasks.changed(task.id, row.version, signal)
  if (row === undefined) throw new Error(`task ${task.id} never came to fit`)
  return row
}

test('a call that nobody keeps is a call like any other, and is not a task afterwards', async () => {
  const house = await openCoreHouse({ call: async () => completed() })
  const begun = await house.begin(toolCall(), exchangeOf().exchange)
  expect(await begun.reply).toMatchObject({ callId: begun.callId, outcome: { state: 'completed' } })
  expect(await begun.keep()).toBeUndefined()
  expect(await house.store.tasks.list(OPERATOR)).toEqual([])
})

test('a call that is begun as a task has its row before it is sent, however quickly it ends', async () => {
  let rows = 0
  const house = await openCoreHouse({
    call: async (_call, exchange, dispatched) => {
      dispatched(FACTS)
      rows = (await house.store.tasks.list(ALICE)).length
      const answer = await exchange.ask!(question('a'), exchange.signal)
      return completed(answer.data === 7 ? {} : { handle: REMOTE })
    },
  })
  const begun = await house.begin(toolCall({ asTask: true }), bearing())
  const task = await begun.keep()
  if (task === undefined) throw new Error('it is no task')
  const asking = await rowWhen(house, task, ({ questions }) => questions.length === 1)
  expect([rows, asking.state, house.ports.running.has(task.id)]).toEqual([
    1,
    'input_required',
    true,
  ])
  const by = { principal: ALICE, door: 'test', deadlineAt: Date.now() + 1_000 }
  const answers = [{ key: asking.questions[0]!.key, action: 'accept', data: 7 } as const]
  await house.resume.answer(task.id, answers, by, exchangeOf().exchange)
  const reply = await begun.reply
  expect(reply).toMatchObject({ outcome: { state: 'completed' }, task: { id: task.id } })
  expect(reply.outcome).not.toHaveProperty('handle')
  expect(await begun.keep()).toMatchObject({ id: task.id })
  expect(await house.resume.list(ALICE)).toMatchObject([{ id: task.id, state: 'completed' }])
  expect(house.ports.running.size).toBe(0)

  const quick = await openCoreHouse({ call: async () => completed() })
  const over = await quick.begin(toolCall({ asTask: true }), bearing())
  await over.reply
  expect(await over.keep()).toMatchObject({ state: 'submitted' })
})

test('a kept call is on record when its id is shown, and its result is read from it byte for byte', async () => {
  const going = deferred()
  const bytes = new TextEncoder().encode('{"content":[],"n":12345678901234567890}')
  const result = { ...native({}), bytes }
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      await going.promise
      return { state: 'completed', native: result, toolError: false }
    },
  })
  const begun = await house.begin(toolCall({ taskTtlMs: 60_000 }), exchangeOf().exchange)
  const [task, same] = await Promise.all([begun.keep(), begun.keep()])
  expect(same).toBe(task)
  expect(await house.store.tasks.load(task!.id, ALICE)).toMatchObject({
    state: 'submitted',
    callId: begun.callId,
    capability: 'delete',
    ttlMs: 60_000,
  })
  going.resolve()
  expect((await begun.reply).task).toMatchObject({ id: task!.id, state: 'completed' })
  const [artifact] = await house.store.tasks.artifacts(task!.id)
  expect(artifact).toMatchObject({ artifactId: 'result', content: [{ kind: 'raw', bytes }] })
})

test('a tool that reports an error fails its task and leaves what it said', async () => {
  const going = deferred()
  const house = await openCoreHouse({
    call: async () => {
      await going.promise
      return { state: 'completed', native: native({ isError: true }), toolError: true }
    },
  })
  const begun = await house.begin(toolCall(), exchangeOf().exchange)
  const task = await begun.keep()
  going.resolve()
  await begun.reply
  const row = await house.store.tasks.load(task!.id, ALICE)
  expect(row).toMatchObject({ state: 'failed', artifacts: [{ artifactId: 'result' }] })
})

test('what a kept call asks stands on its row, under keys of its own, and is answered in any order', async () => {
  const house = await openCoreHouse({
    call: async (_call, exchange, dispatched) => {
      dispatched(FACTS)
      const signal = new AbortController().signal
      const answers = await Promise.all([
        exchange.ask!(question('a'), signal),
        exchange.ask!(question('b'), signal),
      ])
      const again = await exchange.ask!(question('a'), signal)
      const said = [...answers, again].map(({ key, text }) => `${key}=${text}`)
      return { state: 'completed', native: native({ said }), toolError: false }
    },
    over: (ports) => ({
      // The call asks at once: it is kept before its peer hears of it.
      upstreamOf: (peer) => {
        const upstream = ports.upstreamOf(peer)!
        return { call: async (...args) => (await kept.promise, upstream.call(...args)) }
      },
    }),
  })
  const kept = deferred()
  const begun = await house.begin(toolCall(), bearing())
  const task = await begun.keep()
  kept.resolve()
  const asking = await rowWhen(house, task!, (row) => row.questions.length === 2)
  expect(asking).toMatchObject({
    state: 'input_required',
    questions: [{ key: 'q1' }, { key: 'q2' }],
  })
  const by = { principal: ALICE, door: 'test', deadlineAt: Date.now() + 60_000 }
  const say = (key: string, text: string) =>
    house.resume.answer(task!.id, [{ key, action: 'accept', text }], by, bearing())
  await say('q2', 'two')
  const partly = await rowWhen(house, task!, (row) => row.questions.length === 1)
  expect(partly).toMatchObject({ state: 'input_required', questions: [{ key: 'q1' }] })
  await say('q2', 'once more')
  await say('q1', 'one')
  await rowWhen(house, task!, (row) => row.questions[0]?.key === 'q3')
  await say('q3', 'three')
  const { outcome } = await begun.reply
  expect(outcome).toMatchObject({ state: 'completed' })
  const row = await rowWhen(house, task!, (one) => one.state === 'completed')
  expect(row.questions).toEqual([])
  const [artifact] = await house.store.tasks.artifacts(task!.id)
  const part = artifact!.content[0]!
  expect(part.kind === 'raw' && new TextDecoder().decode(part.bytes)).toBe(
    '{"said":["a=one","b=two","a=three"]}',
  )
})

test('what is asked while the row is being made stands on the row too', async () => {
  const making = deferred()
  const asked: string[] = []
  const live: Exchange = {
    ...bearing(),
    ask: async ({ key }) => (asked.push(key), { key, action: 'decline' }),
  }
  const house = await openCoreHouse({
    call: async (_call, exchange, dispatched) => {
      dispatched(FACTS)
      await wanted.promise
      const { text } = await exchange.ask!(question('a'), new AbortController().signal)
      return { state: 'completed', native: native({ said: text }), toolError: false }
    },
    over: ({ ledger }) => ({
      ledger: {
        ...ledger,
        keep: async (...kept) => {
          const done = await ledger.keep(...kept)
          wanted.resolve()
          await making.promise
          return done
        },
      },
    }),
  })
  const wanted = deferred()
  const begun = await house.begin(toolCall(), live)
  const keeping = begun.keep()
  await wanted.promise
  making.resolve()
  const task = await keeping
  await rowWhen(house, task!, (row) => row.questions.length === 1)
  const by = { principal: ALICE, door: 'test', deadlineAt: Date.now() + 60_000 }
  await house.resume.answer(task!.id, [{ key: 'q1', action: 'accept', text: 'yes' }], by, live)
  expect((await begun.reply).task).toMatchObject({ state: 'completed' })
  expect(asked).toEqual([])
})

test('a kept call goes through the rounds of a peer that answers with questions, each on record', async () => {
  const seen: unknown[] = []
  const kept = deferred()
  const state: Handle = { peer: 'tickets', kind: 'mcp_state', sealed: 's1' }
  const house = await openCoreHouse({
    call: async (call, _exchange, dispatched) => {
      dispatched(FACTS)
      await kept.promise
      seen.push(call.continuation?.handle.sealed)
      if (call.continuation === undefined)
        return { state: 'input_required', handle: state, questions: [question('name')] }
      const said = call.continuation.answers[0]
      return { state: 'completed', native: native({ said: said?.text }), toolError: false }
    },
  })
  const begun = await house.begin(toolCall(), bearing())
  const task = await begun.keep()
  kept.resolve()
  await rowWhen(house, task!, (row) => row.questions[0]?.key === 'q1')
  const by = { principal: ALICE, door: 'test', deadlineAt: Date.now() + 60_000 }
  await house.resume.answer(task!.id, [{ key: 'q1', action: 'accept', text: 'Ann' }], by, bearing())
  const told = await begun.reply
  expect(told).toMatchObject({ outcome: { state: 'completed' }, task: { state: 'completed' } })
  expect(seen).toEqual([undefined, 's1'])
  expect(told.callId).not.toBe(begun.callId)
})

test('cancel stops a kept call, and does not say that nothing ran', async () => {
  const house = await openCoreHouse({
    call: async (_call, { signal }, dispatched): Promise<Outcome> => {
      dispatched(FACTS)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { state: 'unknown', because: 'cancel_unconfirmed', detail: 'told to stop' }
    },
  })
  const begun = await house.begin(toolCall(), exchangeOf().exchange)
  const task = await begun.keep()
  const canceled = await house.resume.cancel(task!.id, ALICE)
  expect(canceled?.report.confirmed).toBe('unconfirmed')
  expect((await begun.reply).task).toMatchObject({
    state: 'unknown',
    because: 'cancel_unconfirmed',
  })
})

test('a task of the peer is one of ours before its caller hears of it, and is followed', async () => {
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      return { state: 'working', handle: REMOTE, text: 'far away' }
    },
  })
  const told = await house.dispatch(toolCall(), exchangeOf().exchange)
  expect(told.task).toMatchObject({ state: 'working', handle: REMOTE, theirWords: 'far away' })
  const [claimed] = await house.store.tasks.claim('w', 10, 60_000)
  expect(claimed).toMatchObject({ effect: { do: 'follow' }, task: { id: told.task!.id } })
  await house.resume.news(told.task!.id, { kind: 'status', outcome: completed() }, claimed!.fence)
  expect(await house.store.tasks.load(told.task!.id, ALICE)).toMatchObject({
    state: 'completed',
    artifacts: [{ artifactId: 'result', mediaType: 'application/json' }],
  })
})

test('a kept call that its peer goes on with keeps its one row', async () => {
  const going = deferred()
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      await going.promise
      return { state: 'input_required', handle: REMOTE, questions: [question('x')] }
    },
  })
  const begun = await house.begin(toolCall(), bearing())
  const task = await begun.keep()
  going.resolve()
  expect((await begun.reply).task).toMatchObject({ id: task!.id, state: 'input_required' })
  expect(await house.store.tasks.list(ALICE)).toHaveLength(1)
  expect(await house.store.tasks.claim('w', 10, 60_000)).toMatchObject([
    { effect: { do: 'follow' } },
  ])
})

test('after its time its owner finds it no more, the operator still does', async () => {
  const house = await openCoreHouse({ call: async () => ({ state: 'working', handle: REMOTE }) })
  const { task } = await house.dispatch(toolCall({ taskTtlMs: 0 }), exchangeOf().exchange)
  expect(await house.resume.load(task!.id, ALICE)).toBeUndefined()
  expect(await house.resume.cancel(task!.id, ALICE)).toBeUndefined()
  expect(await house.resume.load(task!.id, OPERATOR)).toMatchObject({ id: task!.id })
})

test('what a process kept is unknown once that process is gone, also in the middle of a question', async () => {
  const house = await openCoreHouse({
    call: async (_call, exchange, dispatched) => {
      dispatched(FACTS)
      await kept.promise
      await exchange.ask!(question('a'), exchange.signal)
      return completed()
    },
  })
  const kept = deferred()
  const begun = await house.begin(toolCall(), bearing())
  const task = await begun.keep()
  kept.resolve()
  await rowWhen(house, task!, (row) => row.questions.length === 1)
  const again = await house.reopen()
  expect(await again.tasks.load(task!.id, ALICE)).toMatchObject({
    state: 'unknown',
    because: 'process_died',
    questions: [],
  })
})

test('the rounds of a call under a key are its own: the key is the first one’s alone', async () => {
  const state: Handle = { peer: 'tickets', kind: 'mcp_state', sealed: 's1' }
  const house = await openCoreHouse({
    call: async (call, _exchange, dispatched) => {
      dispatched(FACTS)
      return call.continuation === undefined
        ? { state: 'input_required', handle: state, questions: [question('name')] }
        : completed()
    },
  })
  const message = (digest = 'one') =>
    toolCall({ asTask: true, idempotency: { key: 'm-1', digest } })
  const begun = await house.begin(message(), bearing())
  expect(begun.task).toMatchObject({ callId: begun.callId })
  await rowWhen(house, begun.task!, ({ questions }) => questions.length === 1)
  const by = { principal: ALICE, door: 'test', deadlineAt: Date.now() + 60_000 }
  const answers = [{ key: 'q1', action: 'accept', text: 'Ann' }] as const
  await house.resume.answer(begun.task!.id, answers, by, bearing())
  expect(await begun.reply).toMatchObject({ outcome: { state: 'completed' } })

  const again = await house.begin(message(), bearing())
  expect(again).toMatchObject({ callId: begun.callId, earlier: true, task: { id: begun.task!.id } })
  const other = await house.begin(message('other'), bearing())
  expect(await other.reply).toMatchObject({ outcome: { code: 'key_conflict' } })
  expect(other).not.toHaveProperty('earlier')
})

test('an answered question is off the row before the answer is told of; a served call is answered by its agent alone', async () => {
  const going = deferred()
  const house = await openCoreHouse({
    call: async (_call, exchange, dispatched) => {
      dispatched(FACTS)
      await exchange.ask!(question('a'), exchange.signal)
      await going.promise
      return completed()
    },
  })
  const begun = await house.begin(toolCall({ asTask: true, servedAs: 'desk' }), bearing())
  await rowWhen(house, begun.task!, ({ questions }) => questions.length === 1)
  const answer = async (servedAs: string | undefined) => {
    const by = { principal: ALICE, door: 'test', deadlineAt: Date.now() + 60_000 }
    const named = servedAs === undefined ? by : { ...by, servedAs }
    const answers = [{ key: 'q1', action: 'accept' }] as const
    return house.resume.answer(begun.task!.id, answers, named, exchangeOf().exchange)
  }
  for (const other of [undefined, 'other'])
    expect(await answer(other)).toMatchObject({
      outcome: { state: 'failed', code: 'unsupported' },
      task: { state: 'input_required' },
    })
  expect(await answer('desk')).toMatchObject({
    outcome: { state: 'working' },
    task: { state: 'working', questions: [] },
  })
  going.resolve()
  expect(await begun.reply).toMatchObject({ outcome: { state: 'completed' } })
})
