import { expect, test } from 'vitest'
import { againWhenStarved, createDeadline, DeadlinePassed } from './deadline.ts'

function passed(work: () => void): DeadlinePassed {
  try {
    createDeadline()(work, 100)
  } catch (error) {
    if (error instanceof DeadlinePassed) return error
    throw error
  }
  throw new Error('it ended in time')
}

test('work that takes long is told apart from a machine that gave it no time', () => {
  const busy = passed(() => {
    for (;;);
  })
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const waiting = passed(() => void Atomics.wait(cell, 0, 0, 10_000))
  expect(waiting.starved).toBe(true)
  // On a machine so busy that this loop got no time either, it says so: only then may it be wrong.
  expect(busy.message).toBe('did not end within 100 ms')
})

test('what was starved begins again, a bounded number of times; what took long does not', () => {
  let tries = 0
  const ends = againWhenStarved(() => {
    tries += 1
    if (tries < 3) throw new DeadlinePassed('late', true)
    return 'done'
  })
  expect([ends, tries]).toEqual(['done', 3])
  const count = (starved: boolean): number => {
    let made = 0
    const attempt = (): never => {
      made += 1
      throw new DeadlinePassed('late', starved)
    }
    expect(() => againWhenStarved(attempt)).toThrow('late')
    return made
  }
  expect(count(true)).toBe(5)
  expect(count(false)).toBe(1)
})
