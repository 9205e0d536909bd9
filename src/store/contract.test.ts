import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import type { ApprovalCase } from '../core/words/approval.ts'
import { refused } from '../core/words/outcome.ts'
import { openStore } from './open-sqlite.ts'
import type { Store } from './store.ts'
import {
  BOB,
  completed,
  createCall,
  createFolder,
  createOpening,
  createTask,
  createTestClock,
  native,
  SENT_NO_ANSWER,
} from './testing/make.ts'

let folder: ReturnType<typeof createFolder>
let clock: ReturnType<typeof createTestClock>
let store: Store
const faults: string[] = []

beforeEach(async () => {
  folder = createFolder()
  clock = createTestClock()
  faults.length = 0
  store = await open()
})

afterEach(async () => {
  await store.close()
  folder.remove()
  expect(faults).toEqual([])
})

function open(): Promise<Store> {
  return openStore({ file: folder.file, clock, onFault: (fault) => faults.push(fault.message) })
}

async function reopen(): Promise<void> {
  await store.close()
  store = await open()
}

const CASE: ApprovalCase = {
  digest: 'd'.repeat(64),
  principal: 'alice',
  peer: 'tickets',
  capability: 'delete',
  endpoint: 'endpoint-1',
  risk: 'destructive',
  rule: 'preset personal',
  argumentsText: '{"id":1}',
  theirWords: 'deletes a ticket',
}

