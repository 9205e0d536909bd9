import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { ComityError } from '../core/words/errors.ts'
import { openStore } from './open-sqlite.ts'
import { createFolder, createTask, ALICE } from './testing/make.ts'
import { runChild } from './testing/run-child.ts'

let folder: ReturnType<typeof createFolder>

beforeEach(() => {
  folder = createFolder()
})
afterEach(() => folder.remove())

/** Runs acts until `count` have been settled, then pulls the plug; says what was acknowledged. */
async function killAfter(count: number): Promise<{ opened: string[]; settled: string[] }> {
  const child = runChild(folder.file, 'acts')
  await child.line(() => child.lines.filter((line) => line.startsWith('settled')).length >= count)
  await child.kill()
  const said = (word: string): string[] =>
    child.lines.filter((line) => line.startsWith(word)).map((line) => line.split(' ')[1] ?? '')
  return { opened: said('opened'), settled: said('settled') }
}

async function refusal(): Promise<ComityError | undefined> {
  try {
    const store = await openStore({ file: folder.file, clock: Date })
    await store.close()
    return undefined
  } catch (error) {
    if (error instanceof ComityError) return error
    throw error
  }
}

describe('kill -9', () => {
  test.each([1, 7, 40, 150])(
    'after %i settled acts: nothing acknowledged is lost or doubled, what was open is unknown',
    async (count) => {
      const { opened, settled } = await killAfter(count)
      const store = await openStore({ file: folder.file, clock: Date })
      const entries = store.entries({ after: 0, limit: 10_000 })
      const times = (kind: string, callId: string): number =>
        entries.filter((entry) => entry.kind === kind && entry.callId === callId).length
      for (const callId of opened) expect([callId, times('opened', callId)]).toEqual([callId, 1])
      for (const callId of settled) {
        expect([callId, times('settled', callId)]).toEqual([callId, 1])
        expect(store.call(callId)?.state).toBe('settled')
      }
      // Whatever the record has opened is settled or unknown, never both, never open.
      const all = entries.filter((entry) => entry.kind === 'opened').map((entry) => entry.callId)
      for (const callId of all) {
        const fate = [times('settled', callId ?? ''), times('recovered', callId ?? '')]
        expect([callId, ...fate].slice(1)).toSatisfy(
          ([ended, lost]) => Number(ended) + Number(lost) === 1,
        )
      }
      expect(store.recovered).toBe(entries.filter((entry) => entry.kind === 'recovered').length)
      expect(await store.verify()).toMatchObject({ sound: true })
      await store.close()
    },
  )

  test.each([3, 17, 60, 130])(
    'T52: after %i steps of approving, delegating, receiving and cancelling: each acknowledged step is there, once',
    async (count) => {
      const child = runChild(folder.file, 'work')
      await child.line(() => child.lines.length >= count)
      await child.kill()
      const said = (word: string): string[][] =>
        child.lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.split(' '))

      const store = await openStore({ file: folder.file, clock: Date })
      const approvals = new Map(store.approvals.list().map((one) => [one.id, one.state]))
      expect(said('asked').every(([, id]) => approvals.has(id ?? ''))).toBe(true)
      for (const [, id] of said('approved')) {
        expect(approvals.get(id ?? '')).toMatch(/approved|spent/)
      }
      const opened = store.entries({ kind: 'opened', after: 0, limit: 10_000 })
      for (const [, id] of said('spent')) {
        expect(approvals.get(id ?? '')).toBe('spent')
        expect(opened.filter((entry) => entry.facts['approvalId'] === id)).toHaveLength(1)
      }
      for (const [, callId] of said('cancel')) {
        const asked = store.entries({ callId: callId ?? '', kind: 'cancel_asked' })
        expect([callId, asked.length]).toEqual([callId, 1])
      }
      for (const task of await store.tasks.list(ALICE)) {
        const [artifact] = await store.tasks.artifacts(task.id)
        const content = artifact?.content ?? []
        const acknowledged = said('part').filter(([, id]) => id === task.id).length
        expect(content).toEqual(content.map((_, index) => ({ kind: 'text', text: `${index}` })))
        expect(content.length).toBeGreaterThanOrEqual(acknowledged)
        expect(artifact?.parts ?? 0).toBe(content.length)
        expect(store.entries({ taskId: task.id, kind: 'task_changed' })).toHaveLength(
          content.length,
        )
      }
      expect(await store.verify()).toMatchObject({ sound: true })
      await store.close()
    },
  )

  test('a second kill during recovery, then a third start: one recovered entry a call', async () => {
    await killAfter(3)
    const second = runChild(folder.file, 'hold')
    await second.line((line) => line === 'ready')
    await second.kill()
    const store = await openStore({ file: folder.file, clock: Date })
    expect(store.recovered).toBe(0)
    const recovered = store.entries({ kind: 'recovered', after: 0, limit: 1000 })
    expect(new Set(recovered.map((entry) => entry.callId)).size).toBe(recovered.length)
    await store.close()
  })
})

