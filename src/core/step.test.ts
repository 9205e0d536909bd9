import fc from 'fast-check'
import { expect, test } from 'vitest'
import { step } from './step.ts'
import type { Handle, Outcome } from './words/outcome.ts'
import {
  TASK_MOVES,
  isTerminal,
  type TaskNews,
  type TaskRecord,
  type TaskState,
} from './words/task.ts'

const NOW = '2026-11-30T00:00:00.000Z'
const handle: Handle = {
  peer: 'research',
  kind: 'a2a_task',
  sealed: 'T1',
  taskId: 'T1',
  contextId: 'X1',
}
const native = {
  protocol: 'a2a',
  revision: '1.0',
  bytes: new Uint8Array(),
  value: () => ({}),
} as const

const task = (state: TaskState): TaskRecord => ({
  id: 't-1',
  version: 3,
  owner: { id: 'local', groups: [], via: 'local' },
  peer: 'research',
  callId: 'c-1',
  state,
  title: 'compare',
  questions: [],
  artifacts: [],
  verdict: { state: 'not_judged' },
  createdAt: NOW,
  updatedAt: NOW,
})

const status = (outcome: Outcome): TaskNews => ({ kind: 'status', outcome })
const working = status({ state: 'working', handle })
const completed = status({ state: 'completed', native, toolError: false, handle })

test('a completed task with a judge is pending and owes a judgment', () => {
  const { commit } = step(task('working'), completed, NOW, true)
  expect(commit.next).toMatchObject({ state: 'completed', verdict: { state: 'pending' } })
  expect(commit.effects).toEqual([{ do: 'judge' }])
})

test('absent criteria do not read as accepted', () => {
  expect(step(task('working'), completed, NOW, false).commit.next.verdict).toEqual({
    state: 'not_judged',
  })
})

test('news for an ended task is recorded and moves nothing, artifacts neither', () => {
  const chunk = {
    artifactId: 'a',
    append: false,
    last: true,
    parts: [{ kind: 'text', text: 'late' }],
  } as const
  for (const news of [working, { kind: 'artifact', chunk } as const]) {
    const stepped = step(task('completed'), news, NOW, true)
    expect(stepped).toMatchObject({
      late: true,
      follow: false,
      commit: { writes: [], entry: { kind: 'late_news' } },
    })
    expect(stepped.commit.next).toEqual(task('completed'))
  }
})

test('a question is kept and the follower rests; authorisation may go on by itself, so it is followed', () => {
  const question = { kind: 'text', key: 'q', text: 'Which version?', native } as const
  const asked = step(
    task('working'),
    status({ state: 'input_required', handle, questions: [question] }),
    NOW,
    true,
  )
  expect(asked).toMatchObject({
    follow: false,
    commit: {
      next: { state: 'input_required', questions: [question], theirWords: 'Which version?' },
    },
  })
  expect(
    step(task('working'), status({ state: 'auth_required', handle, questions: [] }), NOW, true)
      .follow,
  ).toBe(true)
})

test('C79: append to an unknown artifact keeps its text, marked headless; a snapshot makes it whole', () => {
  const chunk = (text: string, last: boolean): TaskNews => ({
    kind: 'artifact',
    chunk: { artifactId: 'out-1', append: true, last, parts: [{ kind: 'text', text }] },
  })
  const first = step(task('working'), chunk('Hello', false), NOW, true).commit
  expect(first.writes).toEqual([
    { do: 'replace', artifactId: 'out-1', parts: [{ kind: 'text', text: 'Hello' }] },
  ])
  const second = step(first.next, chunk(' world', true), NOW, true).commit
  expect(second.writes[0]?.do).toBe('append')
  expect(second.next.artifacts).toMatchObject([
    { artifactId: 'out-1', parts: 2, bytes: 11, headless: true, complete: true },
  ])
  const whole = step(
    second.next,
    {
      kind: 'snapshot',
      outcome: { state: 'working', handle },
      artifacts: [
        {
          artifactId: 'out-1',
          append: true,
          last: true,
          parts: [{ kind: 'text', text: 'Hello world' }],
        },
      ],
    },
    NOW,
    true,
  )
  expect(whole.commit.next.artifacts).toMatchObject([
    { artifactId: 'out-1', parts: 1, headless: false },
  ])
})

test('whatever news come in whatever order, states move only along the table and end once', () => {
  const outcomes: Outcome[] = [
    { state: 'working', handle },
    { state: 'input_required', handle, questions: [] },
    { state: 'auth_required', handle, questions: [] },
    { state: 'completed', native, toolError: false },
    { state: 'failed', origin: 'peer', ran: 'yes', code: 'peer_error', detail: 'x' },
    { state: 'canceled', text: '' },
    { state: 'rejected', text: '' },
    { state: 'unknown', because: 'sent_no_answer', detail: 'x' },
    { state: 'answered', native, text: 'hi' },
  ]
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...outcomes), { maxLength: 12 }), (news) => {
      let now = task('submitted')
      for (const outcome of news) {
        const { next } = step(now, status(outcome), NOW, true).commit
        if (isTerminal(now.state)) expect(next).toEqual(now)
        else
          expect(next.state === now.state || TASK_MOVES[now.state].includes(next.state)).toBe(true)
        now = next
      }
    }),
  )
})

test('a task whose agent does not know is looked at now and then; one that nobody can name is searched', () => {
  const unclear: Outcome = { state: 'unknown', because: 'peer_unclear', detail: 'x', handle }
  const lost: Outcome = { state: 'unknown', because: 'sent_no_answer', detail: 'x' }
  const owedOf = (from: TaskState, outcome: Outcome) =>
    step(task(from), status(outcome), NOW, true).commit.effects
  expect(owedOf('submitted', unclear)).toEqual([{ do: 'follow' }])
  expect(owedOf('unknown', unclear)).toEqual([{ do: 'follow' }])
  // The follower that brought it goes on.
  expect(owedOf('working', unclear)).toBeUndefined()
  expect(owedOf('submitted', lost)).toEqual([{ do: 'find' }])
})

test('a follower is owed once: news of work that goes on leave its lease alone', () => {
  expect(step(task('submitted'), working, NOW, true).commit.effects).toEqual([{ do: 'follow' }])
  const followed = { ...task('working'), handle }
  expect(step(followed, working, NOW, true).commit.effects).toBeUndefined()
  // Work of this process that its peer goes on with from now on.
  expect(step(task('working'), working, NOW, true).commit.effects).toEqual([{ do: 'follow' }])
  expect(step(task('input_required'), working, NOW, true).commit.effects).toEqual([
    { do: 'follow' },
  ])
})