describe('ledger', () => {
  test('a call is opened, noted and settled, and reads back whole', async () => {
    expect(await store.ledger.open(createOpening('c1'))).toEqual({ kind: 'opened' })
    store.ledger.note('c1', { kind: 'dispatched', facts: { wireId: 'w1' } })
    await store.ledger.settle('c1', completed('{"x":1}'), { barrier: true })

    const call = store.call('c1')
    expect(call).toMatchObject({
      callId: 'c1',
      state: 'settled',
      principal: 'alice',
      sideEffect: true,
      facts: { route: { peer: 'tickets' }, decision: { rule: 'preset personal' } },
      outcome: { state: 'completed', ran: 'yes', toolError: false },
    })
    expect(new TextDecoder().decode(call?.arguments?.bytes)).toBe('{"id":9007199254740993}')
    expect(new TextDecoder().decode(call?.result?.bytes)).toBe('{"x":1}')
    expect(call?.entries.map((entry) => entry.kind)).toEqual(['opened', 'dispatched', 'settled'])
    expect(await store.verify()).toMatchObject({ sound: true, entries: 3 })
  })

  test('entries hold salted digests only: equal arguments have different ones, and no text of them', async () => {
    await store.ledger.open(createOpening('c1', { actKey: 'k1' }))
    await store.ledger.open(createOpening('c2', { actKey: 'k2' }))
    const [first, second] = store.entries({ kind: 'opened' })
    expect(JSON.stringify(first)).not.toContain('9007199254740993')
    expect(first?.facts['arguments']).not.toEqual(second?.facts['arguments'])
  })

  test('a payload above 4 KiB is a digest only', async () => {
    const large = native(JSON.stringify('x'.repeat(5000)))
    await store.ledger.open(
      createOpening('c1', { call: createCall('c1', { arguments: large, native: large }) }),
    )
    const payload = store.call('c1')?.arguments
    expect(payload).toMatchObject({ size: 5002, kind: 'arguments' })
    expect(payload?.bytes).toBeUndefined()
  })

  test('read class is recorded after the fact, in order', async () => {
    const opening = createOpening('r1', { sideEffect: false })
    expect(await store.ledger.open(opening)).toEqual({ kind: 'opened' })
    await store.ledger.settle('r1', completed(), { barrier: false })
    await store.flush()
    expect(store.entries({ callId: 'r1' }).map((entry) => entry.kind)).toEqual([
      'opened',
      'settled',
    ])
  })

  test('a refusal is a call of its own, with its reason', async () => {
    store.ledger.refuse(
      createCall('c1'),
      { state: 'failed', origin: 'policy', ran: 'no', code: 'denied', detail: 'rules[0]' },
      undefined,
    )
    await store.flush()
    expect(store.call('c1')).toMatchObject({
      state: 'refused',
      outcome: { code: 'denied', detail: 'rules[0]', ran: 'no' },
    })
  })

  test('two live callers are two acts', async () => {
    expect(await store.ledger.open(createOpening('c1'))).toEqual({ kind: 'opened' })
    expect(await store.ledger.open(createOpening('c2'))).toEqual({ kind: 'opened' })
  })

  test('an act whose caller is gone has a twin in the next equal one, until it is settled', async () => {
    await store.ledger.open(createOpening('c1'))
    store.ledger.callerGone('c1')
    expect(await store.ledger.open(createOpening('c2'))).toMatchObject({
      kind: 'twin',
      callId: 'c1',
      state: 'open_caller_gone',
    })
    expect(store.call('c2')).toBeUndefined()
    await store.ledger.settle('c1', completed(), { barrier: true })
    expect(await store.ledger.open(createOpening('c2'))).toEqual({ kind: 'opened' })
  })

  test('an unknown act has a twin; insisting on that one lets it through, insisting on another does not', async () => {
    await store.ledger.open(createOpening('c1'))
    await store.ledger.settle('c1', SENT_NO_ANSWER, { barrier: true })
    const twin = { kind: 'twin', callId: 'c1', state: 'unknown' }
    expect(await store.ledger.open(createOpening('c2'))).toMatchObject(twin)
    const insisting = (callId: string, insist: string) =>
      store.ledger.open(createOpening(callId, { call: createCall(callId, { insist }) }))
    expect(await insisting('c2', 'c9')).toMatchObject(twin)
    expect(await insisting('c2', 'c1')).toEqual({ kind: 'opened' })
  })

  test('insisting on a call lets one through, however many try; the next one names that one', async () => {
    await store.ledger.open(createOpening('c0'))
    await store.ledger.settle('c0', SENT_NO_ANSWER, { barrier: true })
    const insisting = async (callId: string, insist: string) =>
      store.ledger.open(createOpening(callId, { call: createCall(callId, { insist }) }))
    const tries = Array.from({ length: 20 }, (_, index) => insisting(`c${index + 1}`, 'c0'))
    const opened = await Promise.all(tries)
    const twin = { kind: 'twin', callId: 'c0', insistedBy: 'c1', state: 'unknown' }
    expect(opened.filter(({ kind }) => kind === 'opened')).toHaveLength(1)
    expect(opened[19]).toMatchObject(twin)

    // Also once that one has ended and after a restart: the first is still unsettled.
    await store.ledger.settle('c1', completed(), { barrier: true })
    await reopen()
    expect(await insisting('c30', 'c0')).toMatchObject(twin)
    expect(await store.ledger.open(createOpening('c30'))).toMatchObject(twin)
    expect(await insisting('c30', 'c1')).toEqual({ kind: 'opened' })
    expect(await insisting('c31', 'c1')).toMatchObject({ ...twin, insistedBy: 'c30' })
  })

  test('an idempotency key is one call, with its content, for good; a refused call holds none', async () => {
    const idempotency = { key: 'k'.repeat(64), digest: 'd'.repeat(64) }
    const other = { ...idempotency, digest: 'e'.repeat(64) }
    expect(await store.ledger.recorded(idempotency)).toBeUndefined()
    const task = createTask('t1', 'submitted', { callId: 'c1' })
    const opened = await Promise.all([
      store.ledger.open(createOpening('c1', { idempotency, task })),
      store.ledger.open(createOpening('c2', { idempotency })),
      store.ledger.open(createOpening('c3', { idempotency: other })),
    ])
    const first = { kind: 'recorded', callId: 'c1', taskId: 't1' }
    expect(opened).toEqual([{ kind: 'opened' }, first, { kind: 'key_conflict', callId: 'c1' }])
    expect(await store.ledger.recorded(idempotency)).toEqual(first)
    await reopen()
    // Unknown by now: the same message is that call, and no twin of it.
    expect(await store.ledger.open(createOpening('c4', { idempotency }))).toEqual(first)
    expect(await store.ledger.recorded(other)).toEqual({ kind: 'key_conflict', callId: 'c1' })
    expect(store.call('c2')).toBeUndefined()
  })

  test('a key is free again once its call is known never to have run, unless a task came of it', async () => {
    const keyOf = (letter: string) => ({
      key: letter.repeat(64),
      digest: 'd'.repeat(64),
    })
    const notSent = refused('transport', 'peer_unreachable', 'nobody answers')
    const { ledger } = store
    await ledger.open(createOpening('c1', { idempotency: keyOf('a') }))
    await ledger.settle('c1', notSent, { barrier: false })
    expect(await ledger.recorded(keyOf('a'))).toBeUndefined()
    expect(await ledger.open(createOpening('c2', { idempotency: keyOf('a') }))).toEqual({
      kind: 'opened',
    })
    // All in one batch.
    const third = ledger.open(createOpening('c3', { idempotency: keyOf('b') }))
    const settled = ledger.settle('c3', notSent, { barrier: true })
    const fourth = ledger.open(createOpening('c4', { idempotency: keyOf('b') }))
    expect([await third, await settled, await fourth]).toEqual([
      { kind: 'opened' },
      'settled',
      { kind: 'opened' },
    ])
    await ledger.settle('c4', SENT_NO_ANSWER, { barrier: true })
    const unknown = { kind: 'recorded', callId: 'c4' }
    expect(await ledger.recorded(keyOf('b'))).toEqual(unknown)
    await store.settleByHand('c4', { as: 'did_not_run', by: 'operator', note: 'looked' })
    expect(await ledger.recorded(keyOf('b'))).toBeUndefined()

    const task = createTask('t5', 'submitted', { callId: 'c5' })
    await ledger.open(createOpening('c5', { idempotency: keyOf('c'), task }))
    await ledger.settle('c5', notSent, { barrier: true })
    expect(await ledger.recorded(keyOf('c'))).toMatchObject({ callId: 'c5', taskId: 't5' })
    await reopen()
    expect(await store.ledger.recorded(keyOf('a'))).toEqual({ kind: 'recorded', callId: 'c2' })
    expect(['c1', 'c4'].map((callId) => store.call(callId)?.state)).toEqual(['settled', 'settled'])
  })

  test('read class is never a twin and has none', async () => {
    await store.ledger.open(createOpening('c1'))
    await store.ledger.settle('c1', SENT_NO_ANSWER, { barrier: true })
    expect(await store.ledger.open(createOpening('r1', { sideEffect: false }))).toEqual({
      kind: 'opened',
    })
  })

  test('a call is settled once; late words of the peer may correct a person, not the peer', async () => {
    await store.ledger.open(createOpening('c1'))
    await store.ledger.settle('c1', SENT_NO_ANSWER, { barrier: true })
    await store.settleByHand('c1', { as: 'did_not_run', by: 'operator', note: 'looked' })
    expect(store.call('c1')?.outcome).toEqual({
      byHand: { as: 'did_not_run', by: 'operator', note: 'looked' },
    })
    await store.ledger.settle('c1', completed(), { barrier: true })
    expect(store.call('c1')?.outcome).toMatchObject({ state: 'completed' })
    await expect(store.ledger.settle('c1', completed(), { barrier: true })).rejects.toMatchObject({
      code: 'conflict',
    })
    await expect(
      store.settleByHand('c1', { as: 'ran', by: 'operator', note: '' }),
    ).rejects.toMatchObject({ code: 'conflict' })
    await expect(
      store.settleByHand('c9', { as: 'ran', by: 'operator', note: '' }),
    ).rejects.toMatchObject({ code: 'not_found' })
  })

  test('one bad command in a batch does not take the others', async () => {
    await store.ledger.open(createOpening('c1', { actKey: 'k1' }))
    const results = await Promise.allSettled([
      store.ledger.open(createOpening('c2', { actKey: 'k2' })),
      store.ledger.open(createOpening('c1', { actKey: 'k3' })),
      store.ledger.open(createOpening('c3', { actKey: 'k4' })),
    ])
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await store.verify()).toMatchObject({ sound: true, entries: 3 })
  })

  test('what was open when the store was left is unknown when it is opened again', async () => {
    await store.ledger.open(createOpening('c1'))
    await reopen()
    expect(store.recovered).toBe(1)
    expect(store.call('c1')).toMatchObject({
      state: 'unknown',
      outcome: { state: 'unknown', because: 'process_died' },
    })
    expect(await store.ledger.open(createOpening('c2'))).toMatchObject({
      kind: 'twin',
      callId: 'c1',
    })
  })

  test('facts that are too long or cannot be said in JSON do not stop the record', async () => {
    await store.ledger.open(createOpening('c1'))
    const facts = { text: 'x'.repeat(100_000), act: () => 1, big: 10n }
    await store.ledger.record('c1', { kind: 'asked', facts })
    expect(store.entries({ kind: 'asked' })[0]?.facts).toMatchObject({
      tooLong: { keys: ['text', 'act', 'big'] },
    })
  })
})

