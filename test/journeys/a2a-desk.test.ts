/** A published agent as the official A2A client meets it: discovery, skills, tasks, refusals, and whose a task is. */
import { randomUUID } from 'node:crypto'
import { type Message, Role, type SendMessageRequest, type Task, TaskState } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { expect, test } from 'vitest'
import { createOpening, createTask } from '../../src/store/testing/make.ts'
import { clientOf, openDeskHouse } from './a2a-desk-house.ts'

type Content = { readonly text: string } | { readonly data: unknown }

function request(
  content: Content,
  more: Partial<Message> = {},
  returnImmediately = false,
): SendMessageRequest {
  const part =
    'text' in content
      ? { $case: 'text' as const, value: content.text }
      : { $case: 'data' as const, value: content.data }
  return {
    tenant: '',
    message: {
      messageId: randomUUID(),
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [{ content: part, metadata: undefined, filename: '', mediaType: '' }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...more,
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      historyLength: undefined,
      returnImmediately,
    },
    metadata: undefined,
  }
}

async function send(client: Client, ...asked: Parameters<typeof request>): Promise<Task> {
  const reply = await client.sendMessage(request(...asked))
  if (!('status' in reply)) throw new Error('expected a task, got a message')
  return reply
}

const getTask = (client: Client, id: string, historyLength?: number): Promise<Task> =>
  client.getTask({ tenant: '', id, historyLength })
const words = (task: Task): string =>
  (task.status?.message?.parts ?? [])
    .flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
    .join('\n')
const outcome = (task: Task): unknown => task.metadata?.['comity/outcome']

test('text alone is the argument of the only skill; the task carries the result and can be read again', async () => {
  const house = await openDeskHouse()
  const client = await clientOf(house.url, 'desk')
  const task = await send(client, { text: 'retention' }, { contextId: 'talk-1' })
  expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  expect(task.contextId).toBe('talk-1')
  expect(
    task.artifacts.map(({ artifactId, parts }) => [artifactId, parts.map((p) => p.content)]),
  ).toEqual([
    [
      'result',
      [
        { $case: 'text', value: 'found' },
        { $case: 'data', value: { hits: 1 } },
      ],
    ],
  ])
  expect(outcome(task)).toMatchObject({ state: 'completed', ran: 'yes', taskId: task.id })
  expect(house.received.map((text) => JSON.parse(text) as unknown)).toEqual([
    { name: 'docs_search_documents', arguments: { query: 'retention' } },
  ])
  expect(await getTask(client, task.id)).toEqual(task)
  expect((await getTask(client, task.id, 0)).history).toEqual([])
  expect((await getTask(client, task.id)).history).toHaveLength(1)
})

test('a data part picks the skill among several', async () => {
  const house = await openDeskHouse()
  const client = await clientOf(house.url, 'many')
  const data = { skill: 'find', arguments: { query: 'x' } }
  const task = await send(client, { data })
  expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  expect(task.contextId).not.toBe('')
})

test('a message that names no skill is asked which, hidden ones left out; the answer goes on in the same task', async () => {
  const house = await openDeskHouse()
  const client = await clientOf(house.url, 'many')
  const asked = await send(client, { text: 'retention' })
  expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  expect(words(asked)).toContain('- find: Finds documents')
  const offered = asked.status?.message?.parts[1]?.content?.value as {
    readonly skills: readonly { readonly id: string; readonly inputSchema: unknown }[]
  }
  expect(offered.skills.map(({ id }) => id)).toEqual([
    'find',
    'wait',
    'fail',
    'lose',
    'forbid',
    'ask',
  ])
  expect(offered.skills[0]?.inputSchema).toEqual({
    type: 'object',
    properties: { query: { type: 'string' } },
  })
  expect(JSON.stringify(asked)).not.toContain('docs')
  expect(house.received).toEqual([])
  expect((await getTask(client, asked.id)).status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)

  // The first message's text still stands: only the skill is chosen now.
  const chosen = await send(client, { data: { skill: 'find' } }, { taskId: asked.id })
  expect(chosen.id).toBe(asked.id)
  expect(chosen.contextId).toBe(asked.contextId)
  expect(chosen.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  expect(JSON.parse(house.received[0] ?? '')).toMatchObject({ arguments: { query: 'retention' } })
  expect((await getTask(client, asked.id)).status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  await expect(send(client, { text: 'more' }, { taskId: asked.id })).rejects.toThrow(/has ended/u)
})

test('without waiting the task comes at once, and is read until it ends', async () => {
  const house = await openDeskHouse()
  const client = await clientOf(house.url, 'many')
  const data = { skill: 'wait', arguments: {} }
  const task = await send(client, { data }, {}, true)
  expect(task.status?.state).toBe(TaskState.TASK_STATE_SUBMITTED)
  await house.arrived()
  await expect(send(client, { text: 'more' }, { taskId: task.id })).rejects.toThrow(
    /takes no further/u,
  )
  house.release()
  const ended = await untilState(client, task.id, TaskState.TASK_STATE_COMPLETED)
  expect(ended.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'text', value: 'at last' })
})

test('a tool that reports an error fails its task, and what it says is in the artifact', async () => {
  const house = await openDeskHouse()
  const client = await clientOf(house.url, 'many')
  const task = await send(client, { data: { skill: 'fail' } })
  expect(task.status?.state).toBe(TaskState.TASK_STATE_FAILED)
  expect(outcome(task)).toMatchObject({ state: 'completed', ran: 'yes' })
  expect(task.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'text', value: 'no such file' })
})

test('what may have run is indeterminate, never failed; an equal act is its twin until insisted on', async () => {
  const house = await openDeskHouse()
  const client = await clientOf(house.url, 'many')
  const data = { skill: 'lose', arguments: { n: 1 } }
  const lost = await send(client, { data })
  expect(lost.status?.state).toBe(TaskState.TASK_STATE_UNSPECIFIED)
  expect(words(lost)).toMatch(/may have run.*Do not repeat it blindly/su)
  expect(outcome(lost)).toMatchObject({ state: 'unknown', code: 'sent_no_answer', ran: 'unknown' })
  const { callId } = outcome(lost) as { readonly callId: string }

  const twin = await send(client, { data })
  expect(twin.status?.state).toBe(TaskState.TASK_STATE_UNSPECIFIED)
  expect(outcome(twin)).toMatchObject({ code: 'unsettled_twin', twinOf: callId })
  expect(house.received).toHaveLength(1)

  await send(client, { data }, { metadata: { 'comity/insist': callId } })
  expect(house.received).toHaveLength(2)
  expect(JSON.stringify([lost, twin])).not.toContain('docs')
})

test('a refusal before anything ran is a rejected task that can be read again', async () => {
  const house = await openDeskHouse()
  const client = await clientOf(house.url, 'many')
  const denied = await send(client, { data: { skill: 'forbid' } })
  expect(denied.status?.state).toBe(TaskState.TASK_STATE_REJECTED)
  expect(outcome(denied)).toMatchObject({ state: 'failed', code: 'denied', ran: 'no' })
  expect(JSON.stringify(denied)).not.toContain('docs')
  expect(await getTask(client, denied.id)).toEqual(denied)

  const wrong = await send(client, { data: { skill: 'find', arguments: { query: 7 } } })
  expect(wrong.status?.state).toBe(TaskState.TASK_STATE_REJECTED)
  expect(words(wrong)).toContain('/query: a string')
  const hidden = await send(client, { data: { skill: 'secret' } })
  expect(hidden.status?.state).toBe(TaskState.TASK_STATE_REJECTED)
  expect(house.received).toEqual([])
})

test('an approval is asked for by its command; the same call passes once it is given', async () => {
  const house = await openDeskHouse()
  const client = await clientOf(house.url, 'many')
  const data = { skill: 'ask', arguments: { n: 1 } }
  const asked = await send(client, { data })
  expect(asked.status?.state).toBe(TaskState.TASK_STATE_REJECTED)
  const { approvalId } = outcome(asked) as { readonly approvalId: string }
  expect(words(asked)).toContain(`comity approve ${approvalId}`)
  await house.store.approvals.answer(approvalId, 'approved', 'operator')
  const passed = await send(client, { data })
  // The peer behind this skill cannot be reached: placed, and known not to have run.
  expect(passed.status?.state).toBe(TaskState.TASK_STATE_FAILED)
  expect(outcome(passed)).toMatchObject({ code: 'peer_unreachable', ran: 'no' })
  expect(words(passed)).not.toContain('docs')
  expect(house.received).toHaveLength(1)
})

test('a running task is canceled where it runs; what is not confirmed is not said', async () => {
  const house = await openDeskHouse()
  const client = await clientOf(house.url, 'many')
  const task = await send(client, { data: { skill: 'wait' } }, {}, true)
  await house.arrived()
  const canceled = await client.cancelTask({ tenant: '', id: task.id, metadata: undefined })
  expect(canceled.status?.state).toBe(TaskState.TASK_STATE_UNSPECIFIED)
  expect(outcome(canceled)).toMatchObject({ code: 'cancel_unconfirmed', ran: 'unknown' })
  const asking = await send(client, { text: 'x' })
  const cancelAsking = (): Promise<Task> =>
    client.cancelTask({ tenant: '', id: asking.id, metadata: undefined })
  expect((await cancelAsking()).status?.state).toBe(TaskState.TASK_STATE_CANCELED)
  expect((await cancelAsking()).status?.state).toBe(TaskState.TASK_STATE_CANCELED)
  const done = await send(client, { data: { skill: 'find', arguments: { query: 'x' } } })
  await expect(client.cancelTask({ tenant: '', id: done.id, metadata: undefined })).rejects.toThrow(
    /cannot be canceled/u,
  )
})

test('C81: one message is one task however often it is sent; two principals with one id are two', async () => {
  const house = await openDeskHouse()
  const alice = await clientOf(house.url, 'many')
  const bob = await clientOf(house.url, 'many', 'bob')
  const data = { skill: 'find', arguments: { query: 'lamps' } }
  const same = { messageId: 'm-100' }
  const first = await send(alice, { data }, same)
  const again = await Promise.all(Array.from({ length: 10 }, () => send(alice, { data }, same)))
  expect(new Set(again.map(({ id }) => id))).toEqual(new Set([first.id]))
  expect(house.received).toHaveLength(1)
  expect((await send(bob, { data }, same)).id).not.toBe(first.id)
  await expect(send(alice, { text: 'other' }, same)).rejects.toThrow(/other content/u)
  expect(house.received).toHaveLength(2)
})

test('C81: ten at once before any is answered are one call', async () => {
  const house = await openDeskHouse()
  const client = await clientOf(house.url, 'many')
  const sent = Array.from({ length: 10 }, () =>
    send(client, { data: { skill: 'wait' } }, { messageId: 'm-1' }),
  )
  await house.arrived()
  house.release()
  const tasks = await Promise.all(sent)
  expect(new Set(tasks.map(({ id }) => id)).size).toBe(1)
  expect(house.received).toHaveLength(1)
})

test("C87: another principal's task answers exactly as one that never was", async () => {
  const house = await openDeskHouse()
  const alice = await clientOf(house.url, 'many')
  const mallory = await clientOf(house.url, 'many', 'bob')
  const data = { skill: 'wait' }
  const placed = await send(alice, { data }, { contextId: 'talk' }, true)
  const asking = await send(alice, { text: 'which' })
  await house.arrived()
  const refusals = async (id: string): Promise<unknown[]> => [
    await faultOf(getTask(mallory, id)),
    await faultOf(mallory.cancelTask({ tenant: '', id, metadata: undefined })),
    await faultOf(send(mallory, { data: { skill: 'find' } }, { taskId: id })),
  ]
  const unknown = await refusals('t-never-was')
  expect(unknown).toEqual(Array.from({ length: 3 }, () => 'TaskNotFoundError: Task not found'))
  expect(await refusals(placed.id)).toEqual(unknown)
  expect(await refusals(asking.id)).toEqual(unknown)
  // The same word is another context for another principal: nothing is joined, nothing is learned.
  const own = await send(
    mallory,
    { data: { skill: 'find', arguments: { query: 'x' } } },
    { contextId: 'talk' },
  )
  expect(own.contextId).toBe('talk')
  expect((await getTask(alice, placed.id)).status?.state).toBe(TaskState.TASK_STATE_SUBMITTED)
  expect(house.received).toHaveLength(2)
})

test("C87: an agent has no tasks but its own: another agent's and a delegation are not found, even by their owner", async () => {
  const house = await openDeskHouse()
  const many = await clientOf(house.url, 'many')
  const desk = await clientOf(house.url, 'desk')
  const placed = await send(many, { data: { skill: 'wait' } }, {}, true)
  const owner = { id: 'alice', groups: [], via: 'token' } as const
  await house.store.ledger.open(
    createOpening('c-del', { task: createTask('t-del', 'submitted', { callId: 'c-del', owner }) }),
  )
  expect(await house.store.tasks.load('t-del', owner)).toBeDefined()
  const asked = async (id: string): Promise<unknown[]> => [
    await faultOf(getTask(desk, id)),
    await faultOf(desk.cancelTask({ tenant: '', id, metadata: undefined })),
    await faultOf(send(desk, { text: 'go on' }, { taskId: id })),
  ]
  const notFound = Array.from({ length: 3 }, () => 'TaskNotFoundError: Task not found')
  expect(await asked(placed.id)).toEqual(notFound)
  expect(await asked('t-del')).toEqual(notFound)
  expect((await getTask(many, placed.id)).status?.state).toBe(TaskState.TASK_STATE_SUBMITTED)
  expect((await house.store.tasks.load('t-del', owner))?.state).toBe('submitted')
})

async function faultOf(work: Promise<unknown>): Promise<string> {
  const fault = await work.then(
    () => new Error('expected a fault, got an answer'),
    (error: unknown) => error as Error,
  )
  return `${fault.name}: ${fault.message}`
}

async function untilState(client: Client, id: string, state: TaskState): Promise<Task> {
  const end = Date.now() + 10_000
  while (Date.now() < end) {
    const task = await getTask(client, id)
    if (task.status?.state === state) return task
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`the task did not come to state ${TaskState[state]}`)
}
