/**
 * The A2A operations over the task desk, behind the SDK's own handler interface.
 *
 * Takes the place of the SDK's DefaultRequestHandler, which starts a second executor on a second
 * message, loses running tasks in a restart and lets a subscriber see a chunk twice. Codec, errors
 * and JSON-RPC dispatch stay the SDK's.
 */
import { Role, TaskState, type AgentCard, type Message, type Task } from '@a2a-js/sdk'
import {
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server'
import { listTasks } from './list-tasks.ts'
import type { TaskDesk } from './task-desk.ts'
import { isFinal, stateOf } from './task-record.ts'
import type { TaskRoom } from './task-room.ts'

type SendRequest = Parameters<A2ARequestHandler['sendMessage']>[0]

const MAX_PARTS = 32

/** Where a call's context keeps the signal that its caller is gone; a generator cannot be told. */
export const CLOSED_KEY = 'closed'

/** Serves the desk's tasks. Push notifications and the extended card are not offered. */
export function createRequestHandler(card: () => AgentCard, desk: TaskDesk): A2ARequestHandler {
  return {
    getAgentCard: () => Promise.resolve(card()),
    sendMessage: async (params) => {
      const { room, fresh } = await takeMessage(desk, params)
      if (fresh) desk.work(room)
      if (params.configuration?.returnImmediately !== true) await room.waitFor(isAtRest)
      return cutHistory(room.record.task, params.configuration?.historyLength)
    },
    sendMessageStream: async function* sendMessageStream(params, context) {
      const { room, fresh } = await takeMessage(desk, params)
      const subscription = room.subscribe()
      if (fresh) desk.work(room)
      yield* stream(room, subscription, false, closedSignal(context))
    },
    resubscribe: async function* resubscribe({ id }, context) {
      const room = await findTask(desk, id)
      if (isFinal(stateOf(room.record))) {
        throw new UnsupportedOperationError(`task ${id} has ended; read it with GetTask`)
      }
      yield* stream(room, room.subscribe(), true, closedSignal(context))
    },
    getTask: async ({ id, historyLength }) =>
      cutHistory((await findTask(desk, id)).record.task, historyLength),
    cancelTask: async ({ id }) => {
      const room = await findTask(desk, id)
      const canceled =
        (await desk.cancel(room)) || stateOf(room.record) === TaskState.TASK_STATE_CANCELED
      if (!canceled) throw new TaskNotCancelableError(`task ${id} has ended already`)
      return structuredClone(room.record.task)
    },
    listTasks: async (params) => listTasks(await desk.list(), params),
    createTaskPushNotificationConfig: refusePush,
    getTaskPushNotificationConfig: refusePush,
    listTaskPushNotificationConfigs: refusePush,
    deleteTaskPushNotificationConfig: refusePush,
    getAuthenticatedExtendedAgentCard: () =>
      Promise.reject(new UnsupportedOperationError('this agent has no extended card')),
  }
}

/** Finds or makes the task of a message. A message sent twice is taken once. */
async function takeMessage(
  desk: TaskDesk,
  params: SendRequest,
): Promise<{ readonly room: TaskRoom; readonly fresh: boolean }> {
  const message = checkMessage(params)
  const known = await desk.findByMessage(message.messageId)
  if (known !== undefined) {
    if (message.taskId !== '' && message.taskId !== known.record.task.id) {
      throw new RequestMalformedError('messageId was used for another task already')
    }
    return { room: known, fresh: false }
  }
  if (message.taskId === '') return { room: await desk.open(message), fresh: true }

  const room = await findTask(desk, message.taskId)
  const { id, contextId } = room.record.task
  if (message.contextId !== '' && message.contextId !== contextId) {
    throw new RequestMalformedError(`contextId is not the one of task ${id}`)
  }
  if (!(await desk.reply(room, message))) {
    throw new UnsupportedOperationError(
      isFinal(stateOf(room.record))
        ? `task ${id} has ended; send a new message without taskId`
        : `task ${id} is at work and waits for no message`,
    )
  }
  return { room, fresh: true }
}

/** The codec accepts what the specification does not, so the required members are checked here. */
function checkMessage({ message, configuration }: SendRequest): Message {
  if (message === undefined) throw new RequestMalformedError('params.message is required')
  if (message.messageId === '') throw new RequestMalformedError('message.messageId is required')
  if (message.role !== Role.ROLE_USER) {
    throw new RequestMalformedError('message.role must be ROLE_USER')
  }
  if (message.parts.length === 0 || message.parts.length > MAX_PARTS) {
    throw new RequestMalformedError(`message.parts must hold 1 to ${MAX_PARTS} parts`)
  }
  if (message.parts.some(({ content }) => content === undefined)) {
    throw new RequestMalformedError('every part must have one of text, raw, url and data')
  }
  if (configuration?.taskPushNotificationConfig !== undefined) {
    throw new PushNotificationNotSupportedError()
  }
  checkHistoryLength(configuration?.historyLength)
  return message
}

/**
 * The snapshot, then what follows it.
 *
 * @param waits whether to stay when the task waits for somebody: a subscriber wants to hear of the
 *   end whoever answers, one who just sent a message is to answer himself.
 */
async function* stream(
  room: TaskRoom,
  subscription: ReturnType<TaskRoom['subscribe']>,
  waits: boolean,
  closed: AbortSignal | undefined,
): ReturnType<A2ARequestHandler['resubscribe']> {
  closed?.addEventListener('abort', subscription.close, { once: true })
  try {
    const state = subscription.snapshot.status?.state ?? stateOf(room.record)
    yield { payload: { $case: 'task', value: subscription.snapshot } }
    if (isFinal(state) || (!waits && state === TaskState.TASK_STATE_INPUT_REQUIRED)) return
    for await (const payload of subscription.events()) yield { payload }
  } finally {
    closed?.removeEventListener('abort', subscription.close)
    subscription.close()
  }
}

function closedSignal(context: ServerCallContext): AbortSignal | undefined {
  const signal = context.state.get(CLOSED_KEY)
  return signal instanceof AbortSignal ? signal : undefined
}

async function findTask(desk: TaskDesk, taskId: string): Promise<TaskRoom> {
  const room = await desk.find(taskId)
  if (room === undefined) throw new TaskNotFoundError('no such task')
  return room
}

function isAtRest(state: TaskState): boolean {
  return isFinal(state) || state === TaskState.TASK_STATE_INPUT_REQUIRED
}

function cutHistory(task: Task, historyLength: number | undefined): Task {
  checkHistoryLength(historyLength)
  const copy = structuredClone(task)
  if (historyLength !== undefined) {
    copy.history = historyLength === 0 ? [] : copy.history.slice(-historyLength)
  }
  return copy
}

function checkHistoryLength(historyLength: number | undefined): void {
  if (historyLength !== undefined && historyLength < 0) {
    throw new RequestMalformedError('historyLength must be 0 or more')
  }
}

function refusePush(): Promise<never> {
  return Promise.reject(new PushNotificationNotSupportedError())
}
