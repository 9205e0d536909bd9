import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import type { Effect } from '../core/ports/tasks.ts'
import { openStore } from './open-sqlite.ts'
import type { Store } from './store.ts'
import {
  ALICE,
  BOB,
  completed,
  createFolder,
  createOpening,
  createTask,
  createTestClock,
  native,
  OPERATOR,
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

describe('tasks', () => {
  async function delegate(id = 't1'): Promise<void> {
    const callId = `call-of-${id}`
    await store.ledger.open(
      createOpening(callId, { actKey: callId, task: createTask(id, 'submitted') }),
    )
  }

  const commitOf = (next: ReturnType<typeof createTask>) => ({ next, writes: [] })

  test('created by open, found by its owner and the operator, by nobody else', async () => {
    await delegate()
    expect(await store.tasks.load('t1', ALICE)).toEqual(createTask('t1', 'submitted'))
    expect(await store.tasks.load('t1', BOB)).toBeUndefined()
    expect(await store.tasks.load('t1', OPERATOR)).toMatchObject({ id: 't1' })
    expect(await store.tasks.list(BOB)).toEqual([])
    expect(await store.tasks.list(ALICE)).toHaveLength(1)
  })

  test('a version is committed once; the other writer is stale', async () => {
    await delegate()
    const next = createTask('t1', 'working')
    const results = await Promise.all([
      store.tasks.commit(commitOf(next)),
      store.tasks.commit(commitOf(next)),
    ])
    expect(results).toEqual(['committed', 'stale'])
    expect(await store.tasks.load('t1', ALICE)).toMatchObject({ state: 'working', version: 2 })
  })

  test('settle moves call and task in one unit, or neither', async () => {
    await delegate()
    const handle = { peer: 'research', kind: 'a2a_task', sealed: 's' } as const
    await store.ledger.settle(
      'call-of-t1',
      { state: 'working', handle },
      {
        barrier: true,
        task: { ...commitOf(createTask('t1', 'working')), effects: [{ do: 'follow' }] },
      },
    )
    expect(store.call('call-of-t1')).toMatchObject({ state: 'settled', taskId: 't1' })

    await delegate('t2')
    await store.tasks.commit(commitOf(createTask('t2', 'working')))
    await expect(
      store.ledger.settle(
        'call-of-t2',
        { state: 'working', handle },
        { barrier: true, task: commitOf(createTask('t2', 'working')) },
      ),
    ).rejects.toMatchObject({ code: 'conflict' })
    expect(store.call('call-of-t2')).toMatchObject({ state: 'open' })
  })

  test.each([
    ['did_not_run', 'a person says that it never ran'],
    ['ran', 'a person says that it ran; its result is not on record'],
  ] as const)(
    'settled by hand as %s, the task of a call ends too and is looked for no more',
    async (as, words) => {
      await delegate()
      await reopen()
      await store.settleByHand('call-of-t1', { as, by: 'operator', note: '' })
      expect(await store.tasks.load('t1', ALICE)).toMatchObject({
        state: 'failed',
        theirWords: words,
      })
      expect(await store.tasks.claim('w', 10, 1000)).toEqual([])
    },
  )

  test("a person's word while the call runs does not lose the peer's: it is on record, the task has ended", async () => {
    await delegate()
    store.ledger.callerGone('call-of-t1')
    await store.settleByHand('call-of-t1', { as: 'did_not_run', by: 'operator', note: '' })
    const next = createTask('t1', 'completed')
    const settled = store.ledger.settle('call-of-t1', completed(), {
      barrier: true,
      task: commitOf(next),
    })
    expect(await settled).toBe('late')
    expect(store.call('call-of-t1')).toMatchObject({ outcome: { state: 'completed' } })
    expect(store.entries({ kind: 'settled' })).toMatchObject([{ facts: { afterHand: true } }])
    expect(await store.tasks.load('t1', ALICE)).toMatchObject({ state: 'failed' })
  })

  test('a terminal task moves nowhere and takes no artifact; its verdict may be written', async () => {
    await delegate()
    await store.tasks.commit(commitOf(createTask('t1', 'completed')))
    const at2 = (state: 'completed' | 'working') => createTask('t1', state, { version: 2 })
    await expect(store.tasks.commit(commitOf(at2('working')))).rejects.toMatchObject({
      code: 'conflict',
    })
    await expect(
      store.tasks.commit({
        next: at2('completed'),
        writes: [{ do: 'append', artifactId: 'a', parts: [{ kind: 'text', text: 'x' }] }],
      }),
    ).rejects.toMatchObject({ code: 'conflict' })
    const verdict = { state: 'pending' } as const
    expect(await store.tasks.commit(commitOf({ ...at2('completed'), verdict }))).toBe('committed')
  })

  test('artifact parts are kept byte for byte, appended in order, replaced whole', async () => {
    await delegate()
    const record = { artifactId: 'a', parts: 0, bytes: 0, complete: false, headless: false }
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    const at = (version: number, parts: number) =>
      createTask('t1', 'working', { version, artifacts: [{ ...record, parts }] })
    await store.tasks.commit({
      next: at(1, 2),
      writes: [
        {
          do: 'replace',
          artifactId: 'a',
          parts: [
            { kind: 'text', text: 'é漢', mediaType: 'text/plain' },
            { kind: 'raw', bytes, filename: 'f' },
          ],
        },
      ],
    })
    await store.tasks.commit({
      next: at(2, 3),
      writes: [{ do: 'append', artifactId: 'a', parts: [{ kind: 'data', json: '{"n":1.0}' }] }],
    })
    expect((await store.tasks.artifacts('t1'))[0]?.content).toEqual([
      { kind: 'text', text: 'é漢', mediaType: 'text/plain' },
      { kind: 'raw', bytes, filename: 'f' },
      { kind: 'data', json: '{"n":1.0}' },
    ])
    await store.tasks.commit({
      next: at(3, 1),
      writes: [{ do: 'replace', artifactId: 'a', parts: [{ kind: 'url', url: 'https://x' }] }],
    })
    expect((await store.tasks.artifacts('t1'))[0]?.content).toEqual([
      { kind: 'url', url: 'https://x' },
    ])
  })

  test("a peer's question survives byte for byte", async () => {
    await delegate()
    const question = {
      kind: 'form',
      key: 'q',
      text: 'which?',
      native: native('{ "n":9007199254740993 }'),
    } as const
    await store.tasks.commit(
      commitOf(createTask('t1', 'input_required', { questions: [question] })),
    )
    const [kept] = (await store.tasks.load('t1', ALICE))?.questions ?? []
    expect(new TextDecoder().decode(kept?.native.bytes)).toBe('{ "n":9007199254740993 }')
    expect(kept?.native).toMatchObject({ protocol: 'mcp', revision: '2026-07-28' })
  })

  test('a question or words of any size do not block a task: the beginning and a digest are kept', async () => {
    await delegate()
    const body = native(JSON.stringify({ parts: [{ text: 'x'.repeat(2_000_000) }] }))
    const question = { kind: 'form', key: 'q', text: 'y'.repeat(2_000_000), native: body } as const
    const next = createTask('t1', 'input_required', {
      theirWords: 'z'.repeat(2_000_000),
      questions: Array.from({ length: 20 }, (_, index) => ({ ...question, key: `q${index}` })),
    })
    expect(await store.tasks.commit(commitOf(next))).toBe('committed')
    const kept = await store.tasks.load('t1', ALICE)
    // Committed again, nothing is clipped twice.
    const again = { ...kept!, updatedAt: '2026-11-30T00:00:01.000Z' }
    expect(await store.tasks.commit(commitOf(again))).toBe('committed')
    const twice = await store.tasks.load('t1', ALICE)
    expect(twice?.questions.map(({ text }) => text)).toEqual(
      kept?.questions.map(({ text }) => text),
    )
    expect(twice?.theirWords).toBe(kept?.theirWords)
    expect(kept?.theirWords).toMatch(/^z{1000}.*2000000 characters\)$/u)
    expect(kept?.questions.map(({ key }) => key)).toEqual(next.questions.map(({ key }) => key))
    expect(kept?.questions[0]?.text).toMatch(/^y{1000}.*2000000 characters\)$/u)
    expect(kept?.questions[0]?.native.value()).toEqual({
      clipped: { bytes: body.bytes.byteLength, sha256: expect.stringMatching(/^[0-9a-f]{64}$/u) },
    })
  })

  test('an effect is claimed by one owner; a lease that ran out is taken over and the late one fenced', async () => {
    await delegate()
    await store.tasks.commit({
      ...commitOf(createTask('t1', 'working')),
      effects: [{ do: 'follow' }],
    })
    const [claimed] = await store.tasks.claim('w1', 10, 1000)
    expect(claimed).toMatchObject({ effect: { do: 'follow' }, task: { id: 't1', version: 2 } })
    expect(await store.tasks.claim('w2', 10, 1000)).toEqual([])
    clock.move(1001)
    const [taken] = await store.tasks.claim('w2', 10, 1000)
    expect(taken?.fence.number).toBeGreaterThan(claimed?.fence.number ?? 0)
    const next = createTask('t1', 'completed', { version: 2 })
    expect(await store.tasks.commit(commitOf(next), claimed?.fence)).toBe('fenced')
    expect(await store.tasks.commit(commitOf(next), taken?.fence)).toBe('committed')
    if (claimed !== undefined) await store.tasks.done(claimed)
    clock.move(5000)
    expect(await store.tasks.claim('w3', 10, 1000)).toHaveLength(1)
  })

  test('effects are claimed by kind, and at most one of a task', async () => {
    const owing = async (id: string, effects: readonly Effect[]) => {
      await delegate(id)
      await store.tasks.commit({ ...commitOf(createTask(id, 'working')), effects })
    }
    await owing('t1', [{ do: 'follow' }])
    await owing('t2', [{ do: 'judge' }])
    await owing('t3', [{ do: 'follow' }, { do: 'judge' }])
    const judge = await store.tasks.claim('w', 10, 60_000, ['judge', 'find'])
    expect(new Set(judge.map(({ task, effect }) => `${effect.do} ${task.id}`))).toEqual(
      new Set(['judge t2', 'judge t3']),
    )
    const follow = await store.tasks.claim('w', 10, 60_000, ['follow'])
    expect(follow.map(({ task }) => task.id)).toEqual(['t1'])
  })

  test('done is done, postponed comes back, asked anew meanwhile is due again', async () => {
    await delegate()
    const follow = [{ do: 'follow' }] as const
    await store.tasks.commit({ ...commitOf(createTask('t1', 'working')), effects: follow })
    const [first] = await store.tasks.claim('w', 10, 60_000)
    if (first === undefined) throw new Error('nothing claimed')
    await store.tasks.postpone(first, 500)
    expect(await store.tasks.claim('w', 10, 60_000)).toEqual([])
    clock.move(500)
    const [second] = await store.tasks.claim('w', 10, 60_000)
    if (second === undefined) throw new Error('nothing claimed')
    // An answer, by a door, while the follower is about to be done.
    await store.tasks.commit({
      ...commitOf(createTask('t1', 'working', { version: 2 })),
      effects: follow,
    })
    await store.tasks.done(second)
    const [third] = await store.tasks.claim('w', 10, 60_000)
    if (third === undefined) throw new Error('nothing claimed')
    await store.tasks.done(third)
    expect(await store.tasks.claim('w', 10, 60_000)).toEqual([])
  })

  test('a waiter wakes after the commit, or by its signal', async () => {
    await delegate()
    const never = new AbortController()
    const waiting = store.tasks.changed('t1', 1, never.signal)
    await store.tasks.commit(commitOf(createTask('t1', 'working')))
    expect(await waiting).toMatchObject({ state: 'working', version: 2 })
    expect(await store.tasks.changed('t1', 1, never.signal)).toMatchObject({ version: 2 })
    const more = store.tasks.changed('t1', 2, never.signal)
    never.abort()
    expect(await more).toBeUndefined()
  })

  test('a delegation that was open at the end owes a search; finding the task settles its call', async () => {
    await delegate()
    await reopen()
    expect(await store.tasks.load('t1', ALICE)).toMatchObject({ state: 'unknown', version: 2 })
    const [claimed] = await store.tasks.claim('w', 10, 1000)
    expect(claimed?.effect).toEqual({ do: 'find' })
    const found = createTask('t1', 'working', { version: 2 })
    expect(await store.tasks.commit(commitOf(found), claimed?.fence)).toBe('committed')
    expect(store.call('call-of-t1')).toMatchObject({
      state: 'settled',
      outcome: { state: 'working', through: 'task' },
    })
  })

  test('a fence from before the restart is refused', async () => {
    await delegate()
    await store.tasks.commit({
      ...commitOf(createTask('t1', 'working')),
      effects: [{ do: 'follow' }],
    })
    const [claimed] = await store.tasks.claim('w', 10, 3_600_000)
    await reopen()
    const next = createTask('t1', 'completed', { version: 2 })
    expect(await store.tasks.commit(commitOf(next), claimed?.fence)).toBe('fenced')
    expect(await store.tasks.claim('w', 10, 1000)).toHaveLength(1)
  })
  test('a verdict that is pending owes its judgment after a restart, whatever became of the effect', async () => {
    await delegate()
    const verdict = { state: 'pending' } as const
    await store.tasks.commit(commitOf(createTask('t1', 'completed', { verdict })))
    expect(await store.tasks.claim('w', 10, 1000)).toEqual([])
    await reopen()
    const claimed = await store.tasks.claim('w', 10, 1000)
    expect(claimed.map(({ effect }) => effect)).toEqual([{ do: 'judge' }])
  })
})
