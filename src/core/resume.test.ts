import { expect, test } from 'vitest'
import {
  ALICE,
  asking,
  completed,
  deferred,
  delegation,
  exchangeOf,
  FACTS,
  HANDLE,
  openCoreHouse,
  toolCall,
} from '../testkit/core-house.fixture.ts'
import type { Claimed } from './ports/tasks.ts'
import { ComityError } from './words/errors.ts'
import type { Outcome } from './words/outcome.ts'
import type { TaskNews } from './words/task.ts'

const OPERATOR = { id: 'operator', groups: [], via: 'operator' } as const

function only<T>(all: readonly T[]): T {
  if (all.length !== 1) throw new Error(`expected one, got ${all.length}`)
  return all[0]!
}

test('a verdict is written although late news moved the row while it was judged', async () => {
  const judging = deferred()
  const looked = deferred()
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched({ wireId: 'w', revision: 'r', ours: {}, theirs: {} })
      return completed({ handle: HANDLE })
    },
    over: () => ({
      isJudged: () => true,
      judge: {
        judge: async () => {
          judging.resolve()
          await looked.promise
          return { reasons: ['no citation'], checks: [] }
        },
      },
    }),
  })
  const { task } = await house.dispatch(delegation(), exchangeOf().exchange)
  const claimed: Claimed = only(await house.store.tasks.claim('w', 10, 60_000))
  expect(claimed.effect).toEqual({ do: 'judge' })
  const judged = house.resume.judge(claimed)
  await judging.promise
  const late = { kind: 'status', outcome: { state: 'working', handle: HANDLE } } as const
  await house.resume.news(task!.id, late, claimed.fence)
  looked.resolve()
  expect(await judged).toBe('judged')
  expect((await house.store.tasks.load(task!.id, ALICE))?.verdict).toMatchObject({
    state: 'refused',
    reasons: ['no citation'],
  })
})

test('a judge that lost its task to another owner writes no verdict, and says so', async () => {
  const house = await openCoreHouse({
    call: async () => completed({ handle: HANDLE }),
    over: () => ({ isJudged: () => true }),
  })
  const { task } = await house.dispatch(delegation(), exchangeOf().exchange)
  const claimed = only(await house.store.tasks.claim('w', 10, 0))
  const taken = only(await house.store.tasks.claim('other', 10, 60_000))
  expect(await house.resume.judge(claimed)).toBe('fenced')
  expect((await house.store.tasks.load(task!.id, OPERATOR))?.verdict.state).toBe('pending')
  expect(await house.resume.judge(taken)).toBe('judged')
})

/** A house with one task at an agent that asks, and what the agent was told. */
async function houseThatAsks(script: Parameters<typeof openCoreHouse>[0] = {}) {
  const sent: string[] = []
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      return asking('q')
    },
    ...script,
    work: {
      answer: async (call, _exchange, dispatched) => {
        dispatched(FACTS)
        sent.push(call.callId)
        return { state: 'working', handle: HANDLE }
      },
      ...script.work,
    },
  })
  const { task } = await house.dispatch(delegation(), exchangeOf().exchange)
  const answer = (text = 'yes', exchange = exchangeOf().exchange) =>
    house.resume.answer(
      task!.id,
      [{ key: 'q', action: 'accept', text }],
      { principal: ALICE, door: 'test', deadlineAt: Date.now() + 60_000 },
      exchange,
    )
  return { ...house, task: task!, answer, sent }
}

test('an answer is sent once, on record before it leaves, and the task goes on', async () => {
  const house = await houseThatAsks()
  const answered = await house.answer()
  expect(answered).toMatchObject({ outcome: { state: 'working' }, task: { state: 'working' } })
  expect(house.sent).toHaveLength(1)
  const kinds = house.store.entries({ taskId: house.task.id }).map(({ kind }) => kind)
  expect(kinds).toEqual(expect.arrayContaining(['answered', 'task_changed']))
})

