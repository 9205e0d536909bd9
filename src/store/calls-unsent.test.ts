import { setTimeout as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openStore } from './open-sqlite.ts'
import type { Store } from './store.ts'
import {
  completed,
  createFolder,
  createOpening,
  createTestClock,
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
  store = await openStore({
    file: folder.file,
    clock,
    onFault: (fault) => faults.push(fault.message),
  })
})

afterEach(async () => {
  vi.useRealTimers()
  await store.close()
  folder.remove()
  expect(faults).toEqual([])
})

/** Entries as call, kind and milliseconds since the beginning. */
function written(): readonly (readonly [string, string, number])[] {
  const entries = store.entries({ after: 0 })
  const start = Date.parse(entries[0]?.at ?? '')
  return entries.map(({ callId = '', kind, at }) => [callId, kind, Date.parse(at) - start])
}

const READ = { sideEffect: false, actKey: '' }

test('what happened to one call between two batches stands together, in order, each at its own time', async () => {
  const { ledger } = store
  expect(ledger.open(createOpening('r1', READ))).toEqual({ kind: 'opened' })
  clock.move(1)
  expect(ledger.open(createOpening('r2', READ))).toEqual({ kind: 'opened' })
  clock.move(1)
  ledger.note('r1', { kind: 'dispatched', facts: { wireId: 'w1' } })
  clock.move(1)
  expect(ledger.settle('r1', completed('{"n":1}'), { barrier: false })).toBe('settled')
  ledger.note('r1', { kind: 'late_news', facts: {} })
  await store.flush()
  clock.move(1)
  void ledger.settle('r2', SENT_NO_ANSWER, { barrier: false })
  await store.flush()
  expect(written()).toEqual([
    ['r1', 'opened', 0],
    ['r1', 'dispatched', 2],
    ['r1', 'settled', 3],
    ['r2', 'opened', 1],
    ['r1', 'late_news', 3],
    ['r2', 'settled', 4],
  ])
  expect(store.call('r1')).toMatchObject({ state: 'settled', outcome: { state: 'completed' } })
  expect(store.call('r2')).toMatchObject({ state: 'unknown', facts: { sideEffect: false } })
  expect(new TextDecoder().decode(store.call('r1')?.result?.bytes)).toBe('{"n":1}')
  expect(await store.verify()).toMatchObject({ sound: true, entries: 6 })
})

test('an end that decides about other calls overtakes none of them', async () => {
  const { ledger } = store
  await ledger.open(createOpening('a1'))
  ledger.note('a1', { kind: 'dispatched', facts: {} })
  const before = ledger.open(createOpening('a2'))
  void ledger.settle('a1', SENT_NO_ANSWER, { barrier: false })
  const after = ledger.open(createOpening('a3'))
  expect(await before).toEqual({ kind: 'opened' })
  expect(await after).toMatchObject({ kind: 'twin', callId: 'a1' })
})

test('what comes after a caller went, or after an answer on record, stays behind it', async () => {
  const { ledger } = store
  await ledger.open(createOpening('a1'))
  ledger.note('a1', { kind: 'dispatched', facts: {} })
  ledger.callerGone('a1')
  const twin = ledger.open(createOpening('a2'))
  void ledger.settle('a1', completed(), { barrier: false })
  expect(await twin).toMatchObject({ kind: 'twin', callId: 'a1', state: 'open_caller_gone' })

  void ledger.open(createOpening('r1', READ))
  const answered = ledger.record('r1', { kind: 'answered', facts: {} })
  void ledger.settle('r1', completed(), { barrier: false })
  await answered
  await store.flush()
  expect(store.entries({ callId: 'r1', after: 0 }).map(({ kind }) => kind)).toEqual([
    'opened',
    'answered',
    'settled',
  ])
})

test('a second end of a call is a fault that is told, and takes nothing of other calls with it', async () => {
  const { ledger } = store
  void ledger.open(createOpening('r1', READ))
  void ledger.settle('r1', completed(), { barrier: false })
  void ledger.settle('r1', completed(), { barrier: false })
  void ledger.open(createOpening('r2', READ))
  void ledger.settle('r2', completed(), { barrier: false })
  await store.flush()
  expect(faults.splice(0)).toEqual([expect.stringContaining('r1 is settled already')])
  expect(written().map(([callId, kind]) => `${callId} ${kind}`)).toEqual([
    'r1 opened',
    'r1 settled',
    'r2 opened',
    'r2 settled',
  ])
  expect(await store.verify()).toMatchObject({ sound: true })
})

test('the same id twice is refused to the second act, and the first stands', async () => {
  const { ledger } = store
  await ledger.open(createOpening('a1', { actKey: '1' }))
  await expect(ledger.open(createOpening('a1', { actKey: '2' }))).rejects.toMatchObject({
    code: 'internal',
  })
  await store.flush()
  expect(written().map(([callId, kind]) => `${callId} ${kind}`)).toEqual(['a1 opened'])
  expect(await store.verify()).toMatchObject({ sound: true })
})

test('a read under way lies while acts are written, and then goes whole', async () => {
  // However slow the disk is: no time passes.
  vi.useFakeTimers({ toFake: ['performance'] })
  const { ledger } = store
  void ledger.open(createOpening('r1', READ))
  await ledger.open(createOpening('a1', { actKey: '1' }))
  ledger.note('r1', { kind: 'dispatched', facts: { wireId: 'w1' } })
  await ledger.open(createOpening('a2', { actKey: '2' }))
  void ledger.settle('r1', completed(), { barrier: false })
  await store.flush()
  expect(written().map(([callId, kind]) => `${callId} ${kind}`)).toEqual([
    'a1 opened',
    'a2 opened',
    'r1 opened',
    'r1 dispatched',
    'r1 settled',
  ])
  expect(await store.verify()).toMatchObject({ sound: true })
})

test('a read that lasts is on record before it ends, also while nothing else is written', async () => {
  const { ledger } = store
  void ledger.open(createOpening('r1', READ))
  await until(() => store.call('r1') !== undefined)
  expect(store.call('r1')?.state).toBe('open')
  void ledger.settle('r1', completed(), { barrier: false })
  await until(() => store.call('r1')?.state === 'settled')
})

test('what must stand behind the opening of a read takes it along', async () => {
  // However slow the disk is: no time passes.
  vi.useFakeTimers({ toFake: ['performance'] })
  const { ledger } = store
  void ledger.open(createOpening('r1', READ))
  await ledger.open(createOpening('a1', { actKey: '1' }))
  await ledger.record('r1', { kind: 'answered', facts: {} })
  expect(written().map(([callId, kind]) => `${callId} ${kind}`)).toEqual([
    'a1 opened',
    'r1 opened',
    'r1 answered',
  ])
  void ledger.settle('r1', completed(), { barrier: false })
})

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 20_000
  while (!condition() && performance.now() < end) await turn(5)
  expect(condition()).toBe(true)
}
