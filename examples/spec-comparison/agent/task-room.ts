/**
 * One live task: its only writer, and the streams that listen to it.
 *
 * The SDK's own handler lets two messages run two executors on one task, lets a subscriber see a
 * chunk twice and forgets who works after a restart. Here every change goes through `commit`, one
 * at a time: written to the disk, then visible, then told to the listeners, in that order.
 */
import { TaskState, type StreamResponse, type Task } from '@a2a-js/sdk'
import { isFinal, stateOf, type TaskRecord } from './task-record.ts'
import type { TaskFiles } from './task-files.ts'

/** What a change tells the listeners. */
export type TaskEvent = NonNullable<StreamResponse['payload']>

/** Changes the draft and says what to tell; undefined leaves everything as it is. */
export type Change = (draft: TaskRecord) => readonly TaskEvent[] | undefined

/** A snapshot, and every event after it: none lost between the two, none in both. */
export interface Subscription {
  readonly snapshot: Task
  /** Ends after a final state, and after a question if one was asked while listening. */
  events(): AsyncGenerator<TaskEvent, void, undefined>
  /** Stops listening; the task does not notice. */
  close(): void
}

/** A live task. */
export interface TaskRoom {
  /** The record as last saved; never changed in place. */
  readonly record: TaskRecord
  /** @returns false when the task is in a final state or the change declined; nothing happened then. */
  commit(change: Change): Promise<boolean>
  subscribe(): Subscription
  /** Resolves when `isReached` holds, at once if it does already. */
  waitFor(isReached: (state: TaskState) => boolean): Promise<void>
}

/** A reader that falls this far behind is cut off; it can subscribe again. */
const MAX_WAITING_EVENTS = 1_000

/** Opens the room of a record that is on the disk already. */
export function createTaskRoom(files: TaskFiles, first: TaskRecord): TaskRoom {
  let record = first
  let tail: Promise<unknown> = Promise.resolve()
  const listeners = new Set<(event: TaskEvent) => void>()

  const apply = async (change: Change): Promise<boolean> => {
    if (isFinal(stateOf(record))) return false
    const draft = structuredClone(record)
    const events = change(draft)
    if (events === undefined) return false
    await files.save(draft)
    // From here to the end nothing awaits, so a subscriber sees all of this change or none of it.
    record = draft
    for (const event of events) for (const listener of listeners) listener(structuredClone(event))
    return true
  }

  const subscribe = (): Subscription => {
    const stream = createEventStream((stop) => listeners.delete(stop))
    listeners.add(stream.push)
    return { snapshot: structuredClone(record.task), events: stream.events, close: stream.close }
  }

  return {
    get record() {
      return record
    },
    commit: (change) => {
      const result = tail.then(() => apply(change))
      // A failed save is the caller's to report; the next change must still get its turn.
      tail = result.catch(() => undefined)
      return result
    },
    subscribe,
    waitFor: (isReached) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!isReached(stateOf(record))) return
          listeners.delete(check)
          resolve()
        }
        listeners.add(check)
        check()
      }),
  }
}

interface EventStream {
  readonly push: (event: TaskEvent) => void
  events(): AsyncGenerator<TaskEvent, void, undefined>
  close(): void
}

function createEventStream(onClose: (push: EventStream['push']) => void): EventStream {
  const waiting: TaskEvent[] = []
  let closed = false
  let wake: () => void = () => undefined
  const close = (): void => {
    closed = true
    onClose(push)
    wake()
  }
  const push = (event: TaskEvent): void => {
    waiting.push(event)
    if (waiting.length > MAX_WAITING_EVENTS) waiting.length = 0
    if (waiting.length === 0 || endsStream(event)) close()
    else wake()
  }
  return {
    push,
    close,
    events: async function* events() {
      try {
        for (;;) {
          const event = waiting.shift()
          if (event !== undefined) yield event
          else if (closed) return
          else {
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
        }
      } finally {
        close()
      }
    },
  }
}

/** Final states and questions end a stream, as A2A 11.7 has it and most clients expect. */
function endsStream(event: TaskEvent): boolean {
  if (event.$case !== 'statusUpdate') return false
  const state = event.value.status?.state
  return state !== undefined && (isFinal(state) || state === TaskState.TASK_STATE_INPUT_REQUIRED)
}
