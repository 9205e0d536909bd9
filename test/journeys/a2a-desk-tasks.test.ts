/**
 * Published skills whose tools are tasks or ask, as the official A2A client meets them: what is asked is INPUT_REQUIRED, answered
 * in the task, also by another process; a cancel reaches the server; what a server goes on with is followed over kill -9.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Role, type SendMessageRequest, type Task, TaskState } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serveHttp } from '../../src/testkit/conforming-peer/http.ts'
import { clientOf } from './a2a-desk-house.ts'
import { comity, createHome, startUp, until } from './comity-process.fixture.ts'

// Real processes, each started anew.
vi.setConfig({ testTimeout: 60_000 })

const { TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_WORKING } = TaskState
const ASKING = join(import.meta.dirname, 'asking-peer.fixture.ts')
const CORE_TASKS = join(import.meta.dirname, '../mcp/legacy-task-server.fixture.ts')

async function house() {
  const peer = await serveHttp(0, 'modern')
  onTestFinished(() => peer.close())
  const home = createHome({
    mcpServers: {
      peer: { url: peer.url },
      asking: { command: process.execPath, args: [ASKING] },
      core: { command: process.execPath, args: [CORE_TASKS] },
    },
    store: 'sqlite:./comity.db',
    policy: { rules: [{ match: ['*/*'], effect: 'allow' }] },
    publish: {
      desk: {
        description: 'Works',
        skills: {
          compute: { route: 'peer/slow_compute' },
          remove: { route: 'peer/confirm_delete' },
          both: { route: 'peer/multi_input' },
          greet: { route: 'peer/test_input_required_result_elicitation' },
          language: { route: 'asking/ask_language' },
          report: { route: 'core/report' },
          chat: { route: 'core/chat' },
          wait: { route: 'core/wait' },
        },
      },
    },
  })
  onTestFinished(home.remove)
  const start = async () => {
    const up = await startUp(home)
    onTestFinished(async () => void (await up.stop()))
    return up
  }
  return { home, start }
}

function part(content: string | object) {
  const said =
    typeof content === 'string'
      ? { $case: 'text' as const, value: content }
      : { $case: 'data' as const, value: content }
  return { content: said, metadata: undefined, filename: '', mediaType: '' }
}

