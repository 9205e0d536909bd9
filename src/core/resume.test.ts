import { expect, test } from 'vitest'
import {
  ALICE,
  completed,
  deferred,
  delegation,
  exchangeOf,
  HANDLE,
  openCoreHouse,
} from '../testkit/core-house.fixture.ts'
import type { Claimed } from './ports/tasks.ts'

const OPERATOR = { id: 'operator', groups: [], via: 'operator' } as const

function only<T>(all: readonly T[]): T {
  if (all.length !== 1) throw new Error(`expected one, got ${all.length}`)
  return all[0]!
}

test('a verdict is written although late news moved the row while it was judged', async () => {
  const judging = deferred()
  const looked = deferred()
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched({ wireId: 'w', revision: 'r', ours: {}, theirs: {} })
      return completed({ handle: HANDLE })
    },
    over: () => ({
      isJudged: () => true,
      judge: {
        judge: async () => {
          judging.resolve()
          await looked.promise
          return { reasons: ['no citation'], checks: [] }
        },
      },
    }),
  })
  const { task } = await house.dispatch(delegation(), exchangeOf().exchange)
  const claimed: Claimed = only(await house.store.tasks.claim('w', 10, 60_000))
  expect(claimed.effect).toEqual({ do: 'judge' })
  const judged = house.resume.judge(claimed)
  await judging.promise
  const late = { kind: 'status', outcome: { state: 'working', handle: HANDLE } } as const
  await house.resume.news(task!.id, late, claimed.fence)
  looked.resolve()
  expect(await judged).toBe('judged')
  expect((await house.store.tasks.load(task!.id, ALICE))?.verdict).toMatchObject({
    state: 'refused',
    reasons: ['no citation'],
  })
})

test('a judge that lost its task to another owner writes no verdict, and says so', async () => {
  const house = await openCoreHouse({
    call: async () => completed({ handle: HANDLE }),
    over: () => ({ isJudged: () => true }),
  })
  const { task } = await house.dispatch(delegation(), exchangeOf().exchange)
  const claimed = only(await house.store.tasks.claim('w', 10, 0))
  const taken = only(await house.store.tasks.claim('other', 10, 60_000))
  expect(await house.resume.judge(claimed)).toBe('fenced')
  expect((await house.store.tasks.load(task!.id, OPERATOR))?.verdict.state).toBe('pending')
  expect(await house.resume.judge(taken)).toBe('judged')
})