test('an answer is held back when the rules change between its record and its send', async () => {
  const house = await houseThatAsks({
    over: ({ ledger }) => ({
      ledger: {
        ...ledger,
        record: async (callId, event) => {
          await ledger.record(callId, event)
          rules.version = 'rules-2'
        },
      },
    }),
  })
  const { rules } = house
  const answered = await house.answer()
  expect(answered).toMatchObject({
    outcome: { state: 'failed', ran: 'no', code: 'gate_changed' },
    task: { state: 'input_required' },
  })
  expect(house.sent).toEqual([])
})

test('an answer whose caller has left before it was sent is not sent', async () => {
  const house = await houseThatAsks()
  const { exchange, stop } = exchangeOf()
  stop('caller_canceled')
  expect(await house.answer('yes', exchange)).toMatchObject({
    outcome: { ran: 'no', code: 'canceled_before_send' },
  })
  expect(house.sent).toEqual([])
})

test('the same answer while the first is unknown is refused on record, and not sent', async () => {
  let tries = 0
  const house = await houseThatAsks({
    work: {
      answer: async (_call, _exchange, dispatched) => {
        dispatched(FACTS)
        tries += 1
        throw new Error('the connection broke')
      },
    },
  })
  expect(await house.answer()).toMatchObject({ outcome: { because: 'sent_no_answer' } })
  const second = await house.answer()
  expect(second).toMatchObject({ outcome: { state: 'unknown', because: 'unsettled_twin' } })
  expect(tries).toBe(1)
  await house.store.flush()
  expect(house.store.entries({ kind: 'refused' })).toMatchObject([
    { facts: { call: { operation: 'answer' }, outcome: { because: 'unsettled_twin' } } },
  ])
})

test('what became of an answer is told although the record fails behind it', async () => {
  const faults: string[] = []
  const full = () => Promise.reject(new ComityError('store_unwritable', 'disk is full'))
  let isFull = false
  const house = await houseThatAsks({
    over: ({ ledger, tasks }) => ({
      ledger: { ...ledger, settle: (...all) => (isFull ? full() : ledger.settle(...all)) },
      tasks: { ...tasks, commit: (...all) => (isFull ? full() : tasks.commit(...all)) },
      onFault: (what) => void faults.push(what),
    }),
  })
  isFull = true
  expect(await house.answer()).toMatchObject({ outcome: { state: 'working' } })
  expect(house.sent).toHaveLength(1)
  expect(faults).toHaveLength(2)
})

test('an answer or a cancel that cannot be put on record is not sent, and says why', async () => {
  let canceled = 0
  const house = await houseThatAsks({
    work: {
      cancel: async () => {
        canceled += 1
        return { confirmed: 'stopped', detail: 'stopped' }
      },
    },
    over: ({ ledger }) => ({
      ledger: {
        ...ledger,
        record: () => Promise.reject(new ComityError('store_unwritable', 'disk is full')),
      },
    }),
  })
  expect(await house.answer()).toMatchObject({ outcome: { ran: 'no', code: 'record_unwritable' } })
  expect(await house.resume.cancel(house.task.id, ALICE)).toMatchObject({
    report: { confirmed: 'unconfirmed', detail: expect.stringContaining('disk is full') },
  })
  expect([house.sent, canceled]).toEqual([[], 0])
})

test('of two answers at once one is sent; the next question takes the next answer', async () => {
  const arrived = deferred()
  const goOn = deferred()
  const sent: unknown[] = []
  const house = await houseThatAsks({
    work: {
      answer: async (call, _exchange, dispatched) => {
        dispatched(FACTS)
        sent.push(call.continuation?.answers[0]?.text)
        arrived.resolve()
        await goOn.promise
        return sent.length === 1 ? asking('second') : { state: 'working', handle: HANDLE }
      },
    },
  })
  const first = house.answer('Oslo')
  await arrived.promise
  const second = await house.answer('Rome')
  expect(second).toMatchObject({ outcome: { ran: 'no', code: 'unsupported' } })
  expect(second?.callId).toBe(house.task.callId)
  goOn.resolve()
  expect(await first).toMatchObject({ outcome: { state: 'input_required' } })
  expect(await house.answer('Bern')).toMatchObject({ outcome: { state: 'working' } })
  expect(sent).toEqual(['Oslo', 'Bern'])
})