/** @param taskId of the task that is answered. */
async function send(
  client: Client,
  content: string | object,
  { taskId = '', wait = true }: { readonly taskId?: string; readonly wait?: boolean } = {},
): Promise<Task> {
  const request: SendMessageRequest = {
    tenant: '',
    message: {
      messageId: randomUUID(),
      contextId: '',
      taskId,
      role: Role.ROLE_USER,
      parts: [part(content)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      historyLength: undefined,
      returnImmediately: !wait,
    },
    metadata: undefined,
  }
  const reply = await client.sendMessage(request)
  if (!('status' in reply)) throw new Error('expected a task, got a message')
  return reply
}

const look = (client: Client, id: string): Promise<Task> =>
  client.getTask({ tenant: '', id, historyLength: undefined })

const words = (task: Task): string => JSON.stringify(task.status?.message?.parts ?? [])

/** Until its server is known to be at work: before that there is nothing to follow, which would be unknown, and rightly. */
async function untilState(client: Client, id: string, state: TaskState): Promise<Task> {
  return until(`it is in state ${state}`, async () => {
    const task = await look(client, id)
    return task.status?.state === state ? task : undefined
  })
}

test('a skill whose tool is a task of its server is followed over kill -9; its result becomes artifacts', async () => {
  const { start } = await house()
  const first = await start()
  const client = await clientOf(first.url, 'desk')
  const asked = { skill: 'compute', arguments: { seconds: 2, label: 'y' } }
  const { id } = await send(client, asked, { wait: false })
  await untilState(client, id, TASK_STATE_WORKING)
  await first.stop('SIGKILL')
  const second = await start()
  const done = await untilState(await clientOf(second.url, 'desk'), id, TASK_STATE_COMPLETED)
  expect(done.artifacts[0]?.parts[0]?.content).toEqual({
    $case: 'text',
    value: 'computed y in 2 s',
  })
})

test('what a server’s task asks is INPUT_REQUIRED; another process than the one that asked takes the answer', async () => {
  const { start } = await house()
  const first = await start()
  const client = await clientOf(first.url, 'desk')
  const asked = await send(client, { skill: 'remove', arguments: { filename: 'a.txt' } })
  expect(asked.status?.state).toBe(TASK_STATE_INPUT_REQUIRED)
  expect(words(asked)).toContain('Delete a.txt?')
  expect(asked.status?.message?.parts[1]?.content?.value).toMatchObject({
    questions: [{ kind: 'form', schema: { properties: { confirm: { type: 'boolean' } } } }],
  })
  // Words are not made into a yes.
  const { id } = asked
  await expect(send(client, 'yes', { taskId: id })).rejects.toThrow('words are no answer to this')
  await expect(
    send(client, { answers: { other: { content: {} } } }, { taskId: id }),
  ).rejects.toThrow('not asked')
  await first.stop('SIGKILL')
  const second = await start()
  const later = await clientOf(second.url, 'desk')
  expect((await look(later, id)).status?.message).toEqual(asked.status?.message)
  const done = await send(later, { confirm: true }, { taskId: id })
  expect([done.id, done.status?.state]).toEqual([id, TASK_STATE_COMPLETED])
  expect(JSON.stringify(done.artifacts)).toContain('deleted a.txt')
  await expect(send(later, { confirm: true }, { taskId: id })).rejects.toThrow('has ended')
})

test('of two questions one is answered and then the other; declining is an answer', async () => {
  const { start } = await house()
  const up = await start()
  const client = await clientOf(up.url, 'desk')
  const asked = await send(client, { skill: 'both', arguments: {} })
  const { id } = asked
  const keys = (task: Task): readonly string[] => {
    const data = task.status?.message?.parts[1]?.content?.value as {
      readonly questions: readonly { readonly key: string }[]
    }
    return data.questions.map(({ key }) => key)
  }
  const [name, confirm] = keys(asked)
  await expect(send(client, { name: 'Ada' }, { taskId: id })).rejects.toThrow('several things')
  const given = { answers: { [name!]: { action: 'accept', content: { name: 'Ada' } } } }
  const half = await send(client, given, { taskId: id })
  expect([half.status?.state, keys(half)]).toEqual([TASK_STATE_INPUT_REQUIRED, [confirm]])
  expect(half.status?.message?.messageId).not.toBe(asked.status?.message?.messageId)
  const done = await send(
    client,
    { answers: { [confirm!]: { action: 'decline' } } },
    { taskId: id },
  )
  expect(JSON.stringify(done.artifacts)).toContain('Ada, undefined')
})

test('a cancel reaches the server, and CANCELED is what it confirmed', async () => {
  const { home, start } = await house()
  const up = await start()
  const client = await clientOf(up.url, 'desk')
  const asked = { skill: 'compute', arguments: { seconds: 60, label: 'z' } }
  const { id } = await send(client, asked, { wait: false })
  await untilState(client, id, TASK_STATE_WORKING)
  const canceled = await client.cancelTask({ tenant: '', id, metadata: undefined })
  expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
  expect((await comity(home, 'tasks', id)).stdout).toContain('peer/slow_compute: canceled')
})

test('a plain call that asks, live or by rounds, asks its A2A caller too: in words where one field takes them', async () => {
  const { start } = await house()
  const up = await start()
  const client = await clientOf(up.url, 'desk')
  const live = await send(client, { skill: 'language', arguments: {} })
  expect(live.status?.state).toBe(TASK_STATE_INPUT_REQUIRED)
  expect(words(live)).toContain('Which language?')
  const said = await send(client, 'en', { taskId: live.id })
  expect(said.status?.state).toBe(TASK_STATE_COMPLETED)
  expect(JSON.stringify(said.artifacts)).toContain('en')

  const rounds = await send(client, { skill: 'greet', arguments: {} })
  expect(rounds.status?.state).toBe(TASK_STATE_INPUT_REQUIRED)
  const greeted = await send(client, 'Ada', { taskId: rounds.id })
  expect(JSON.stringify(greeted.artifacts)).toContain('Hello, Ada!')

  // Whoever is asked may also take the call back.
  const dropped = await send(client, { skill: 'language', arguments: {} })
  await client
    .cancelTask({ tenant: '', id: dropped.id, metadata: undefined })
    .catch(() => undefined)
  // Its server was told and does not confirm: it may have run, which is indeterminate here.
  expect((await look(client, dropped.id)).status?.state).toBe(TaskState.TASK_STATE_UNSPECIFIED)
})

test('a skill whose tool demands a task of 2025-11-25 is one of A2A like any other', async () => {
  const { start } = await house()
  const up = await start()
  const client = await clientOf(up.url, 'desk')
  const done = await send(client, { skill: 'report', arguments: { text: 'figures' } })
  expect(done.status?.state).toBe(TASK_STATE_COMPLETED)
  expect(JSON.stringify(done.artifacts)).toContain('figures')
  const asked = await send(client, { skill: 'chat', arguments: {} })
  expect(asked.status?.state).toBe(TASK_STATE_INPUT_REQUIRED)
  const said = await send(client, 'nynorsk', { taskId: asked.id })
  expect(JSON.stringify(said.artifacts)).toContain('nynorsk')
  const { id } = await send(client, { skill: 'wait', arguments: {} }, { wait: false })
  await untilState(client, id, TASK_STATE_WORKING)
  const canceled = await client.cancelTask({ tenant: '', id, metadata: undefined })
  expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
})
