import { expect, test } from 'vitest'
import {
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
import { ComityError } from './words/errors.ts'
import type { Outcome } from './words/outcome.ts'

test('an approved call that asks goes on round by round, and no round can be repeated', async () => {
  const replies: Outcome[] = [asking('one'), asking('two'), completed(), completed()]
  let sent = 0
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      sent += 1
      return replies.shift() ?? completed()
    },
  })
  house.rules.effect = 'ask'
  const { exchange } = exchangeOf()
  const refused = await house.dispatch(toolCall(), exchange)
  expect(refused.outcome).toMatchObject({ code: 'approval_required' })
  const [asked] = house.store.approvals.list()
  await house.store.approvals.answer(asked!.id, 'approved', 'terminal')

  const first = await house.dispatch(toolCall(), exchange)
  const round = (callId: string, key: string) => {
    const answers = [{ key, action: 'accept', text: 'yes' }] as const
    return { callId, handle: HANDLE, answers, approvalId: asked!.id }
  }
  const repeated = toolCall({ continuation: round(first.callId, 'one') })
  const second = await house.dispatch(repeated, exchange)
  expect(second.outcome.state).toBe('input_required')
  expect((await house.dispatch(repeated, exchange)).outcome).toMatchObject({
    state: 'failed',
    ran: 'no',
    code: 'approval_required',
  })
  const last = toolCall({ continuation: round(second.callId, 'two') })
  expect((await house.dispatch(last, exchange)).outcome.state).toBe('completed')
  expect((await house.dispatch(last, exchange)).outcome).toMatchObject({ ran: 'no' })
  expect(sent).toBe(3)
})

test('the same message again is the same call: before the gate, and with its task', async () => {
  let sent = 0
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      sent += 1
      return completed()
    },
  })
  const message = (digest = 'one') =>
    toolCall({ asTask: true, idempotency: { key: 'm-1', digest } })
  const { exchange } = exchangeOf()
  const first = await house.delegate(message(), exchange)
  await first.reply
  // What let the first through is spent by now; the same message needs nothing new.
  house.rules.effect = 'deny'
  const second = await house.delegate(message(), exchange)
  expect(second).toMatchObject({
    callId: first.callId,
    task: { id: first.task?.id },
    earlier: true,
  })
  expect((await house.dispatch(message('other'), exchange)).outcome).toMatchObject({
    ran: 'no',
    code: 'key_conflict',
  })
  const bob = { id: 'bob', groups: [], via: 'token' } as const
  house.rules.effect = 'allow'
  const others = await house.dispatch({ ...message(), principal: bob }, exchange)
  expect(others.outcome.state).toBe('completed')
  expect(sent).toBe(2)
})

test('an outcome that the record does not take still reaches its caller, and the fault is told', async () => {
  const faults: string[] = []
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      return completed({ handle: HANDLE })
    },
    over: ({ ledger }) => ({
      ledger: {
        ...ledger,
        settle: () => Promise.reject(new ComityError('store_unwritable', 'disk is full')),
      },
      onFault: (what) => void faults.push(what),
    }),
  })
  const { outcome, task } = await house.dispatch(delegation(), exchangeOf().exchange)
  expect(outcome.state).toBe('completed')
  expect(task?.state).toBe('completed')
  expect(faults).toEqual([expect.stringContaining('completed')])
})

test('a record that takes no more before the send is a refusal: nothing leaves', async () => {
  const house = await openCoreHouse({
    over: ({ ledger }) => ({
      ledger: {
        ...ledger,
        open: () => Promise.reject(new ComityError('not_allowed', 'the record is too large')),
      },
    }),
  })
  expect((await house.dispatch(toolCall(), exchangeOf().exchange)).outcome).toMatchObject({
    state: 'failed',
    ran: 'no',
    code: 'record_unwritable',
    detail: expect.stringContaining('the record is too large'),
  })
})

