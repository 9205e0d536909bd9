import { DatabaseSync } from 'node:sqlite'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { openReader, openStore } from './open-sqlite.ts'
import type { Store } from './store.ts'
import {
  ALICE,
  completed,
  createCall,
  createFolder,
  createOpening,
  createTask,
  createTestClock,
  native,
} from './testing/make.ts'

// A store that may not grow is what SQLite makes of a full disk: SQLITE_FULL, by its own page limit.
const MAX_BYTES = 400_000

let folder: ReturnType<typeof createFolder>
let store: Store
let faults: string[] = []

beforeEach(async () => {
  folder = createFolder()
  faults = []
  store = await open(MAX_BYTES)
})
afterEach(async () => {
  await store.close()
  folder.remove()
})

function open(maxBytes?: number): Promise<Store> {
  return openStore({
    file: folder.file,
    clock: createTestClock(),
    onFault: (fault) => faults.push(fault.code),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  })
}

/** Opens acts until the disk refuses one; says which were acknowledged. */
async function fill(): Promise<string[]> {
  const opened: string[] = []
  const payload = native(JSON.stringify('x'.repeat(4000)))
  for (let index = 0; index < 1000; index += 1) {
    const callId = `fill-${index}`
    const answer = await store.ledger.open(
      createOpening(callId, {
        actKey: callId,
        call: createCall(callId, { arguments: payload }),
      }),
    )
    if (answer.kind === 'unwritable') return opened
    opened.push(callId)
  }
  throw new Error('the store never filled up')
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 15_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('the condition did not come true in 15 s')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('T51: a full disk refuses acts, goes on reading, and loses nothing acknowledged', async () => {
  await store.ledger.open(
    createOpening('c1', { actKey: 'k1', task: createTask('t1', 'submitted') }),
  )
  const opened = await fill()
  expect(opened.length).toBeGreaterThan(10)
  expect(await store.ledger.open(createOpening('act', { actKey: 'act' }))).toMatchObject({
    kind: expect.stringMatching(/opened|unwritable/),
  })

  expect(await store.tasks.load('t1', ALICE)).toMatchObject({ state: 'submitted' })
  expect(await store.ledger.open(createOpening('r1', { sideEffect: false }))).toEqual({
    kind: 'opened',
  })
  for (const callId of opened) expect(store.call(callId)?.state).toBe('open')
  expect(await store.verify()).toMatchObject({ sound: true })
  expect(faults).toContain('store_unwritable')
})

test('one command too large for the disk does not refuse the small ones of its batch', async () => {
  const huge = { kind: 'raw', bytes: new Uint8Array(MAX_BYTES * 2) } as const
  await store.ledger.open(
    createOpening('c1', { actKey: 'k1', task: createTask('t1', 'submitted') }),
  )
  const results = await Promise.allSettled([
    store.ledger.open(createOpening('c2', { actKey: 'k2' })),
    store.tasks.commit({
      next: createTask('t1', 'working'),
      writes: [{ do: 'replace', artifactId: 'a', parts: [huge] }],
    }),
    store.ledger.open(createOpening('c3', { actKey: 'k3' })),
  ])
  expect(results).toMatchObject([
    { status: 'fulfilled', value: { kind: 'opened' } },
    { status: 'rejected', reason: { code: 'store_unwritable' } },
    { status: 'fulfilled', value: { kind: 'opened' } },
  ])
  expect(await store.tasks.load('t1', ALICE)).toMatchObject({ state: 'submitted', version: 1 })
  expect(store.entries().map((entry) => entry.callId)).toEqual(['c1', 'c2', 'c3'])
})

test('what could not be written about acts is kept and written once there is room', async () => {
  const opened = await fill()
  const large = completed(JSON.stringify('y'.repeat(1500)))
  for (const callId of opened) await store.ledger.settle(callId, large, { barrier: false })
  // A read's record is refused with its opening, not written without it.
  const payload = native(JSON.stringify('z'.repeat(3000)))
  const read = createCall('r1', { arguments: payload })
  await store.ledger.open(createOpening('r1', { call: read, sideEffect: false }))
  store.ledger.note('r1', { kind: 'dispatched', facts: {} })
  await store.ledger.settle('r1', completed(), { barrier: false })
  await until(() => faults.includes('store_unwritable'))
  await store.flush()
  const states = (): (string | undefined)[] => opened.map((callId) => store.call(callId)?.state)
  expect(states()).toContain('open')
  expect(store.call('r1')).toBeUndefined()

  // Retention makes room.
  const db = new DatabaseSync(folder.file, { timeout: 5000 })
  db.exec('DELETE FROM contents')
  db.close()
  await until(() => states().every((state) => state === 'settled'))
  await until(() => store.call('r1')?.state === 'settled')
  expect(store.call('r1')?.entries.map((entry) => entry.kind)).toEqual([
    'opened',
    'dispatched',
    'settled',
  ])
  expect(faults).toEqual(['store_unwritable'])
  expect(await store.verify()).toMatchObject({ sound: true })
})

test('more kept words than one batch holds do not keep an act from its refusal, nor the store from its end', async () => {
  await fill()
  const payload = native(JSON.stringify('z'.repeat(3000)))
  const reads = Array.from({ length: 1200 }, (_, index) => `r${index}`)
  for (const callId of reads) {
    const call = createCall(callId, { arguments: payload })
    await store.ledger.open(createOpening(callId, { call, sideEffect: false }))
    await store.ledger.settle(callId, completed(), { barrier: false })
  }
  await until(() => faults.includes('store_unwritable'))

  const act = async (callId: string): Promise<unknown> =>
    store.ledger.open(
      createOpening(callId, { actKey: callId, call: createCall(callId, { arguments: payload }) }),
    )
  const acts = Array.from({ length: 20 }, (_, index) => act(`act-${index}`))
  expect(await Promise.all(acts)).toEqual(
    acts.map(() => expect.objectContaining({ kind: 'unwritable' })),
  )
  expect(await act('late')).toMatchObject({ kind: 'unwritable' })

  // Retention makes room: what was kept is written, and acts are opened again.
  const db = new DatabaseSync(folder.file, { timeout: 5000 })
  db.exec(`UPDATE payloads SET bytes = NULL; PRAGMA wal_checkpoint(TRUNCATE)`)
  db.close()
  await store.close()
  store = await open()
  expect((await act('after')) as object).toEqual({ kind: 'opened' })
  expect(store.call('act-0')).toBeUndefined()
  expect(await store.verify()).toMatchObject({ sound: true })
})

test('acts that were open on a full disk are unknown after the restart', async () => {
  const opened = await fill()
  await store.close()
  store = await open()
  expect(store.recovered).toBe(opened.length)
  expect(store.call(opened[0] ?? '')?.state).toBe('unknown')
})

test('C89: a store that cannot be written at its start does not open, says why, and can be read', async () => {
  const opened = await fill()
  await store.close()
  await expect(open(40_000)).rejects.toMatchObject({ code: 'store_unwritable' })
  const reader = openReader(folder.file, createTestClock())
  expect(reader.entries({ kind: 'opened', limit: 1000 })).toHaveLength(opened.length)
  reader.close()
  store = await open()
})
