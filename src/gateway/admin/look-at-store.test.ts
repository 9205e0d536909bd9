import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readRecordOf } from './look-at-store.ts'

test('a store that is not there, or is just being made, holds nothing yet', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comity-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'comity.db')
  const nothing = {
    entries: 0,
    pendingApprovals: 0,
    openTasks: 0,
    mistrustedPins: 0,
    recovered: 0,
  }
  expect(await readRecordOf(file)).toEqual(nothing)
  writeFileSync(file, '')
  expect(await readRecordOf(file)).toEqual(nothing)
})
