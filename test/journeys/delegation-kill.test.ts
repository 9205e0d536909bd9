/** kill -9 of comity in the midst of a delegation: nothing is lost, nothing doubled, nothing canceled. */
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { comity, type Home, startUp, type Up, until } from './comity-process.fixture.ts'
import {
  type AgentProcess,
  delegate,
  homeWith,
  startAgent,
  taskOf,
  untilTask,
} from './delegation.fixture.ts'

// Real processes, each started anew.
vi.setConfig({ testTimeout: 120_000 })

/** `comity up` that ends with the test at the latest. */
async function up(home: Home): Promise<Up> {
  const running = await startUp(home)
  onTestFinished(async () => void (await running.stop('SIGKILL')))
  return running
}

async function savedText(home: Home, taskId: string, name: string): Promise<string> {
  const { stdout, code } = await comity(home, 'tasks', taskId, '--save', home.path('saved'))
  expect(code, stdout).toBe(0)
  return readFileSync(home.path('saved', name), 'utf8')
}

function expectOneSend(agent: AgentProcess): void {
  expect(agent.sends()).toHaveLength(1)
  expect(agent.count('CancelTask')).toBe(0)
}

const BOTH = [
  ['by polling', { streaming: false }],
  ['by streaming', { streaming: true }],
] as const

test.each(BOTH)('killed while the agent works, followed %s: it ends once', async (_how, shape) => {
  const agent = await startAgent(shape)
  const home = homeWith(agent)
  const first = await up(home)
  const { task, exit } = await delegate(home, 'work gate')
  expect(exit).toBe(5)
  const id = task!.taskId
  await untilTask(home, id, ({ artifacts }) => artifacts.length > 0)
  await first.stop('SIGKILL')
  agent.make('open-gate')

  await up(home)
  const ended = await taskOf(home, id, '--wait', '30s')
  expect(ended).toMatchObject({ exit: 0, state: 'completed', wait: 'over' })
  expect(ended.artifacts).toMatchObject([{ name: 'out.md', complete: true }])
  expect(await savedText(home, id, 'out.md')).toBe('one two three')
  expectOneSend(agent)
  const ledger = await comity(home, 'ledger', id, '--verify')
  expect(ledger.stdout).toContain('chain verified')
  expect(ledger.stdout.match(/to=completed/gu)).toHaveLength(1)
})

test('killed while the agent waits for an answer: it is answered after the restart, once', async () => {
  const agent = await startAgent()
  const home = homeWith(agent)
  const first = await up(home)
  const { task, exit } = await delegate(home, 'ask something', '--wait', '20s')
  expect(task).toMatchObject({ state: 'input_required', next: 'you' })
  expect(exit).toBe(5)
  await first.stop('SIGKILL')

  await up(home)
  expect(await taskOf(home, task!.taskId)).toMatchObject({
    state: 'input_required',
    questions: [{ text: 'which one?' }],
  })
  const answered = await comity(home, 'answer', task!.taskId, 'the left one', '--wait', '20s')
  expect(answered).toMatchObject({ code: 0 })
  expect(await savedText(home, task!.taskId, 'answer.md')).toBe('you said: the left one')
  expect(agent.sends()).toHaveLength(2)
  expect(agent.count('CancelTask')).toBe(0)
})

test('killed while an answer is on its way: it is not sent again, and the task is read again', async () => {
  const agent = await startAgent()
  const home = homeWith(agent)
  const first = await up(home)
  const { task } = await delegate(home, 'ask something', '--wait', '20s')
  const id = task!.taskId
  agent.make('keep-SendMessage')
  const answering = comity(home, 'answer', id, 'the left one')
  await until('the answer has arrived', () => (agent.sends().length === 2 ? true : undefined))
  await first.stop('SIGKILL')
  await answering
  agent.remove('keep-SendMessage')

  await up(home)
  await untilTask(home, id, ({ state }) => state === 'completed')
  expect(await savedText(home, id, 'answer.md')).toBe('you said: the left one')
  expect(agent.sends()).toHaveLength(2)
  expect(agent.count('CancelTask')).toBe(0)
})

