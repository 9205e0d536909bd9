/** Decisions about revisions: on the chain, and found again. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from './open-sqlite.ts'
import type { Store } from './store.ts'

const MOVE = { peer: 'docs', endpoint: 'e1', from: '2025-11-25', to: '2026-07-28', share: 500 }
const AT = Date.UTC(2026, 11, 1)

function storeFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'comity-revisions-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'comity.db')
}

const open = (file: string): Promise<Store> => openStore({ file, clock: { now: () => AT } })

test('what was decided last about a move holds, after a restart too, and is an entry of the chain', async () => {
  const file = storeFile()
  const first = await open(file)
  expect(first.revisions.find(MOVE)).toBeUndefined()
  await first.revisions.decide({ ...MOVE, decided: 'promoted', by: 'operator' })
  await first.revisions.decide({ ...MOVE, decided: 'rolled_back', by: 'operator' })
  const held = { ...MOVE, decided: 'rolled_back', by: 'operator', at: '2026-12-01T00:00:00.000Z' }
  expect(first.revisions.find(MOVE)).toEqual(held)
  await first.close()

  const second = await open(file)
  onTestFinished(() => second.close())
  expect(second.revisions.find(MOVE)).toEqual(held)
  const entries = second.entries({ kind: 'revision_decided' })
  expect(entries.map(({ facts }) => facts)).toEqual([
    { ...MOVE, decided: 'promoted', by: 'operator' },
    { ...MOVE, decided: 'rolled_back', by: 'operator' },
  ])
  expect(await second.verify()).toMatchObject({ sound: true })
})

test('another address, revision or share is another move: nothing was decided about it', async () => {
  const store = await open(storeFile())
  onTestFinished(() => store.close())
  await store.revisions.decide({ ...MOVE, decided: 'promoted', by: 'operator' })
  for (const other of [{ endpoint: 'e2' }, { from: '2025-06-18' }, { share: 100 }, { peer: 'x' }])
    expect(store.revisions.find({ ...MOVE, ...other })).toBeUndefined()
})
