/** Era verdicts in the store: what was written last is found after a restart. */
import { afterEach, beforeEach, expect, test } from 'vitest'

import type { EraVerdict } from '../core/ports/era-verdicts.ts'
import { openStore } from './open-sqlite.ts'
import type { Store } from './store.ts'
import { createFolder } from './testing/make.ts'

const OLD: EraVerdict = { era: 'legacy', revision: '2025-06-18', at: '2026-11-01T00:00:00.000Z' }
const NEW: EraVerdict = { era: 'modern', revision: '2026-07-28', at: '2026-11-02T00:00:00.000Z' }

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

async function restart(): Promise<void> {
  await store.close()
  store = await openStore({ file: folder.file, clock: Date })
}

test('the last verdict on an endpoint survives a restart with its date; a forgotten one does not', async () => {
  store.verdicts.write('one', OLD)
  store.verdicts.write('one', NEW)
  store.verdicts.write('two', OLD)
  store.verdicts.write('three', OLD)
  store.verdicts.forget('three')
  await restart()

  expect(store.verdicts.read('one')).toEqual(NEW)
  expect(store.verdicts.read('two')).toEqual(OLD)
  expect(store.verdicts.read('three')).toBeUndefined()
})

test('the newest thousand are kept', async () => {
  for (let index = 0; index < 1001; index += 1) {
    store.verdicts.write(`endpoint ${index}`, { ...OLD, at: new Date(index).toISOString() })
  }
  await store.flush()
  expect(store.verdicts.read('endpoint 0')).toBeUndefined()
  expect(store.verdicts.read('endpoint 1')?.at).toBe(new Date(1).toISOString())
  expect(store.verdicts.read('endpoint 1000')).toBeDefined()
})
