/** Kept listings in the store: what a peer offered last is found after a restart, with the definitions that were accepted. */
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'

import type { ListingToKeep } from '../core/ports/kept-listings.ts'
import { openStore } from './open-sqlite.ts'
import type { Store } from './store.ts'
import { createFolder, createTestClock } from './testing/make.ts'

const PEER = { name: 'docs', endpoint: 'e1' }
const LISTING: ListingToKeep = {
  capabilities: [
    { kind: 'tool', name: 'write', fingerprint: 'f-write' },
    { kind: 'tool', name: 'read', fingerprint: 'f-read' },
    { kind: 'prompt', name: 'read', fingerprint: 'f-prompt' },
  ],
  leftOut: [{ peer: 'docs', kind: 'tool', name: 'odd', reason: 'its inputSchema is no object' }],
  instructions: 'Read before you write.',
  features: { completions: true, subscribe: false, logging: false, extensions: { x: {} } },
}

let folder: ReturnType<typeof createFolder>
let clock: ReturnType<typeof createTestClock>
let store: Store

beforeEach(async () => {
  folder = createFolder()
  clock = createTestClock(Date.UTC(2026, 10, 30))
  store = await openStore({ file: folder.file, clock })
})
afterEach(async () => {
  await store.close()
  folder.remove()
})

async function restart(between: () => void = () => undefined): Promise<void> {
  await store.close()
  between()
  store = await openStore({ file: folder.file, clock })
}

async function pinAll(listing: ListingToKeep): Promise<void> {
  for (const { kind, name, fingerprint } of listing.capabilities) {
    const definition = JSON.stringify({ name, of: fingerprint })
    const { name: peer, endpoint } = PEER
    await store.pins.sight({ peer, endpoint, kind, name, fingerprint, definition })
  }
}

test('the last listing survives a restart: order, kinds, instructions, features, definitions and its time', async () => {
  await pinAll(LISTING)
  store.listings.write(PEER, { ...LISTING, capabilities: [], instructions: 'old' })
  clock.move(1_000)
  store.listings.write(PEER, LISTING)
  await restart()

  expect(store.listings.read(PEER)).toEqual({
    ...LISTING,
    at: '2026-11-30T00:00:01.000Z',
    capabilities: LISTING.capabilities.map((one) => ({
      ...one,
      definition: JSON.stringify({ name: one.name, of: one.fingerprint }),
    })),
  })
  // Another launch line or URL is another peer, whatever its name is.
  expect(store.listings.read({ ...PEER, endpoint: 'e2' })).toBeUndefined()
})

test('what was never accepted is not in it', async () => {
  await pinAll({ ...LISTING, capabilities: LISTING.capabilities.slice(0, 1) })
  const changed = { kind: 'tool', name: 'write', fingerprint: 'f-other' } as const
  store.listings.write(PEER, { ...LISTING, capabilities: [changed, ...LISTING.capabilities] })
  await restart()
  const names = store.listings.read(PEER)?.capabilities.map(({ fingerprint }) => fingerprint)
  expect(names).toEqual(['f-write'])
})

test('a row that was damaged or moved to another peer is not read', async () => {
  await pinAll(LISTING)
  store.listings.write(PEER, LISTING)
  await restart(() => {
    const db = new DatabaseSync(folder.file)
    db.exec(`UPDATE kept_listings SET endpoint = 'e9'`)
    db.close()
  })
  expect(store.listings.read({ ...PEER, endpoint: 'e9' })).toBeUndefined()
})

test('one that is too large is not kept, and takes the older one with it; the newest 500 stay', async () => {
  await pinAll(LISTING)
  store.listings.write(PEER, LISTING)
  store.listings.write(PEER, { ...LISTING, instructions: 'x'.repeat(5_000_000) })
  await store.flush()
  expect(store.listings.read(PEER)).toBeUndefined()
  for (let index = 0; index <= 500; index += 1) {
    store.listings.write({ name: `peer ${index}`, endpoint: 'e' }, LISTING)
    clock.move(1)
  }
  await store.flush()
  expect(store.listings.read({ name: 'peer 0', endpoint: 'e' })).toBeUndefined()
  expect(store.listings.read({ name: 'peer 1', endpoint: 'e' })).toBeDefined()
})
