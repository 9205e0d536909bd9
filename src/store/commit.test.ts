import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Committer, startWriter } from './commit.ts'
import { createPrivately } from './private-file.ts'
import { createFolder, createTestClock } from './testing/make.ts'

let committer: Committer
let folder: ReturnType<typeof createFolder>
const faults: string[] = []

beforeEach(async () => {
  folder = createFolder()
  createPrivately(folder.file)
  const options = {
    clock: createTestClock(),
    onFault: (fault: Error) => void faults.push(fault.message),
    onTouched: () => undefined,
  }
  committer = await startWriter({ file: folder.file, run: 'run', now: 0 }, options)
  await committer.submit({ do: 'recover' })
  // No timer ends unless a test lets it: what is sent all the same waited for none.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})

afterEach(async () => {
  vi.useRealTimers()
  await committer.close()
  folder.remove()
  expect(faults).toEqual([])
})

function note(callId: string) {
  return { do: 'note', callId, kind: 'asked', facts: '{}' } as const
}

/** Turn by turn, without a timer: those stand still. */
async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 20_000
  while (!condition() && performance.now() < end) await turn()
  expect(condition()).toBe(true)
}

test('what nobody waits for lies a while, but what fills a batch is sent as the disk takes it', async () => {
  const before = committer.batches
  for (let index = 0; index < 511; index += 1) committer.enqueue(note(`c${index}`))
  await turn()
  await turn()
  expect(committer.batches).toBe(before)
  for (let index = 511; index < 1100; index += 1) committer.enqueue(note(`c${index}`))
  await until(() => committer.batches > before && vi.getTimerCount() > 0)
  expect(committer.batches).toBe(before + 2)
  vi.advanceTimersByTime(40)
  await until(() => committer.batches > before + 2)
})

test('who waits alone waits for nobody; where several were, who comes waits a moment for as many', async () => {
  const alone = committer.batches
  await committer.submit(note('c1'))
  await committer.submit(note('c2'))
  expect(committer.batches).toBe(alone + 2)

  await Promise.all(['c3', 'c4', 'c5', 'c6'].map((id) => committer.submit(note(id))))
  const before = committer.batches
  const first = committer.submit(note('c7'))
  await turn()
  await turn()
  expect(committer.batches).toBe(before)
  const others = ['c8', 'c9', 'c10'].map((id) => committer.submit(note(id)))
  await Promise.all([first, ...others])
  expect(committer.batches).toBe(before + 1)

  const late = committer.submit(note('c11'))
  await turn()
  expect(committer.batches).toBe(before + 1)
  vi.advanceTimersByTime(2)
  await late
  await committer.submit(note('c12'))
  expect(committer.batches).toBe(before + 3)
})
