import { DatabaseSync } from 'node:sqlite'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { openReader, openStore } from './open-sqlite.ts'
import type { PinSight, Store } from './store.ts'
import { createFolder, createTestClock } from './testing/make.ts'

const DELETE: PinSight = {
  peer: 'tickets',
  endpoint: 'endpoint-1',
  kind: 'tool',
  name: 'delete',
  fingerprint: 'f1',
  definition: '{"name":"delete","description":"deletes"}',
}
const CHANGED: PinSight = {
  ...DELETE,
  fingerprint: 'f2',
  definition: '{"name":"delete","description":"deletes, and tells nobody"}',
}
const LIST: PinSight = { ...DELETE, name: 'list', fingerprint: 'l1', definition: '{}' }

let folder: ReturnType<typeof createFolder>
let store: Store
let faults: string[] = []
const clock = createTestClock()

async function open(): Promise<void> {
  faults = []
  store = await openStore({
    file: folder.file,
    clock,
    onFault: (fault) => faults.push(`${fault.code}: ${fault.message}`),
  })
}

/** Stops, changes the file behind the store's back, starts. */
async function restartAfter(sql: string): Promise<void> {
  await store.close()
  const db = new DatabaseSync(folder.file)
  db.exec(sql)
  db.close()
  await open()
}

beforeEach(async () => {
  folder = createFolder()
  await open()
})
afterEach(async () => {
  await store.close()
  folder.remove()
})

test('first sight is accepted and recorded; the same again is accepted', async () => {
  expect(store.pins.state(DELETE)).toBe('unseen')
  expect(await store.pins.sight(DELETE)).toBe('first')
  expect(await store.pins.sight(DELETE)).toBe('accepted')
  expect(store.pins.state(DELETE, 'f1')).toBe('accepted')
  expect(store.entries()).toMatchObject([
    { kind: 'pin_accepted', facts: { peer: 'tickets', name: 'delete', first: true } },
  ])
})

test('two first sights at once: one is first, a different one is a change', async () => {
  expect(await Promise.all([store.pins.sight(DELETE), store.pins.sight(CHANGED)])).toEqual([
    'first',
    'changed',
  ])
})

test('a changed definition is refused with both texts until accepted, and survives a restart', async () => {
  await store.pins.sight(DELETE)
  expect(await store.pins.sight(CHANGED)).toBe('changed')
  await restartAfter('')
  expect(store.pins.state(DELETE, 'f1')).toBe('changed')
  expect(store.pins.changes()).toEqual([
    {
      peer: 'tickets',
      endpoint: 'endpoint-1',
      kind: 'tool',
      name: 'delete',
      accepted: 'f1',
      seen: 'f2',
      before: DELETE.definition,
      after: CHANGED.definition,
      seenAt: new Date(clock.now()).toISOString(),
    },
  ])
  expect(await store.pins.accept('tickets', 'delete', 'operator')).toHaveLength(1)
  expect(store.pins.state(DELETE, 'f2')).toBe('accepted')
  await restartAfter('')
  // A set of accepted definitions: both may be seen.
  expect(await store.pins.sight(CHANGED)).toBe('accepted')
  expect(await store.pins.sight(DELETE)).toBe('accepted')
  expect(faults).toEqual([])
})

test('the accepted definition coming back ends the change', async () => {
  await store.pins.sight(DELETE)
  await store.pins.sight(CHANGED)
  expect(await store.pins.sight(DELETE)).toBe('accepted')
  expect(store.pins.changes()).toEqual([])
  await restartAfter('')
  expect(store.pins.changes()).toEqual([])
})

test('another endpoint is another pin; one that disappears keeps its own', async () => {
  await store.pins.sight(DELETE)
  await restartAfter('')
  await store.pins.sight(LIST)
  expect(store.pins.state({ ...DELETE, endpoint: 'endpoint-2' }, 'f1')).toBe('unseen')
  expect(await store.pins.sight(CHANGED)).toBe('changed')
})

test('a whole peer is accepted at once, other peers are not', async () => {
  const other = { ...DELETE, peer: 'other' }
  for (const sight of [DELETE, LIST, other]) await store.pins.sight(sight)
  for (const sight of [DELETE, LIST, other]) {
    await store.pins.sight({ ...sight, fingerprint: 'new' })
  }
  expect(await store.pins.accept('tickets', undefined, 'operator')).toHaveLength(2)
  expect(store.pins.changes().map((change) => change.peer)).toEqual(['other'])
})

describe('pins that do not fit the ledger', () => {
  const REFUSED = /^store_corrupt: the pins of 1 capabilities \(peers: tickets\)/

  beforeEach(async () => {
    await store.pins.sight(DELETE)
    await store.pins.sight(LIST)
    await store.pins.sight(CHANGED)
    await store.pins.accept('tickets', 'delete', 'operator')
  })

  test.each([
    ['removed', `DELETE FROM pins WHERE name = 'delete'`],
    ['rolled back', `DELETE FROM pins WHERE fingerprint = 'f2'`],
    [
      'added to',
      `INSERT INTO pins SELECT peer, endpoint, kind, name, 'f3', definition, seq, sum FROM pins WHERE fingerprint = 'f2'`,
    ],
    ['edited', `UPDATE pins SET fingerprint = 'f3' WHERE fingerprint = 'f2'`],
  ])('%s: not trusted on first use again, refused until accepted', async (_what, sql) => {
    await restartAfter(sql)
    expect(faults).toEqual([expect.stringMatching(REFUSED)])
    expect(store.pins.mistrusted).toMatchObject([{ name: 'delete' }])
    expect(store.pins.state(LIST, 'l1')).toBe('accepted')
    expect(store.pins.state(DELETE, 'f2')).toBe('changed')
    expect(await store.pins.sight(CHANGED)).toBe('changed')
    expect(await store.pins.accept('tickets', 'delete', 'operator')).toHaveLength(1)
    expect(await store.pins.sight(CHANGED)).toBe('accepted')
    // What was accepted before cannot be believed any more.
    expect(await store.pins.sight(DELETE)).toBe('changed')
    await restartAfter('')
    expect(faults).toEqual([])
  })

  test('the whole table emptied', async () => {
    await restartAfter('DELETE FROM pins')
    expect(store.pins.mistrusted).toHaveLength(2)
    expect(await store.pins.sight(LIST)).toBe('changed')
  })

  test('a reader shows the changes too', async () => {
    await store.pins.sight({ ...LIST, fingerprint: 'l2' })
    await store.flush()
    const reader = openReader(folder.file, clock)
    expect(reader.changes()).toMatchObject([{ name: 'list', accepted: 'l1', seen: 'l2' }])
    reader.close()
  })
})