test.each([
  ['not_allowed', 'approval_required'],
  ['store_unwritable', 'record_unwritable'],
] as const)('an approval that cannot be asked for (%s) is a refusal: %s', async (fault, code) => {
  const house = await openCoreHouse({
    over: ({ approvals }) => ({
      approvals: {
        ...approvals,
        request: () => Promise.reject(new ComityError(fault, '250 approvals wait')),
      },
    }),
  })
  house.rules.effect = 'ask'
  const { outcome } = await house.dispatch(toolCall(), exchangeOf().exchange)
  expect(outcome).toMatchObject({
    ran: 'no',
    code,
    detail: expect.stringContaining('250 approvals wait'),
  })
  expect(outcome).not.toHaveProperty('approvalId')
})

test("a call settled by hand while it runs still brings its caller the peer's word", async () => {
  const arrived = deferred()
  const answer = deferred<Outcome>()
  const faults: string[] = []
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      arrived.resolve()
      return answer.promise
    },
    over: () => ({ onFault: (what) => void faults.push(what) }),
  })
  const { exchange, gone } = exchangeOf()
  const { callId, task, reply } = await house.delegate(delegation(), exchange)
  await arrived.promise
  gone()
  await house.store.settleByHand(callId, { as: 'did_not_run', by: 'operator', note: '' })
  answer.resolve(completed({ handle: HANDLE }))
  expect(await reply).toMatchObject({
    outcome: { state: 'completed' },
    task: { id: task?.id, state: 'failed' },
  })
  expect(house.store.call(callId)).toMatchObject({ outcome: { state: 'completed' } })
  expect(faults).toEqual([])
})

test('a delivery that the record has no room for is told, and its task ends without it', async () => {
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      const parts = [{ kind: 'text', text: 'x' }] as const
      const artifacts = [{ artifactId: 'a', append: false, last: true, parts }]
      return { ...completed({ handle: HANDLE }), artifacts } as Outcome
    },
    over: ({ ledger }) => ({
      ledger: {
        ...ledger,
        settle: (callId, outcome, options) =>
          options.task === undefined || options.task.writes.length === 0
            ? ledger.settle(callId, outcome, options)
            : Promise.reject(new ComityError('not_allowed', 'at most 268435456 bytes are kept')),
      },
    }),
  })
  const { callId, outcome, task } = await house.dispatch(delegation(), exchangeOf().exchange)
  expect(outcome.state).toBe('completed')
  expect(task).toMatchObject({ state: 'failed', theirWords: expect.stringContaining('268435456') })
  expect(house.store.call(callId)).toMatchObject({ outcome: { state: 'completed' } })
})

test('a call is on record before it leaves, noted as it leaves, and settled when it is answered', async () => {
  const seen: (string | undefined)[] = []
  const house = await openCoreHouse({
    call: async (call, _exchange, dispatched) => {
      seen.push(house.store.call(call.callId)?.state)
      dispatched(FACTS)
      return completed()
    },
  })
  const { callId, outcome } = await house.dispatch(toolCall(), exchangeOf().exchange)
  expect([seen, outcome.state]).toEqual([['open'], 'completed'])
  await house.store.flush()
  const kinds = house.store.entries({ callId, after: 0 }).map(({ kind }) => kind)
  expect(kinds).toEqual(['opened', 'dispatched', 'settled'])
})

test('a fault before anything left is failed and never ran; after that nobody knows', async () => {
  let leaves = false
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      if (leaves) dispatched(FACTS)
      throw new Error('the adapter broke')
    },
  })
  const { exchange } = exchangeOf()
  expect((await house.dispatch(toolCall(), exchange)).outcome).toMatchObject({
    state: 'failed',
    ran: 'no',
    code: 'not_sent',
    detail: expect.stringContaining('the adapter broke'),
  })
  leaves = true
  const lost = await house.dispatch(toolCall(), exchange)
  expect(lost.outcome).toMatchObject({ state: 'unknown', because: 'sent_no_answer' })
  await house.store.flush()
  expect(house.store.call(lost.callId)).toMatchObject({ state: 'unknown' })

  const twin = await house.dispatch(toolCall(), exchange)
  expect(twin.outcome).toMatchObject({ because: 'unsettled_twin', twinOf: lost.callId })
  const insisted = await house.dispatch(toolCall({ insist: lost.callId }), exchange)
  expect(insisted.outcome).toMatchObject({ because: 'sent_no_answer' })
})

