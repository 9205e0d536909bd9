import { expect, test } from 'vitest'
import { Deadlines, type Due } from './deadlines.ts'

function soon(ms: number, passed: () => void): Due {
  let dueAt = performance.now() + ms
  return {
    get dueAt() {
      return dueAt
    },
    pass() {
      dueAt = Infinity
      passed()
    },
  }
}

test('each is told when its time has come, never before, in the order of their times', async () => {
  const deadlines = new Deadlines()
  const told: number[] = []
  const began = performance.now()
  await Promise.all(
    [60, 5, 30].map(
      (ms) =>
        new Promise<void>((resolve) => {
          deadlines.add(
            soon(ms, () => {
              expect(performance.now() - began).toBeGreaterThanOrEqual(ms)
              told.push(ms)
              resolve()
            }),
          )
        }),
    ),
  )
  expect(told).toEqual([5, 30, 60])
})

test('one that was removed is told nothing', async () => {
  const deadlines = new Deadlines()
  const told: string[] = []
  deadlines.remove(deadlines.add(soon(1, () => told.push('removed'))))
  await new Promise<void>((resolve) => {
    deadlines.add(soon(20, resolve))
  })
  expect(told).toEqual([])
})

test('one whose time became an earlier one is told then', async () => {
  const deadlines = new Deadlines()
  let dueAt = Infinity
  const passed = Promise.withResolvers<void>()
  const due: Due = {
    get dueAt() {
      return dueAt
    },
    pass() {
      dueAt = Infinity
      passed.resolve()
    },
  }
  deadlines.add(due)
  dueAt = performance.now() + 5
  deadlines.heed(due)
  await passed.promise
})