describe('the write-ahead log after kill -9', () => {
  test('a torn tail that was never acknowledged is dropped', async () => {
    const { settled } = await killAfter(10)
    const log = `${folder.file}-wal`
    const whole = readFileSync(log)
    writeFileSync(log, Buffer.concat([whole, whole.subarray(32, 1500)]))
    const store = await openStore({ file: folder.file, clock: Date })
    for (const callId of settled) expect(store.call(callId)?.state).toBe('settled')
    await store.close()
  })

  test('C89: the last 3 KB cut off: acknowledged entries are missing, and it says so', async () => {
    // Nothing is under way when it is killed: all of the log is acknowledged.
    const child = runChild(folder.file, 'few')
    await child.line((line) => line === 'settled c-0-9')
    await child.kill()
    const log = `${folder.file}-wal`
    truncateSync(log, statSync(log).size - 3072)
    expect(await refusal()).toMatchObject({
      code: 'store_corrupt',
      message: expect.stringMatching(/acknowledged/),
    })
  })

  test('C89: one byte flipped in the middle of it: reported, nothing touched', async () => {
    await killAfter(10)
    const log = `${folder.file}-wal`
    const bytes = readFileSync(log)
    const middle = Math.floor(bytes.length / 2)
    bytes[middle] = (bytes[middle] ?? 0) ^ 0x10
    writeFileSync(log, bytes)
    expect(await refusal()).toMatchObject({ code: 'store_corrupt' })
    // Opening did not repair it by dropping: the log is as it was, and it is refused again.
    expect(readFileSync(log).equals(bytes)).toBe(true)
    expect(await refusal()).toMatchObject({ code: 'store_corrupt' })
  })

  test('the log deleted: acknowledged entries are missing, and it says so', async () => {
    await killAfter(10)
    writeFileSync(`${folder.file}-wal`, '')
    expect(await refusal()).toMatchObject({ code: 'store_corrupt' })
  })
})

describe('C89: a restart with a task in every state', () => {
  test('none is lost, none ends twice, none goes back; a stale worker is fenced', async () => {
    const child = runChild(folder.file, 'states')
    const line = await child.line((said) => said.startsWith('claimed'))
    await child.kill()
    const [held] = JSON.parse(line.slice('claimed '.length)) as {
      id: string
      fence: { owner: string; number: number }
    }[]

    const store = await openStore({ file: folder.file, clock: Date })
    const states = Object.fromEntries(
      (await store.tasks.list(ALICE)).map((task) => [task.id, task.state]),
    )
    expect(states).toEqual({
      submitted: 'unknown',
      working: 'working',
      input_required: 'input_required',
      auth_required: 'auth_required',
      completed: 'completed',
      receiving: 'working',
    })
    expect(store.approvals.list()).toMatchObject([{ state: 'pending' }])
    expect(await store.tasks.artifacts('receiving')).toMatchObject([
      { artifactId: 'a', content: [{ kind: 'text', text: 'first' }] },
    ])
    expect(store.entries({ kind: 'cancel_asked' })).toHaveLength(1)
    expect(await store.tasks.load('working', ALICE)).toMatchObject({
      handle: { taskId: 'remote-working' },
    })

    const stale = await store.tasks.commit(
      { next: createTask(held?.id ?? '', 'completed', { version: 2 }), writes: [] },
      held?.fence,
    )
    expect(stale).toBe('fenced')
    const claimed = await store.tasks.claim('worker of the living', 10, 1000)
    expect(claimed.map(({ task, effect }) => `${task.id} ${effect.do}`).toSorted()).toEqual([
      // Its answer may have left, or its agent gone on by itself.
      'input_required follow',
      'receiving follow',
      'submitted find',
      'working follow',
    ])
    await expect(
      store.tasks.commit({
        next: createTask('completed', 'working', { version: 2 }),
        writes: [],
      }),
    ).rejects.toMatchObject({ code: 'conflict' })
    await store.close()
  })
})