test('an act whose caller was gone before it left is a twin already for one that is opened right behind it', async () => {
  const house = await openCoreHouse({ call: () => Promise.resolve(completed()) })
  const { exchange } = exchangeOf()
  const [first, second] = await Promise.all([
    house.dispatch(toolCall(), { ...exchange, onGone: (listener) => listener() }),
    house.dispatch(toolCall(), exchangeOf().exchange),
  ])
  expect(first.outcome).toMatchObject({ state: 'completed' })
  expect(second.outcome).toMatchObject({ because: 'unsettled_twin', twinOf: first.callId })
})

test('an act whose caller is gone is the twin of the next equal one; two that wait are two', async () => {
  const arrived = [deferred(), deferred()]
  const goOn = deferred()
  let sent = 0
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      arrived[sent]?.resolve()
      sent += 1
      await goOn.promise
      return completed()
    },
  })
  const { exchange, gone } = exchangeOf()
  const first = house.dispatch(toolCall(), exchange)
  await arrived[0]!.promise
  const second = house.dispatch(toolCall(), exchangeOf().exchange)
  await arrived[1]!.promise
  gone()
  const third = await house.dispatch(toolCall(), exchangeOf().exchange)
  expect(third.outcome).toMatchObject({ because: 'unsettled_twin' })
  goOn.resolve()
  for (const { outcome } of await Promise.all([first, second]))
    expect(outcome.state).toBe('completed')
  expect(sent).toBe(2)
})

test.each([
  ['rules', 'gate_changed'],
  ['pin', 'pin_changed'],
  ['caller', 'canceled_before_send'],
] as const)(
  'what changes between the record and the send holds the call back: %s',
  async (what, code) => {
    const { exchange, stop } = exchangeOf()
    let sent = 0
    const house = await openCoreHouse({
      call: async () => {
        sent += 1
        return completed()
      },
      over: ({ ledger }) => ({
        ledger: {
          ...ledger,
          open: async (opening) => {
            const opened = await ledger.open(opening)
            if (what === 'rules') house.rules.version = 'rules-2'
            if (what === 'pin') house.rules.pin = 'changed'
            if (what === 'caller') stop('caller_canceled')
            return opened
          },
        },
      }),
    })
    const { callId, outcome } = await house.dispatch(toolCall(), exchange)
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no', code })
    expect(sent).toBe(0)
    await house.store.flush()
    expect(house.store.call(callId)).toMatchObject({ state: 'settled', outcome: { code } })
  },
)

test('an approval passes one of two equal calls; the other is told to ask anew, and is on record', async () => {
  let sent = 0
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      sent += 1
      return completed()
    },
  })
  house.rules.effect = 'ask'
  const { exchange } = exchangeOf()
  await house.dispatch(toolCall(), exchange)
  await house.store.approvals.answer(house.store.approvals.list()[0]!.id, 'approved', 'operator')
  const both = await Promise.all([
    house.dispatch(toolCall(), exchange),
    house.dispatch(toolCall(), exchange),
  ])
  expect(both.map(({ outcome }) => outcome.state).toSorted()).toEqual(['completed', 'failed'])
  expect(sent).toBe(1)
  await house.store.flush()
  const spent = both.find(({ outcome }) => outcome.state === 'failed')
  expect(house.store.call(spent!.callId)).toMatchObject({
    state: 'refused',
    outcome: { code: 'approval_required' },
  })
})

test("a peer's answer after the call had ended is on record and moves nothing", async () => {
  let answerLate = (): void => undefined
  const house = await openCoreHouse({
    call: (_call, _exchange, dispatched, late) => {
      dispatched(FACTS)
      answerLate = () => late?.(completed())
      return Promise.resolve({ state: 'unknown', because: 'deadline', detail: 'no answer in time' })
    },
  })
  const { callId, outcome } = await house.dispatch(toolCall(), exchangeOf().exchange)
  expect(outcome.state).toBe('unknown')
  answerLate()
  await house.store.flush()
  expect(house.store.call(callId)?.state).toBe('unknown')
  const last = house.store.entries({ callId, limit: 50 }).find(({ kind }) => kind === 'late_news')
  expect(last?.facts).toMatchObject({ state: 'completed', ran: 'yes' })
})
