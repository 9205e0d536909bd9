import { chmodSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { readOwner } from './lock.ts'
import { openReader, openStore } from './open-sqlite.ts'
import { completed, createFolder, createOpening, createTestClock } from './testing/make.ts'
import { runChild } from './testing/run-child.ts'

let folder: ReturnType<typeof createFolder>
const clock = createTestClock()

beforeEach(() => {
  folder = createFolder()
})
afterEach(() => folder.remove())

test('a second process is refused with the first one and the way to it; a killed one leaves the store free', async () => {
  const child = runChild(folder.file, 'hold')
  await child.line((line) => line === 'ready')
  await expect(openStore({ file: folder.file, clock })).rejects.toMatchObject({
    code: 'store_locked',
    message: expect.stringMatching(
      new RegExp(`process ${child.pid} .*http://127.0.0.1:7878.*comity.sock`),
    ),
  })
  expect(readOwner(folder.file)).toMatchObject({ pid: child.pid, url: 'http://127.0.0.1:7878' })
  await child.kill()
  expect(readOwner(folder.file)).toBeUndefined()
  const store = await openStore({ file: folder.file, clock })
  expect(readOwner(folder.file)).toMatchObject({ pid: process.pid })
  await store.close()
  expect(readOwner(folder.file)).toBeUndefined()
})

test('a disk that takes no owner file is told as such, and the lock is free again', async () => {
  // Stands in for a full disk, which a test cannot make without a mount.
  mkdirSync(`${folder.file}.owner.json.new`, { recursive: true })
  await expect(openStore({ file: folder.file, clock })).rejects.toMatchObject({
    code: 'store_unwritable',
    message: expect.stringMatching(/owner\.json cannot be written \(.+\): free space/),
  })
  rmdirSync(`${folder.file}.owner.json.new`)
  const store = await openStore({ file: folder.file, clock })
  await store.close()
})

test('two openers in one process: the second is refused, and the first works on', async () => {
  const store = await openStore({ file: folder.file, clock })
  await expect(openStore({ file: folder.file, clock })).rejects.toMatchObject({
    code: 'store_locked',
  })
  expect(await store.ledger.open(createOpening('c1'))).toEqual({ kind: 'opened' })
  await store.close()
})

test('T52: an owner that lost the store while it slept is refused by it, whatever became of the lock', async () => {
  const sleeper = await openStore({ file: folder.file, clock })
  await sleeper.ledger.open(createOpening('c1', { actKey: 'k1' }))
  rmSync(`${folder.file}.lock`)
  const owner = await openStore({ file: folder.file, clock })
  expect(await sleeper.ledger.open(createOpening('c2', { actKey: 'k2' }))).toMatchObject({
    kind: 'unwritable',
    detail: expect.stringMatching(/another process has taken this store over/),
  })
  await expect(sleeper.ledger.settle('c1', completed(), { barrier: true })).rejects.toMatchObject({
    code: 'store_locked',
  })
  expect(owner.call('c1')).toMatchObject({ state: 'unknown' })
  await sleeper.close()
  expect(await owner.ledger.open(createOpening('c3', { actKey: 'k3' }))).toEqual({
    kind: 'opened',
  })
  expect(await owner.verify()).toMatchObject({ sound: true, entries: 3 })
  await owner.close()
})

test('everything beside the store is its user’s alone', async () => {
  const store = await openStore({ file: folder.file, clock })
  await store.ledger.open(createOpening('c1'))
  for (const end of ['', '-wal', '-shm', '.head', '.lock', '.owner.json']) {
    expect([end, statSync(`${folder.file}${end}`).mode & 0o077]).toEqual([end, 0])
  }
  expect(JSON.parse(readFileSync(`${folder.file}.owner.json`, 'utf8'))).toMatchObject({
    pid: process.pid,
  })
  await store.close()
})

test('a reader reads while an owner writes, and after it has closed', async () => {
  const store = await openStore({ file: folder.file, clock })
  await store.ledger.open(createOpening('c1'))
  const during = openReader(folder.file, clock)
  expect(during.call('c1')).toMatchObject({ state: 'open' })
  during.close()
  await store.close()
  const after = openReader(folder.file, clock)
  expect(after.entries()).toHaveLength(1)
  expect(await after.verify()).toMatchObject({ sound: true, entries: 1 })
  after.close()
})

test('a reader says that there is no store, and makes none', () => {
  expect(() => openReader(folder.file, clock)).toThrow(/there is no store/)
  expect(() => statSync(folder.file)).toThrow(/ENOENT/)
})

test.skipIf(process.getuid?.() === 0)('a folder that cannot be written is said so', async () => {
  chmodSync(folder.path, 0o500)
  await expect(openStore({ file: folder.file, clock })).rejects.toMatchObject({
    code: 'store_unwritable',
  })
  chmodSync(folder.path, 0o700)
})
