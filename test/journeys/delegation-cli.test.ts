/** `comity delegate` and what follows it: one deadline, direct answers, questions, bad ends, a restarted agent, cancels. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { comity, comityJson, type Home, startUp, until } from './comity-process.fixture.ts'
import {
  type AgentProcess,
  type AgentScript,
  delegate,
  homeWith,
  LIVE,
  operatorOf,
  startAgent,
  taskOf,
  untilTask,
} from './delegation.fixture.ts'

// Real processes, each started anew.
vi.setConfig({ testTimeout: 120_000 })

async function gateway(
  shape: Omit<AgentScript, 'folder'> = {},
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly agent: AgentProcess; readonly home: Home }> {
  const agent = await startAgent(shape)
  const home = homeWith(agent, more)
  const up = await startUp(home)
  onTestFinished(async () => void (await up.stop('SIGKILL')))
  return { agent, home }
}

const BOTH = [
  ['by polling', { streaming: false }],
  ['by streaming', { streaming: true }],
] as const

test.each(BOTH)(
  'delegate returns at once with our task id; waiting %s ends with it',
  async (_how, shape) => {
    const { agent, home } = await gateway(shape)
    const begun = await delegate(home, 'work gate')
    expect(begun).toMatchObject({ exit: 5, task: { wait: 'over' } })
    const id = begun.task!.taskId

    const early = await delegate(home, 'work other', '--wait', '2s')
    expect(early).toMatchObject({ exit: 5, task: { state: 'working', wait: 'still_working' } })
    expect(early.task!.contextId).toBeTypeOf('string')
    expect(early.task!.remoteTaskId).toBeTypeOf('string')
    const shown = await comity(home, 'tasks', early.task!.taskId, '--wait', '1s')
    expect(shown.code).toBe(5)
    expect(shown.stdout).toContain('still_working')
    expect(shown.stdout).toContain(early.task!.taskId)
    expect(shown.stdout).toContain(early.task!.contextId!)

    agent.make('open-gate')
    agent.make('open-other')
    expect(await taskOf(home, id, '--wait', '20s')).toMatchObject({ exit: 0, state: 'completed' })
    const followed = await taskOf(home, early.task!.taskId, '--wait', '20s')
    expect(followed).toMatchObject({
      exit: 0,
      state: 'completed',
      verdict: { state: 'not_judged' },
    })
    expect(agent.count('CancelTask')).toBe(0)
    expect(new Set(agent.sends().map(({ messageId }) => messageId)).size).toBe(2)
  },
)

test('one deadline holds over the send and the reads, whichever is slow, and the work goes on', async () => {
  const { agent, home } = await gateway()
  const operator = operatorOf(home)
  for (const slow of ['SendMessage', 'GetTask']) {
    agent.make(`keep-${slow}`)
    const from = Date.now()
    const asked = { agent: 'research', message: `work ${slow}`, waitMs: 2_000 }
    const { task } = await operator.delegate(asked, LIVE)
    expectAtDeadline(from)
    expect(task).toMatchObject({ wait: 'still_working', next: 'agent' })
    agent.remove(`keep-${slow}`)
    agent.make(`open-${slow}`)
    const ended = await operator.task({ taskId: task!.taskId, waitMs: 30_000 }, LIVE)
    expect(ended).toMatchObject({ state: 'completed', wait: 'over' })
  }
  expect(agent.sends()).toHaveLength(2)
  expect(agent.count('CancelTask')).toBe(0)
})

test('the deadline holds over the card and over an answer', async () => {
  const agent = await startAgent()
  agent.make('hold-card')
  const home = homeWith(agent)
  const up = await startUp(home)
  onTestFinished(async () => void (await up.stop('SIGKILL')))
  const operator = operatorOf(home)
  let from = Date.now()
  const blind = operator.delegate({ agent: 'research', message: 'work', waitMs: 2_000 }, LIVE)
  await expect(blind).rejects.toThrow('nothing was sent')
  expectAtDeadline(from)
  expect(agent.sends()).toEqual([])
  agent.remove('hold-card')

  const asked = await delegate(home, 'ask something', '--wait', '20s')
  expect(asked.task).toMatchObject({ state: 'input_required', next: 'you' })
  const { taskId } = asked.task!
  from = Date.now()
  const slow = await operator.answer({ taskId, text: 'slowly please', waitMs: 2_000 }, LIVE)
  expectAtDeadline(from)
  expect(slow.task).toMatchObject({ state: 'working', wait: 'still_working' })
  agent.make('open-slowly')
  expect(await taskOf(home, taskId, '--wait', '20s')).toMatchObject({ exit: 0 })
})

function expectAtDeadline(from: number): void {
  const took = Date.now() - from
  expect(took).toBeGreaterThan(1_900)
  expect(took).toBeLessThan(3_500)
}

test.each(BOTH)(
  'a direct message is an answer, %s: no task, no remote task id',
  async (_how, shape) => {
    const { home } = await gateway(shape)
    const answered = await delegate(home, 'message', '--wait', '20s')
    expect(answered).toMatchObject({
      exit: 0,
      answerText: 'just an answer',
      outcome: { state: 'answered' },
    })
    expect(answered.task).toBeUndefined()
    const { stdout } = await comity(home, 'delegate', 'research', 'message again', '--wait', '20s')
    expect(stdout.trim()).toBe('just an answer')
    expect((await comity(home, 'tasks', '--all')).stdout.trim()).toBe('no tasks')
    const page = await comityJson(home, 'explain', answered.callId)
    expect(JSON.stringify(page)).not.toContain('remoteTaskId')

    // Nobody waited: the same is found under our task id.
    const { task } = await delegate(home, 'message late')
    const ended = await taskOf(home, task!.taskId, '--wait', '20s')
    expect(ended).toMatchObject({ exit: 0, state: 'answered', theirWords: 'just an answer' })
  },
)

test.each(BOTH)('a question is answered in its task and context, %s', async (_how, shape) => {
  const { agent, home } = await gateway(shape)
  const asked = await delegate(home, 'ask something', '--wait', '20s')
  const { taskId, remoteTaskId, contextId } = asked.task!
  expect(asked).toMatchObject({ exit: 5, task: { questions: [{ text: 'which one?' }] } })
  const again = await comityJson(home, 'answer', taskId, 'again', '--wait', '20s')
  expect(again).toMatchObject({ exit: 5, task: { questions: [{ text: 'and which colour?' }] } })
  const done = await comityJson(home, 'answer', taskId, 'the blue one', '--wait', '20s')
  expect(done).toMatchObject({ exit: 0, task: { state: 'completed', remoteTaskId, contextId } })

  const sends = agent.sends()
  expect(sends).toHaveLength(3)
  expect(new Set(sends.map(({ messageId }) => messageId)).size).toBe(3)
  for (const answer of sends.slice(1)) {
    expect(answer).toMatchObject({ taskId: remoteTaskId, contextId })
  }
  // The reply is consumed, then the task itself is read.
  const methods = agent.log().map(({ method }) => method)
  expect(methods.slice(methods.lastIndexOf('SendMessage'))).toContain('GetTask')

  // Ended tasks take nothing more.
  const late = await comityJson(home, 'answer', taskId, 'and one more')
  expect(late).toMatchObject({ exit: 1, outcome: { code: 'task_terminal', ran: 'no' } })
  expect(agent.sends()).toHaveLength(3)
})

test('an answer that is replied to by a message, declined, or ends in failure is told as it is', async () => {
  const { agent, home } = await gateway()
  const ask = async (): Promise<string> =>
    (await delegate(home, `ask ${agent.sends().length}`, '--wait', '20s')).task!.taskId

  const byMessage = await ask()
  const said = await comityJson(home, 'answer', byMessage, 'by message', '--wait', '20s')
  expect(said).toMatchObject({
    exit: 0,
    task: { state: 'completed', artifacts: [{ name: 'answer.md' }] },
  })
  // The message is on the record of the task, as the reply that it was.
  const page = await comity(home, 'explain', byMessage)
  expect(page.stdout).toMatch(/an answer was given \(q-[0-9a-f]+ accept\)/u)
  expect(page.stdout).toContain('the reply was: answered')

  const declined = await ask()
  const told = await comityJson(home, 'answer', declined, '--decline', '--wait', '20s')
  expect(told).toMatchObject({ exit: 0, task: { state: 'completed' } })
  expect(agent.sends().at(-1)?.parts[0]?.text).toBe(
    'The question was declined; no answer is given.',
  )

  const failed = await ask()
  const end = await comityJson(home, 'answer', failed, 'and fail', '--wait', '20s')
  expect(end).toMatchObject({
    exit: 1,
    task: { state: 'failed', theirWords: 'cannot use that answer' },
  })
  expect(agent.count('CancelTask')).toBe(0)
})

test('an authorisation is shown and followed on; bad ends keep the words of the agent and its task id', async () => {
  const { agent, home } = await gateway()
  const auth = await delegate(home, 'auth door', '--wait', '20s')
  expect(auth).toMatchObject({ exit: 5, task: { state: 'auth_required', next: 'operator' } })
  expect(auth.task!.questions[0]?.text).toBe('log in at the agent')
  agent.make('open-door')
  await untilTask(home, auth.task!.taskId, ({ state }) => state === 'completed')

  for (const [verb, state, words] of [
    ['fail', 'failed', 'the disk is full'],
    ['fail-now', 'failed', 'no time today'],
    ['reject', 'rejected', 'not my trade'],
    ['stop', 'canceled', 'stopped by its owner'],
  ] as const) {
    const ended = await delegate(home, verb, '--wait', '20s')
    expect(ended).toMatchObject({ exit: 1, task: { state, theirWords: words, wait: 'over' } })
    expect(ended.task!.remoteTaskId).toBeTypeOf('string')
  }
  expect(agent.count('CancelTask')).toBe(0)
})

test.each(BOTH)(
  'an agent killed and restarted in the midst is followed to the end, %s',
  async (_how, shape) => {
    const { agent, home } = await gateway(shape)
    const { task } = await delegate(home, 'work gate', '--wait', '1s')
    expect(task!.state).toBe('working')
    await agent.kill()
    await agent.restart()
    agent.make('open-gate')
    const ended = await taskOf(home, task!.taskId, '--wait', '30s')
    expect(ended).toMatchObject({ exit: 0, state: 'completed', artifacts: [{ bytes: 13 }] })
    expect(agent.sends()).toHaveLength(1)
  },
)

test('cancel says what is confirmed, what had ended and what is not known; it undoes nothing', async () => {
  const { agent, home } = await gateway()
  const begun = await delegate(home, 'work gate', '--wait', '1s')
  const id = begun.task!.taskId
  const stopped = await comity(home, 'cancel', id)
  expect(stopped.code).toBe(0)
  expect(stopped.stdout).toContain('confirmed stopped')
  expect(stopped.stdout).toContain('a cancel is no undo')
  expect(await taskOf(home, id)).toMatchObject({ exit: 1, state: 'canceled' })
  const again = await comity(home, 'cancel', id)
  expect(again.code).toBe(0)
  expect(again.stdout).toContain('had already ended')
  expect(agent.count('CancelTask')).toBe(1)

  const { task } = await delegate(home, 'stubborn gate', '--wait', '1s')
  const unheard = await comityJson(home, 'cancel', task!.taskId)
  expect(unheard).toMatchObject({ exit: 4, confirmed: 'unconfirmed', task: { state: 'working' } })
  await agent.kill()
  const away = await comityJson(home, 'cancel', task!.taskId)
  expect(away).toMatchObject({ exit: 4, confirmed: 'unconfirmed' })
  for (const said of [stopped.stdout, again.stdout, JSON.stringify([unheard, away])]) {
    expect(said).not.toMatch(/undone|rolled back|reverted/u)
  }
  await agent.restart()
  agent.make('open-gate')
  expect(await taskOf(home, task!.taskId, '--wait', '30s')).toMatchObject({ state: 'completed' })
})

test('a card that changed is refused until a person accepts it; nothing is sent before', async () => {
  const { agent, home } = await gateway({ cacheControl: 'no-cache' })
  expect(await delegate(home, 'message', '--wait', '20s')).toMatchObject({ exit: 0 })
  agent.make('description', 'Sends everything to somebody else')
  const refused = await until('the change is seen', async () => {
    const tried = await delegate(home, 'message now', '--wait', '5s')
    return tried.outcome.code === 'pin_changed' ? tried : undefined
  })
  expect(refused).toMatchObject({ exit: 3 })
  expect(refused.outcome.detail).toContain('comity pins accept research')
  expect((await comity(home, 'pins')).stdout).toContain('Sends everything to somebody else')
  expect(agent.sends()).toHaveLength(1)
  await operatorOf(home).acceptPins({ peer: 'research' }, LIVE)
  expect(await delegate(home, 'message now', '--wait', '20s')).toMatchObject({ exit: 0 })
  expect(agent.sends()).toHaveLength(2)
})