test("an answer's call id is its own: it is what a person settles when its fate is unknown", async () => {
  const house = await houseThatAsks({
    work: {
      answer: async (_call, _exchange, dispatched) => {
        dispatched(FACTS)
        throw new Error('the connection broke')
      },
    },
  })
  const answered = await house.answer()
  expect(answered?.callId).not.toBe(house.task.callId)
  const word = { as: 'ran', by: 'operator', note: '' } as const
  await house.store.settleByHand(answered!.callId, word)
  expect(house.store.call(answered!.callId)).toMatchObject({ state: 'settled' })
})

/** A tool call served as a task, running until it is stopped. */
async function houseThatServes() {
  const arrived = deferred()
  const house = await openCoreHouse({
    call: (_call, exchange, dispatched) => {
      dispatched(FACTS)
      arrived.resolve()
      return new Promise<Outcome>((resolve) =>
        exchange.signal.addEventListener('abort', () =>
          resolve({ state: 'canceled', text: `the tool stopped: ${exchange.stopReason()}` }),
        ),
      )
    },
  })
  const { exchange, stop } = exchangeOf()
  const served = toolCall({ asTask: true, servedAs: 'desk' })
  const { task, reply } = await house.delegate(served, { ...exchange, stop })
  await arrived.promise
  return { ...house, task: task!, reply }
}

test('a running call that is served as a task is stopped where it runs, whoever asks', async () => {
  const house = await houseThatServes()
  expect(await house.resume.cancel(house.task.id, OPERATOR)).toMatchObject({
    report: { confirmed: 'stopped', detail: expect.stringContaining('the tool stopped') },
    task: { state: 'canceled' },
  })
  expect((await house.reply).outcome).toMatchObject({ state: 'canceled' })
  expect(await house.resume.cancel(house.task.id, OPERATOR)).toMatchObject({
    report: { confirmed: 'already_ended' },
  })
})

test('a call served as a task is answered by whoever sent it, not here', async () => {
  const house = await houseThatServes()
  const by = { principal: OPERATOR, door: 'operator', deadlineAt: Date.now() + 60_000 }
  const answers = [{ key: 'q', action: 'accept', text: 'x' }] as const
  const answered = await house.resume.answer(house.task.id, answers, by, exchangeOf().exchange)
  expect(answered?.outcome).toMatchObject({
    ran: 'no',
    detail: expect.stringContaining('/a2a/desk'),
  })
  await house.resume.cancel(house.task.id, OPERATOR)
})

test('news that the record has no room for ends the task instead of being tried for ever', async () => {
  const house = await houseThatAsks({
    over: ({ tasks }) => ({
      tasks: {
        ...tasks,
        commit: (commit, fence) =>
          commit.writes.length === 0
            ? tasks.commit(commit, fence)
            : Promise.reject(new ComityError('not_allowed', 'at most 268435456 bytes are kept')),
      },
    }),
  })
  const chunk = { artifactId: 'a', append: false, last: true, parts: [{ kind: 'text', text: 'x' }] }
  const news = { kind: 'artifact', chunk } as TaskNews
  const { fence } = only(await house.store.tasks.claim('w', 1, 60_000))
  expect(await house.resume.news(house.task.id, news, fence)).toBe('stop')
  expect(await house.store.tasks.load(house.task.id, ALICE)).toMatchObject({
    state: 'failed',
    theirWords: expect.stringContaining('268435456'),
    artifacts: [],
  })
})
