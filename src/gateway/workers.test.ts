import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Upstream, Work } from '../core/ports/upstream.ts'
import { createResume, type ResumePorts } from '../core/resume.ts'
import type { Handle, Outcome } from '../core/words/outcome.ts'
import type { TaskNews, TaskState } from '../core/words/task.ts'
import { openStore } from '../store/open-sqlite.ts'
import type { Store } from '../store/store.ts'
import { createFolder, createOpening, createTask, native, OPERATOR } from '../store/testing/make.ts'
import { systemClock } from './compose/world.ts'
import { startWorkers } from './workers.ts'

const handle: Handle = { peer: 'research', kind: 'a2a_task', sealed: 'T1', taskId: 'T1' }
const working: Outcome = { state: 'working', handle }
const completed: Outcome = { state: 'completed', native: native('{}'), toolError: false, handle }

function asking(key: string): Outcome {
  const question = { key, kind: 'text', text: `${key}?`, native: native('{}') } as const
  return { state: 'input_required', handle, questions: [question] }
}

const news = (outcome: Outcome): TaskNews => ({ kind: 'snapshot', outcome, artifacts: [] })

/** A store with one task, and workers that follow it as the script says. */
async function house(
  state: TaskState,
  follow: Work['follow'],
  options: {
    readonly leaseMs?: number
    readonly waitingMs?: number
    readonly followers?: number
    readonly judge?: () => void
  },
): Promise<Store> {
  const folder = createFolder()
  const store = await openStore({ file: folder.file, clock: systemClock, onFault: () => undefined })
  const questions =
    state === 'input_required'
      ? [{ key: 'one', kind: 'text', text: 'one?', native: native('{}') } as const]
      : []
  await store.ledger.open(
    createOpening('c1', { task: createTask('t1', 'submitted', { callId: 'c1', handle }) }),
  )
  const made = await store.tasks.load('t1', OPERATOR)
  await store.tasks.commit({
    next: { ...made!, state, questions },
    writes: [],
    effects: [{ do: 'follow' }],
  })
  const resume = createResume({
    tasks: store.tasks,
    clock: systemClock,
    isJudged: () => false,
    judge: {
      judge: async () => {
        options.judge?.()
        return { reasons: [], checks: [] }
      },
    },
  } as unknown as ResumePorts)
  const upstream: Upstream = {
    call: () => Promise.reject(new Error('nothing is sent here')),
    work: { follow } as unknown as Work,
  }
  const workers = startWorkers(
    { tasks: store.tasks, resume, upstreamOf: () => upstream, onFault: () => undefined },
    { owner: 'w', everyMs: 20, ...options },
  )
  onTestFinished(async () => {
    await workers.close()
    await store.close()
    folder.remove()
  })
  return store
}

async function untilState(store: Store, state: TaskState): Promise<void> {
  const end = Date.now() + 10_000
  while ((await store.tasks.load('t1', OPERATOR))?.state !== state) {
    if (Date.now() > end) throw new Error(`the task did not become ${state}`)
    await wait(10)
  }
}

test('a follower that is quiet for longer than its lease goes on, and its news is taken', async () => {
  let follows = 0
  const store = await house(
    'working',
    async function* () {
      follows += 1
      yield news(working)
      await wait(600)
      yield news(completed)
    },
    { leaseMs: 100 },
  )
  await untilState(store, 'completed')
  expect(follows).toBe(1)
})

test('a task that waits for an answer is looked at now and then: its agent may go on without one', async () => {
  const states = [asking('one'), asking('one'), completed]
  const store = await house(
    'input_required',
    async function* () {
      yield news(states.shift() ?? completed)
    },
    { waitingMs: 50 },
  )
  await untilState(store, 'completed')
  expect(states).toEqual([])
})

test('a task whose agent does not know is looked at now and then: it may learn', async () => {
  const unclear: Outcome = { state: 'unknown', because: 'peer_unclear', detail: 'x', handle }
  const states = [unclear, unclear, unclear, completed]
  const store = await house(
    'working',
    async function* () {
      yield news(states.shift() ?? completed)
    },
    { waitingMs: 50 },
  )
  await untilState(store, 'completed')
  expect(states).toEqual([])
})

test('an old look at a question does not undo the answer given meanwhile', async () => {
  let looks = 0
  let answered = (): void => undefined
  const given = new Promise<void>((resolve) => (answered = resolve))
  const store = await house(
    'input_required',
    async function* (_handle, _after, signal) {
      looks += 1
      if (looks === 1) {
        // Read before the answer, and told after it.
        await given
        yield news(asking('one'))
        return
      }
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    },
    { waitingMs: 50 },
  )
  const task = await store.tasks.load('t1', OPERATOR)
  const next = { ...task!, state: 'working' as const, questions: [] }
  await store.tasks.commit({ next, writes: [], effects: [{ do: 'follow' }] })
  answered()
  const end = Date.now() + 10_000
  while (looks < 2 && Date.now() < end) await wait(10)
  expect(looks).toBe(2)
  expect(await store.tasks.load('t1', OPERATOR)).toMatchObject({ state: 'working', questions: [] })
})

/** A second task, completed and not yet judged. */
async function owesJudgment(store: Store, id: string): Promise<void> {
  const callId = `call-of-${id}`
  await store.ledger.open(
    createOpening(callId, { actKey: callId, task: createTask(id, 'submitted', { callId }) }),
  )
  const made = await store.tasks.load(id, OPERATOR)
  await store.tasks.commit({
    next: { ...made!, state: 'completed', verdict: { state: 'pending' } },
    writes: [],
    effects: [{ do: 'judge' }],
  })
}

async function untilJudged(store: Store, id: string): Promise<void> {
  const end = Date.now() + 10_000
  while ((await store.tasks.load(id, OPERATOR))?.verdict.state !== 'accepted') {
    if (Date.now() > end) throw new Error(`task ${id} was not judged`)
    await wait(10)
  }
}

function never(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
}

test('a house full of followers still judges', async () => {
  const store = await house(
    'working',
    async function* (_handle, _after, signal) {
      yield news(working)
      await never(signal)
    },
    { followers: 1 },
  )
  await owesJudgment(store, 't2')
  await untilJudged(store, 't2')
})

test('two effects of one task never run together: a quiet follower makes room for the judgment', async () => {
  let following = 0
  const seen: number[] = []
  const store = await house(
    'working',
    async function* (_handle, _after, signal) {
      following += 1
      yield news(working)
      await never(signal)
      following -= 1
    },
    { leaseMs: 100, judge: () => void seen.push(following) },
  )
  const end = Date.now() + 10_000
  while (following === 0 && Date.now() < end) await wait(10)
  // By a door: the reply to an answer ends the task while its follower is asleep.
  for (;;) {
    const task = await store.tasks.load('t1', OPERATOR)
    const done = await store.tasks.commit({
      next: { ...task!, state: 'completed', verdict: { state: 'pending' } },
      writes: [],
      effects: [{ do: 'judge' }],
    })
    if (done === 'committed') break
  }
  await untilJudged(store, 't1')
  expect(seen).toEqual([0])
})
