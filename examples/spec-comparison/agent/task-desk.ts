/**
 * All tasks of the agent: opens their rooms, keeps each one worked on by exactly one runner, and
 * takes up after a restart what was open before it.
 */
import { randomUUID } from 'node:crypto'
import { TaskState, type Message, type Task } from '@a2a-js/sdk'
import { runResearch, type ResearchDeps, type ResearchOptions } from './research.ts'
import { takeReply } from './conversation.ts'
import { enterState, textPart } from './task-changes.ts'
import type { TaskFiles } from './task-files.ts'
import { createRecord, isFinal, stateOf } from './task-record.ts'
import { createTaskRoom, type TaskRoom } from './task-room.ts'

/** The agent's tasks. */
export interface TaskDesk {
  /** Saves a new task around its first message; nothing is done about it before `work`. */
  open(message: Message): Promise<TaskRoom>
  /** @returns undefined when there is no such task. */
  find(taskId: string): Promise<TaskRoom | undefined>
  /** The task that a message with this id already belongs to. */
  findByMessage(messageId: string): Promise<TaskRoom | undefined>
  /** @returns false when the task is not waiting for anything; the message is then not taken. */
  reply(room: TaskRoom, message: Message): Promise<boolean>
  /** Works on the task in the background. Does nothing when somebody already does. */
  work(room: TaskRoom): void
  /** @returns false when the task is in a final state already. */
  cancel(room: TaskRoom): Promise<boolean>
  /** Every task as last saved, in no order. */
  list(): Promise<readonly Task[]>
}

/** Ids of messages that are remembered to recognise one that is sent twice. */
const MAX_REMEMBERED = 10_000

/** Reads what is on the disk and opens a room for every task that is not in a final state. */
export async function openTaskDesk(
  files: TaskFiles,
  deps: ResearchDeps,
  options: ResearchOptions,
): Promise<{ readonly desk: TaskDesk; readonly unfinished: readonly TaskRoom[] }> {
  const sent = createMessageMemory()
  const rooms = await openRooms(files, sent, deps.log)
  const working = new Set<string>()
  const again = new Set<string>()

  const find = async (taskId: string): Promise<TaskRoom | undefined> => {
    const live = rooms.get(taskId)
    if (live !== undefined) return live
    // A task in a final state never changes, so a room of its own for each reader is enough.
    const record = await files.load(taskId)
    return record === undefined ? undefined : createTaskRoom(files, record)
  }

  const work = (room: TaskRoom): void => {
    const { id } = room.record.task
    if (working.has(id)) {
      // The runner may just have decided to stop; it is started once more when it has.
      again.add(id)
      return
    }
    working.add(id)
    void runResearch(room, deps, options).then(() => {
      working.delete(id)
      if (isFinal(stateOf(room.record))) rooms.delete(id)
      if (again.delete(id)) work(room)
    })
  }

  const desk: TaskDesk = {
    open: (message) => {
      const task = createTask(message)
      const opening = files.save(createRecord(task)).then(() => {
        const room = createTaskRoom(files, createRecord(task))
        rooms.set(task.id, room)
        return room
      })
      sent.remember(
        message.messageId,
        opening.then(() => task.id),
      )
      return opening
    },
    find,
    findByMessage: async (messageId) => {
      const id = await sent.find(messageId)
      return id === undefined ? undefined : find(id)
    },
    reply: async (room, message) => {
      const taken = await room.commit((draft) =>
        stateOf(draft) === TaskState.TASK_STATE_INPUT_REQUIRED
          ? takeReply(draft, message, deps.reader)
          : undefined,
      )
      if (taken) sent.remember(message.messageId, Promise.resolve(room.record.task.id))
      return taken
    },
    work,
    cancel: async (room) => {
      const done = await room.commit((draft) =>
        enterState(draft, TaskState.TASK_STATE_CANCELED, [textPart('Canceled on request.')]),
      )
      if (done) rooms.delete(room.record.task.id)
      return done
    },
    list: async () => {
      const found = await Promise.all(
        (await files.list()).map((id) => find(id).catch(() => undefined)),
      )
      return found.flatMap((room) => (room === undefined ? [] : [room.record.task]))
    },
  }
  return { desk, unfinished: [...rooms.values()] }
}

/** Which task a message began or went to, by the message's id. */
interface MessageMemory {
  remember(messageId: string, taskId: Promise<string>): void
  find(messageId: string): Promise<string | undefined>
}

function createMessageMemory(): MessageMemory {
  const known = new Map<string, Promise<string | undefined>>()
  return {
    remember: (messageId, taskId) => {
      // A task that could not be saved does not exist, so its message may come again.
      const kept = taskId.catch(() => {
        known.delete(messageId)
        return undefined
      })
      known.set(messageId, kept)
      const oldest = known.keys().next()
      if (known.size > MAX_REMEMBERED && oldest.done !== true) known.delete(oldest.value)
    },
    find: (messageId) => known.get(messageId) ?? Promise.resolve(undefined),
  }
}

/** A room for every task that has not ended. A file that cannot be read is left alone and said. */
async function openRooms(
  files: TaskFiles,
  sent: MessageMemory,
  log: (line: string) => void,
): Promise<Map<string, TaskRoom>> {
  const rooms = new Map<string, TaskRoom>()
  for (const id of await files.list()) {
    try {
      const record = await files.load(id)
      if (record === undefined) continue
      for (const { messageId } of record.task.history) sent.remember(messageId, Promise.resolve(id))
      if (!isFinal(stateOf(record))) rooms.set(id, createTaskRoom(files, record))
    } catch (error) {
      log(`task ${id} is left aside: ${String(error)}`)
    }
  }
  return rooms
}

function createTask(message: Message): Task {
  const id = randomUUID()
  const contextId = message.contextId === '' ? randomUUID() : message.contextId
  return {
    id,
    contextId,
    status: {
      state: TaskState.TASK_STATE_SUBMITTED,
      message: undefined,
      timestamp: new Date().toISOString(),
    },
    artifacts: [],
    history: [{ ...message, taskId: id, contextId }],
    metadata: undefined,
  }
}
