import { expect, test } from 'vitest'
import type { Approval } from '../../core/words/approval.ts'
import { SEARCHED, type TaskRecord } from '../../core/words/task.ts'
import { busyWith, endWhenIdle, type IdleParts } from './end-when-idle.ts'

const HANDLE = { kind: 'a2a_task' } as TaskRecord['handle']
const NOT_JUDGED = { state: 'not_judged' }

interface Busy {
  readonly pipes?: number
  readonly acts?: number
  readonly serving?: number
  readonly approvals?: readonly string[]
  readonly tasks?: readonly object[]
}

function parts({ pipes = 0, acts = 0, serving = 0, approvals = [], tasks = [] }: Busy): IdleParts {
  const listed = approvals.map((state) => ({ state }) as Approval)
  const open = tasks.map((task) => ({ verdict: NOT_JUDGED, ...task }) as unknown as TaskRecord)
  return {
    pipes: () => pipes,
    acts: () => acts,
    serving: () => serving,
    approvals: { list: () => listed } as unknown as IdleParts['approvals'],
    tasks: { list: () => Promise.resolve(open) } as unknown as IdleParts['tasks'],
    monotonic: () => performance.now(),
  }
}

test.each([
  [{ pipes: 1 }, 'pipes'],
  [{ acts: 1 }, 'acts'],
  [{ serving: 1 }, 'verbs'],
  [{ approvals: ['expired', 'pending'] }, 'approvals'],
  [{ approvals: ['expired', 'spent', 'denied', 'approved'] }, undefined],
  [{ tasks: [{ state: 'working', handle: HANDLE }] }, 'tasks'],
  [{ tasks: [{ state: 'input_required', handle: HANDLE }] }, 'tasks'],
  [{ tasks: [{ state: 'unknown' }] }, 'tasks'],
  [{ tasks: [{ state: 'unknown', cursor: SEARCHED }] }, undefined],
  // Its server forgot it.
  [{ tasks: [{ state: 'unknown', handle: HANDLE, cursor: SEARCHED }] }, undefined],
  [{ tasks: [{ state: 'completed', verdict: { state: 'pending' } }] }, 'tasks'],
  [{ tasks: [{ state: 'completed' }, { state: 'failed' }] }, undefined],
  // Served as a task to a caller of ours: whoever runs it counts as an act.
  [{ tasks: [{ state: 'working' }] }, undefined],
] as const)('%j keeps a process up: %s', async (busy, what) => {
  expect(await busyWith(parts(busy))).toBe(what)
})

test('it ends once, an idle time after the last thing was over', async () => {
  let pipes = 1
  const ended = Promise.withResolvers<number>()
  const stop = endWhenIdle(
    { ...parts({}), pipes: () => pipes },
    200,
    () => ended.resolve(performance.now()),
    (error) => ended.reject(error as Error),
  )
  const released = await new Promise<number>((resolve) => {
    setTimeout(() => {
      pipes = 0
      resolve(performance.now())
    }, 500)
  })
  expect((await ended.promise) - released).toBeGreaterThan(150)
  stop()
})
