/**
 * A task of a 2026-07-28 server, as it says it: the answer that hands one out, and what `tasks/get` tells, as news.
 *
 * @source io.modelcontextprotocol/tasks (SEP-2663): CreateTaskResult, DetailedTask
 */
import { isObject } from '../../core/words/is-object.ts'
import type { Handle, Outcome } from '../../core/words/outcome.ts'
import type { Question } from '../../core/words/question.ts'
import { readResultHead } from '../wire/codec.ts'
import { JsonFault } from '../wire/json-fault.ts'
import { mcpNative } from '../wire/native.ts'
import { MODERN_REVISION, RESULT_TYPES } from '../wire/rev-2026-07-28.ts'
import {
  concat,
  findMember,
  readString,
  readValue,
  scanObject,
  sliceOf,
  type Member,
} from '../wire/spans.ts'
import { checkStrict } from '../wire/strict.ts'
import { problemOf, readQuestion } from './questions.ts'
import { isTaskId, sealTask, type TaskRef } from './task-ref.ts'

/** Questions of one task at a time: a person answers them. */
const MOST_QUESTIONS = 64

/** Where a task stands. `asks`: with questions, those of kinds that were not declared apart. */
export interface TaskView {
  readonly outcome: Outcome
  /** Keys of questions that nobody is asked. */
  readonly refused: readonly Question[]
  readonly pollMs: number | undefined
}

/** The handle of a `CreateTaskResult`. @returns what is wrong with it, in words that go on "answered". */
export function readCreated(
  peer: string,
  bytes: Uint8Array,
  members: readonly Member[],
  of: Pick<TaskRef, 'can' | 'principal'>,
): { readonly handle: Handle; readonly text?: string } | string {
  const taskId = textMember(bytes, members, 'taskId')
  if (!isTaskId(taskId)) return 'a task without an id that could be used'
  const pollMs = pollOf(bytes, members)
  const text = textMember(bytes, members, 'statusMessage')
  const ref = { taskId, ...of, ...(pollMs === undefined ? {} : { pollMs }) }
  return { handle: sealTask(peer, ref), ...(text === undefined ? {} : { text }) }
}

/**
 * @param bytes the result object of `tasks/get`.
 * @throws JsonFault for one of which readers may disagree; Error saying what is wrong with it.
 */
export function readTask(bytes: Uint8Array, ref: TaskRef, handle: Handle): TaskView {
  const members = scanObject(bytes, undefined, { validated: true })
  const status = textMember(bytes, members, 'status')
  const text = textMember(bytes, members, 'statusMessage')
  const said = text === undefined ? {} : { text }
  const pollMs = pollOf(bytes, members)
  const view = (outcome: Outcome): TaskView => ({ outcome, refused: [], pollMs })
  switch (status) {
    case 'working':
      return view({ state: 'working', handle, ...said })
    case 'input_required':
      return { ...readQuestions(bytes, members, ref, handle, said), pollMs }
    case 'completed':
      return view(readResult(objectOf(bytes, members, 'result'), handle))
    case 'failed':
      return view(readError(objectOf(bytes, members, 'error'), handle, text))
    case 'cancelled':
      return view({ state: 'canceled', text: text ?? 'canceled', handle })
    case undefined:
    default:
      throw new Error(`a task whose status is ${JSON.stringify(status ?? null).slice(0, 60)}`)
  }
}

function readResult(bytes: Uint8Array, handle: Handle): Outcome {
  const head = readResultHead(bytes)
  if (!head.sound || head.resultType !== RESULT_TYPES.complete)
    throw new Error('a completed task whose result is not complete')
  const native = mcpNative(bytes, MODERN_REVISION)
  return { state: 'completed', native, toolError: head.isError, handle }
}

function readError(bytes: Uint8Array, handle: Handle, text: string | undefined): Outcome {
  const members = scanObject(bytes)
  const message = textMember(bytes, members, 'message') ?? text ?? 'it failed'
  return {
    state: 'failed',
    origin: 'peer',
    ran: 'yes',
    code: 'peer_error',
    detail: `${handle.peer}: its task failed: ${message.slice(0, 500)}`,
    handle,
    native: mcpNative(bytes, MODERN_REVISION),
  }
}

function readQuestions(
  bytes: Uint8Array,
  members: readonly Member[],
  { can }: TaskRef,
  handle: Handle,
  said: { readonly text?: string },
): Omit<TaskView, 'pollMs'> {
  const member = findMember(members, 'inputRequests')
  if (member?.type !== 'object') throw new Error('a task that asks without inputRequests')
  checkStrict(bytes, member.value)
  const asked = scanObject(bytes, member.value)
  if (asked.length > MOST_QUESTIONS) throw new Error(`a task with ${asked.length} questions`)
  const questions: Question[] = []
  const refused: Question[] = []
  for (const { key, type, value } of asked) {
    const own = type === 'object' ? concat([sliceOf(bytes, value)]) : undefined
    const question = own && readQuestion(own, key, MODERN_REVISION)
    if (question === undefined) throw new Error('a task that asks what MCP has no form for')
    const { kind } = question
    const isFit = kind !== 'text' && can[kind] && problemOf(question) === undefined
    ;(isFit ? questions : refused).push(question)
  }
  const outcome: Outcome =
    questions.length === 0
      ? { state: 'working', handle, ...said }
      : { state: 'input_required', handle, questions }
  return { outcome, refused }
}

function objectOf(bytes: Uint8Array, members: readonly Member[], key: string): Uint8Array {
  const member = findMember(members, key)
  if (member?.type !== 'object') throw new Error(`a task that has ended without its ${key}`)
  return concat([sliceOf(bytes, member.value)])
}

/** The text of that member; undefined when it is none. */
export function textMember(
  bytes: Uint8Array,
  members: readonly Member[],
  key: string,
): string | undefined {
  const member = findMember(members, key)
  return member?.type === 'string' ? readString(bytes, member.value) : undefined
}

function pollOf(bytes: Uint8Array, members: readonly Member[]): number | undefined {
  const member = findMember(members, 'pollIntervalMs')
  const value = member?.type === 'number' ? readValue(bytes, member.value) : undefined
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : undefined
}

/** What is wrong with an answer, in words; anything that is no fault of the answer is thrown on. */
export function faultIn(error: unknown): string {
  if (error instanceof JsonFault) return `a task of which readers may disagree: ${error.message}`
  if (error instanceof Error && error.constructor === Error) return error.message
  throw error
}

/** Whether a server says that it has tasks. */
export function hasTasks(
  capabilities: Readonly<Record<string, unknown>>,
  extension: string,
): boolean {
  const { extensions } = capabilities
  return isObject(extensions) && isObject(extensions[extension])
}
