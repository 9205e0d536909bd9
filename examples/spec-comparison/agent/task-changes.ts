/**
 * The changes a task can undergo, each as what it does to the record and what listeners hear.
 */
import { randomUUID } from 'node:crypto'
import {
  Role,
  type Artifact,
  type Message,
  type Part,
  type TaskState,
  type TaskStatus,
} from '@a2a-js/sdk'
import type { TaskEvent } from './task-room.ts'
import type { TaskRecord } from './task-record.ts'

/** A text part. */
export function textPart(text: string, filename = '', mediaType = 'text/plain'): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename, mediaType }
}

/** A data part. */
export function dataPart(value: unknown, mediaType = 'application/json'): Part {
  return { content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType }
}

/** Moves the task to a state, with what the agent has to say about it. */
export function enterState(
  draft: TaskRecord,
  state: TaskState,
  parts: readonly Part[],
): readonly TaskEvent[] {
  const { id, contextId } = draft.task
  const next: TaskStatus = {
    state,
    message: {
      messageId: randomUUID(),
      contextId,
      taskId: id,
      role: Role.ROLE_AGENT,
      parts: [...parts],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    timestamp: new Date().toISOString(),
  }
  draft.task.status = next
  return [
    {
      $case: 'statusUpdate',
      value: { taskId: id, contextId, status: next, metadata: undefined },
    },
  ]
}

/**
 * Records a reply as part of the conversation, after the question it replies to. Notes of progress
 * are no part of it: each is replaced by the next.
 */
export function recordMessage(draft: TaskRecord, message: Message): void {
  const { id, contextId, status } = draft.task
  if (status?.message !== undefined) draft.task.history.push(status.message)
  draft.task.history.push({ ...message, taskId: id, contextId })
}

/** One chunk of an artifact: the first makes it, the others add their parts to it. */
export function deliverChunk(
  draft: TaskRecord,
  name: string,
  description: string,
  part: Part,
  last: boolean,
): readonly TaskEvent[] {
  const { id, contextId, artifacts } = draft.task
  const chunk: Artifact = {
    artifactId: name,
    name,
    description,
    parts: [part],
    metadata: undefined,
    extensions: [],
  }
  const existing = artifacts.find(({ artifactId }) => artifactId === name)
  if (existing === undefined) artifacts.push(structuredClone(chunk))
  else existing.parts.push(structuredClone(part))
  return [
    {
      $case: 'artifactUpdate',
      value: {
        taskId: id,
        contextId,
        artifact: chunk,
        append: existing !== undefined,
        lastChunk: last,
        metadata: undefined,
      },
    },
  ]
}
