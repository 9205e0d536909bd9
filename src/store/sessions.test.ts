/** Sessions in the store: what is acknowledged is found again, and nothing else is. */
import { DatabaseSync } from 'node:sqlite'

import { afterEach, beforeEach, expect, test } from 'vitest'

import type { KeptSession } from '../core/ports/sessions.ts'
import { openStore } from './open-sqlite.ts'
import type { Store } from './store.ts'
import { createFolder } from './testing/make.ts'

const HERS: KeptSession = { id: 'one', principal: 'alice', terms: '{"a":1}', lastUsedAt: 2000 }
const HIS: KeptSession = { id: 'two', principal: 'bob', terms: '{}', lastUsedAt: 1000 }

let folder: ReturnType<typeof createFolder>
let store: Store

beforeEach(async () => {
  folder = createFolder()
  store = await openStore({ file: folder.file, clock: Date })
})
afterEach(async () => {
  await store.close()
  folder.remove()
})

async function restart(sql?: string): Promise<void> {
  await store.close()
  if (sql !== undefined) {
    const db = new DatabaseSync(folder.file)
    db.exec(sql)
    db.close()
  }
  store = await openStore({ file: folder.file, clock: Date })
}

test('saved sessions survive a restart, the one unused for longest first; removed ones do not', async () => {
  await store.sessions.save(HERS)
  await store.sessions.save(HIS)
  await store.sessions.save({ ...HERS, id: 'three' })
  await store.sessions.remove(['three', 'never-there'])
  await restart()

  expect(await store.sessions.list()).toEqual([HIS, HERS])
  expect(await store.sessions.find('one')).toEqual(HERS)
  expect(await store.sessions.find('three')).toBeUndefined()
})

test('terms are replaced, use is noted, and a session never changes hands', async () => {
  await store.sessions.save(HERS)
  await store.sessions.save({ ...HERS, terms: '{"a":2}' })
  await store.sessions.save({ ...HERS, principal: 'bob', terms: '{"a":3}' })
  store.sessions.touch('one', 9000)
  await store.flush()

  expect(await store.sessions.find('one')).toEqual({ ...HERS, terms: '{"a":2}', lastUsedAt: 9000 })
})

test('a damaged row is a session that is not there; the store opens', async () => {
  await store.sessions.save(HERS)
  await store.sessions.save(HIS)
  await restart(`UPDATE sessions SET principal = 'bob' WHERE id = 'one'`)

  expect(await store.sessions.find('one')).toBeUndefined()
  expect(await store.sessions.list()).toEqual([HIS])
})

test('terms beyond their bound are refused and leave nothing', async () => {
  const terms = JSON.stringify('x'.repeat(300_000))

  await expect(store.sessions.save({ ...HERS, terms })).rejects.toMatchObject({ code: 'usage' })
  expect(await store.sessions.list()).toEqual([])
})