describe('approvals', () => {
  test('asked once, answered, spent once by one call', async () => {
    const asked = await store.approvals.request(CASE, 900_000)
    expect(asked).toMatchObject({ ...CASE, state: 'pending' })
    expect(await store.approvals.request(CASE, 900_000)).toEqual(asked)
    expect(await store.approvals.find(CASE.digest)).toEqual(asked)

    const opening = (callId: string) => createOpening(callId, { approvalId: asked.id })
    expect(await store.ledger.open(opening('c1'))).toEqual({ kind: 'approval_spent' })
    expect(store.call('c1')).toBeUndefined()
    expect(await store.approvals.answer(asked.id, 'approved', 'operator')).toMatchObject({
      state: 'approved',
    })
    const opened = await Promise.all([
      store.ledger.open(opening('c1')),
      store.ledger.open(opening('c2')),
      store.ledger.open(opening('c3')),
    ])
    expect(opened.map(({ kind }) => kind).toSorted()).toEqual([
      'approval_spent',
      'approval_spent',
      'opened',
    ])
    expect(await store.approvals.find(CASE.digest)).toBeUndefined()
    expect(store.approvals.list()).toMatchObject([{ id: asked.id, state: 'spent' }])
  })

  test('a later round of the same call carries it on; the round before cannot, and no other call', async () => {
    const { id } = await store.approvals.request(CASE, 60_000)
    await store.approvals.answer(id, 'approved', 'terminal')
    const round = (callId: string, earlier?: string) =>
      store.ledger.open(
        createOpening(callId, {
          actKey: callId,
          approvalId: id,
          call: createCall(
            callId,
            earlier === undefined
              ? {}
              : {
                  continuation: {
                    callId: earlier,
                    handle: { peer: 'tickets', kind: 'mcp_state', sealed: 's' },
                    answers: [],
                    approvalId: id,
                  },
                },
          ),
        }),
      )
    expect(await round('c0', 'nobody')).toEqual({ kind: 'opened' })
    expect(await round('c1', 'c0')).toEqual({ kind: 'opened' })
    expect(await round('c1-again', 'c0')).toEqual({ kind: 'approval_spent' })
    expect(await round('c2')).toEqual({ kind: 'approval_spent' })
    expect(await round('c3', 'c1')).toEqual({ kind: 'opened' })
    await reopen()
    expect(await round('c4', 'c1')).toEqual({ kind: 'approval_spent' })
  })

  test('one principal’s waiting approvals do not keep another’s from being asked', async () => {
    const ask = (principal: string, index: number) =>
      store.approvals.request({ ...CASE, principal, digest: `${principal} ${index}` }, 60_000)
    const asked = Array.from({ length: 300 }, (_, index) => ask('bob', index))
    const refused = (await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected')
    expect(refused).toHaveLength(50)
    expect(refused[0]).toMatchObject({
      reason: { code: 'not_allowed', message: expect.stringContaining('250 approvals of bob') },
    })
    expect(await ask('alice', 0)).toMatchObject({ state: 'pending' })
    clock.move(60_000)
    expect(await ask('bob', 300)).toMatchObject({ state: 'pending' })
  })

  test('an approval lapses, and cannot be answered then', async () => {
    const asked = await store.approvals.request(CASE, 1000)
    clock.move(1000)
    expect(await store.approvals.find(CASE.digest)).toBeUndefined()
    await expect(store.approvals.answer(asked.id, 'approved', 'operator')).rejects.toMatchObject({
      code: 'conflict',
    })
    expect((await store.approvals.request(CASE, 1000)).id).not.toBe(asked.id)
  })

  test('a clock set back does not lengthen an approval', async () => {
    const asked = await store.approvals.request(CASE, 900_000)
    await store.approvals.answer(asked.id, 'approved', 'operator')
    clock.move(-3_600_000)
    expect(await store.ledger.open(createOpening('c1', { approvalId: asked.id }))).toEqual({
      kind: 'approval_spent',
    })
  })

  test("another principal cannot spend it, and a twin does not spend its first one's", async () => {
    const asked = await store.approvals.request(CASE, 900_000)
    await store.approvals.answer(asked.id, 'approved', 'operator')
    const bobs = createOpening('c1', {
      call: createCall('c1', { principal: BOB }),
      approvalId: asked.id,
    })
    expect(await store.ledger.open(bobs)).toEqual({ kind: 'approval_spent' })
    await store.ledger.open(createOpening('c2'))
    store.ledger.callerGone('c2')
    expect(await store.ledger.open(createOpening('c3', { approvalId: asked.id }))).toMatchObject({
      kind: 'twin',
    })
    expect(await store.approvals.find(CASE.digest)).toMatchObject({ state: 'approved' })
  })

  test('a denial is found until it expires', async () => {
    const asked = await store.approvals.request(CASE, 1000)
    await store.approvals.answer(asked.id, 'denied', 'operator')
    expect(await store.approvals.find(CASE.digest)).toMatchObject({ state: 'denied' })
    clock.move(1001)
    expect(await store.approvals.find(CASE.digest)).toBeUndefined()
  })

  test('a pending and an approved one survive a restart', async () => {
    const asked = await store.approvals.request(CASE, 900_000)
    await reopen()
    await store.approvals.answer(asked.id, 'approved', 'operator')
    await reopen()
    expect(await store.ledger.open(createOpening('c1', { approvalId: asked.id }))).toEqual({
      kind: 'opened',
    })
  })
})
