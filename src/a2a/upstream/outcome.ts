/**
 * What an agent's reply means: a Task or a Message in core's words.
 *
 * Pure. States become outcomes here and only here, for replies, snapshots and live events alike. The
 * agent's own text is kept as theirs, shortened for rows; the native form holds all of it.
 */
import { createHash } from 'node:crypto'
import type { ArtifactChunk } from '../../core/words/artifact.ts'
import type { Handle, Outcome } from '../../core/words/outcome.ts'
import type { Question } from '../../core/words/question.ts'
import { textOf } from '../wire/codec.ts'
import type { Message, TaskStatus } from '../wire/messages.ts'
import { spanAt } from '../wire/span.ts'
import { toNative } from './native.ts'

/** A status with all that an outcome is made of. */
export interface StatusReading {
  readonly status: TaskStatus
  readonly handle: Handle
  /** A Task with this status, as received or in its form: `status` is a member of it. */
  readonly text: string
  /** The artifacts, when the status came with all of them. */
  readonly artifacts?: readonly ArtifactChunk[]
}

/** The outcome a task's status means. */
export function outcomeOfStatus(reading: StatusReading): Outcome {
  const { status, handle } = reading
  const words = wordsOf(status.message)
  const native = toNative(reading.text)
  switch (status.state) {
    case 'TASK_STATE_UNSPECIFIED':
      return {
        state: 'unknown',
        because: 'peer_unclear',
        detail: words === '' ? 'the agent says it does not know what became of its task' : words,
        handle,
      }
    case 'TASK_STATE_SUBMITTED':
    case 'TASK_STATE_WORKING':
      return { state: 'working', handle, native, ...(words === '' ? {} : { text: words }) }
    case 'TASK_STATE_INPUT_REQUIRED':
      return { state: 'input_required', handle, native, questions: [questionOf(reading, false)] }
    case 'TASK_STATE_AUTH_REQUIRED':
      return { state: 'auth_required', handle, native, questions: [questionOf(reading, true)] }
    case 'TASK_STATE_COMPLETED':
      return {
        state: 'completed',
        native,
        toolError: false,
        handle,
        ...(reading.artifacts === undefined ? {} : { artifacts: reading.artifacts }),
      }
    case 'TASK_STATE_FAILED':
      return {
        state: 'failed',
        origin: 'peer',
        ran: 'yes',
        code: 'peer_error',
        detail: words === '' ? 'the agent says its task failed and does not say why' : words,
        handle,
        native,
      }
    case 'TASK_STATE_REJECTED':
      return { state: 'rejected', text: words, handle, native }
    case 'TASK_STATE_CANCELED':
      return { state: 'canceled', text: words, handle, native }
  }
}

/** The outcome of a direct Message: an answer, and no task exists. @source A2A 1.0.1, 3.1.1 */
export function outcomeOfMessage(message: Message, text: string): Outcome {
  return {
    state: 'answered',
    native: toNative(text),
    text: wordsOf(message),
    ...(message.contextId === undefined || message.contextId === ''
      ? {}
      : { contextId: message.contextId }),
  }
}

const MAX_WORDS = 20_000

/** The agent's words in a message: its texts, shortened. */
export function wordsOf(message: Message | undefined): string {
  const words = message === undefined ? '' : textOf(message.parts)
  return words.length > MAX_WORDS ? `${words.slice(0, MAX_WORDS)}…` : words
}

/**
 * The question a waiting status asks. The prompt is in `status.message`, never in artifacts.
 *
 * The key follows from the message, so that the same question read twice is the same question and a
 * later one is not taken for it.
 *
 * @source A2A 1.0.1, 4.1.3 (INPUT_REQUIRED, AUTH_REQUIRED) and 7.6
 */
function questionOf({ status, text }: StatusReading, isAuth: boolean): Question {
  const { message } = status
  const seed = message?.messageId ?? status.timestamp ?? status.state
  const key = `q-${createHash('sha256').update(seed).digest('hex').slice(0, 12)}`
  const words = wordsOf(message)
  const asked = spanAt(text, [['status'], ['message']])
  const native = toNative(asked === undefined ? NO_MESSAGE : text.slice(asked.start, asked.end))
  const kind = kindOf(message, isAuth)
  const silence = isAuth ? 'authorisation' : 'input'
  return { kind, key, native, text: words === '' ? `(asks for ${silence}, without words)` : words }
}

/** What stands for the message of an agent that asks without one. */
const NO_MESSAGE = '{"messageId":"","role":"ROLE_AGENT","parts":[]}'

function kindOf(message: Message | undefined, isAuth: boolean): Question['kind'] {
  const parts = message?.parts ?? []
  if (isAuth) return parts.some((part) => 'url' in part) ? 'url' : 'text'
  return parts.some((part) => 'data' in part && holdsSchema(part.data)) ? 'form' : 'text'
}

/** A JSON Schema of an object, bare or under `schema` or `requestedSchema`. */
function holdsSchema(data: unknown): boolean {
  if (typeof data !== 'object' || data === null) return false
  const { type, properties, schema, requestedSchema } = data as Readonly<Record<string, unknown>>
  if (type === 'object' && typeof properties === 'object' && properties !== null) return true
  return [schema, requestedSchema].some((inner) => inner !== undefined && holdsSchema(inner))
}