test.each([
  ['SendMessage', { streaming: false }],
  ['SendStreamingMessage', { streaming: true }],
] as const)(
  'killed before %s was answered: the task is found in the list and ends once',
  async (method, shape) => {
    const agent = await startAgent(shape)
    const home = homeWith(agent)
    const first = await up(home)
    agent.make(`keep-${method}`)
    const { task } = await delegate(home, 'work gate')
    const id = task!.taskId
    await until('the send has arrived', () => (agent.sends().length === 1 ? true : undefined))
    await first.stop('SIGKILL')
    agent.remove(`keep-${method}`)

    const second = await up(home)
    expect(second.stdout()).toContain('1 call of an earlier run had no answer on record')
    const found = await untilTask(home, id, ({ remoteTaskId }) => remoteTaskId !== undefined)
    expect(found.state).toBe('working')
    agent.make('open-gate')
    expect(await taskOf(home, id, '--wait', '30s')).toMatchObject({ exit: 0, state: 'completed' })
    expect(await savedText(home, id, 'out.md')).toBe('one two three')
    const page = await comity(home, 'explain', id)
    expect(page.stdout).toContain('comity had ended before an answer was on record')
    expect(page.stdout).toContain(
      'the lost reply is known after all: the task was found as working',
    )
    expectOneSend(agent)
    expect(agent.count('ListTasks')).toBeGreaterThan(0)
  },
)

test('the lost send of an agent that cannot be searched stays unknown, with advice; an equal one is its twin', async () => {
  const agent = await startAgent({ list: false })
  const home = homeWith(agent)
  const first = await up(home)
  agent.make('keep-SendMessage')
  const lost = await delegate(home, 'work gate')
  const id = lost.task!.taskId
  await until('the send has arrived', () => (agent.sends().length === 1 ? true : undefined))
  await first.stop('SIGKILL')
  agent.remove('keep-SendMessage')

  await up(home)
  await until('it was searched for', () => agent.count('ListTasks') || undefined)
  expect(await taskOf(home, id)).toMatchObject({ exit: 4, state: 'unknown', next: 'operator' })
  const twin = await delegate(home, 'work gate', '--wait', '5s')
  expect(twin.exit).toBe(4)
  expect(twin.task).toBeUndefined()
  expect(twin.outcome).toMatchObject({ state: 'unknown', twinOf: lost.callId })
  expect(twin.outcome.detail).toContain(`comity settle ${lost.callId} --as ran|did-not-run`)
  expect(twin.outcome.detail).toContain(`--insist ${lost.callId}`)
  expectOneSend(agent)

  const page = await comity(home, 'explain', id)
  expect(page.stdout).toContain(`comity settle ${lost.callId} --as ran|did-not-run`)
  const settled = await comity(home, 'settle', lost.callId, '--as', 'did-not-run')
  expect(settled.code).toBe(0)
  expect(await taskOf(home, id)).toMatchObject({ exit: 1, state: 'failed' })
  agent.make('open-gate')
  expect(await delegate(home, 'work gate', '--wait', '20s')).toMatchObject({ exit: 0 })
  expect(agent.sends()).toHaveLength(2)
})

test('killed with a send that the agent never took: unknown, searched for, and never sent again', async () => {
  const agent = await startAgent()
  const home = homeWith(agent)
  const first = await up(home)
  agent.make('hold-SendMessage')
  const { task } = await delegate(home, 'work gate')
  await until('the send has arrived', () => (agent.sends().length === 1 ? true : undefined))
  await first.stop('SIGKILL')
  await agent.kill()
  agent.remove('hold-SendMessage')
  await agent.restart()
  await up(home)
  await until('it was searched for', () => agent.count('ListTasks') || undefined)
  expect(await taskOf(home, task!.taskId)).toMatchObject({ exit: 4, state: 'unknown' })
  expectOneSend(agent)
})

test('with no process to go on with it, the next one finds and follows what a wait left behind', async () => {
  const agent = await startAgent()
  const home = homeWith(agent)
  agent.make('keep-SendMessage')
  const left = await delegate(home, 'work gate', '--wait', '2s')
  expect(left).toMatchObject({ exit: 5, task: { wait: 'still_working' } })
  expect(agent.sends()).toHaveLength(1)
  agent.remove('keep-SendMessage')
  agent.make('open-gate')
  // A task that may still be found is not at its end: whoever waits for it sees it found.
  const ended = await taskOf(home, left.task!.taskId, '--wait', '30s')
  expect(ended).toMatchObject({ exit: 0, state: 'completed', wait: 'over' })
  expect(ended.artifacts).toMatchObject([{ name: 'out.md', bytes: 13, complete: true }])
  expectOneSend(agent)
})
