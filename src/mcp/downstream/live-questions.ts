/**
 * Questions asked live on a session: requests of ours under ids of our own, and the answers that come back for them.
 *
 * An answer counts once, for the session that was asked. Whatever else comes is stray: counted, otherwise ignored. An answer
 * of which two readers may disagree is none.
 *
 * @source MCP 2025-11-25, client, elicitation, sampling, roots; basic, utilities, cancellation
 */
import { randomBytes, randomInt } from 'node:crypto'
import type { Answer, Question } from '../../core/words/question.ts'
import { hopParams } from '../wire/codec.ts'
import { JsonFault } from '../wire/json-fault.ts'
import {
  createId,
  encodeNotification,
  encodeRequest,
  idKey,
  type RpcError,
  type RpcId,
  type RpcResult,
} from '../wire/json-rpc.ts'
import { mcpNative } from '../wire/native.ts'
import { LEGACY_NOTIFICATIONS, LEGACY_REVISION } from '../wire/rev-2025-11-25.ts'
import { encodeJson, findMember, readString, scanObject, sliceOf } from '../wire/spans.ts'
import { checkStrict } from '../wire/strict.ts'
import type { DoorLimits } from './options.ts'
import { actionOf, faultOfAnswer } from './question-form.ts'
import { canSampleTools, type SessionTerms } from './session-terms.ts'

/** The method that each kind of question is asked by. */
const METHOD_OF = {
  form: 'elicitation/create',
  url: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
} as const

type AskedKind = keyof typeof METHOD_OF

const UNSOUND = 'the question is no sound MCP request'

/** Longest refusal of a caller that is passed on, in characters. */
const MAX_TEXT = 2000

export interface AskOptions {
  /** Aborted when the answer is not wanted any more. */
  readonly withdrawn: AbortSignal
  /** Takes a message to this caller, by the way that belongs to the call. */
  readonly send: (message: Uint8Array) => void | Promise<void>
}

export interface LiveQuestions {
  /** Never rejects. */
  ask(question: Question, options: AskOptions): Promise<Answer>
  /** Takes an answer. @returns what is wrong with it, when it answers an open question and cannot be read. */
  take(message: RpcResult | RpcError): string | undefined
  /** Nobody is left to answer: what is open is canceled, and so is whatever is asked from now on. */
  end(): void
}

interface Open {
  readonly kind: AskedKind
  readonly resolve: (answer: Omit<Answer, 'key'>) => void
}

export type QuestionBounds = Pick<DoorLimits, 'questionMs' | 'maxOpenQuestions' | 'maxAnswerBytes'>

export function createLiveQuestions(terms: SessionTerms, bounds: QuestionBounds): LiveQuestions {
  const waiting = new Map<string, Open>()
  // Not from one: an answer to a question of before a restart must not fit one of after it.
  let next = randomInt(2 ** 30)
  let ended = false

  const ask = async (question: Question, options: AskOptions): Promise<Answer> => {
    const { key } = question
    if (ended || options.withdrawn.aborted) return { key, action: 'cancel' }
    const made = encodeQuestion(terms, question)
    if (typeof made === 'string') return unasked(key, made)
    if (waiting.size >= bounds.maxOpenQuestions) {
      return unasked(key, `${bounds.maxOpenQuestions} questions are open on this session already`)
    }
    next += 1
    const id = createId(next)
    const answer = await waitFor(id, made, options)
    return { key, ...answer }
  }

  const waitFor = async (
    id: RpcId,
    { kind, params }: Encoded,
    { withdrawn, send }: AskOptions,
  ): Promise<Omit<Answer, 'key'>> => {
    const slot = Promise.withResolvers<Omit<Answer, 'key'>>()
    waiting.set(idKey(id), { kind, resolve: slot.resolve })
    const giveUp = (reason: string): void => {
      if (!waiting.delete(idKey(id))) return
      slot.resolve({ action: 'cancel' })
      void sendSafely(send, encodeCancelled(id, reason))
    }
    const taken = (): void => giveUp('the question was withdrawn')
    const timer = setTimeout(() => giveUp('it was not answered in time'), bounds.questionMs)
    timer.unref()
    withdrawn.addEventListener('abort', taken, { once: true })
    // Not waited for: a caller that reads slowly is given up by the time that the question has.
    void sendSafely(send, encodeRequest(id, METHOD_OF[kind], params)).then((sent) => {
      if (!sent) giveUp('it could not be sent')
    })
    try {
      return await slot.promise
    } finally {
      clearTimeout(timer)
      withdrawn.removeEventListener('abort', taken)
    }
  }

  return {
    ask,
    take: (message) => {
      const key = message.id === undefined ? undefined : idKey(message.id)
      const open = key === undefined ? undefined : waiting.get(key)
      // To nothing that was asked, or a second one.
      if (key === undefined || open === undefined) return undefined
      waiting.delete(key)
      const read =
        message.kind === 'error' ? declined(message) : readAnswer({ terms, bounds }, open, message)
      open.resolve(read.answer)
      return read.fault
    },
    end: () => {
      ended = true
      for (const { resolve } of waiting.values()) resolve({ action: 'cancel' })
      waiting.clear()
    },
  }
}

interface Encoded {
  readonly kind: AskedKind
  readonly params: Uint8Array
}

function unasked(key: string, text: string): Answer {
  return { key, action: 'decline', unasked: 'caller', text }
}

/** The request's params for this caller; or why it cannot be asked. */
function encodeQuestion(terms: SessionTerms, question: Question): Encoded | string {
  const { kind, native } = question
  if (kind === 'text' || native.protocol !== 'mcp') return 'this caller answers MCP questions only'
  try {
    const members = scanObject(native.bytes)
    const method = findMember(members, 'method')
    const params = findMember(members, 'params')
    if (method?.type !== 'string' || readString(native.bytes, method.value) !== METHOD_OF[kind])
      return UNSOUND
    const came = params === undefined ? undefined : sliceOf(native.bytes, params.value)
    const own = scanObject(came ?? encodeJson({}))
    const has = (name: string): boolean => findMember(own, name) !== undefined
    if (kind === 'sampling' && (has('tools') || has('toolChoice')) && !canSampleTools(terms))
      return 'this caller did not say that it samples with tools'
    const changes = {
      // 2025-11-25 names each address that is to be opened; a modern peer does not.
      ...(kind === 'url' && !has('elicitationId')
        ? { elicitationId: encodeJson(randomBytes(16).toString('base64url')) }
        : {}),
      ...(kind === 'form' && terms.revision !== LEGACY_REVISION ? { mode: undefined } : {}),
    }
    return { kind, params: hopParams(came, { era: 'legacy' }, changes) }
  } catch (fault) {
    if (fault instanceof JsonFault) return UNSOUND
    throw fault
  }
}

interface Read {
  readonly answer: Omit<Answer, 'key'>
  readonly fault?: string
}

function declined({ message }: RpcError): Read {
  return { answer: { action: 'decline', text: message.slice(0, MAX_TEXT) } }
}

function readAnswer(
  { terms, bounds }: { readonly terms: SessionTerms; readonly bounds: QuestionBounds },
  { kind }: Open,
  { bytes, result }: RpcResult,
): Read {
  // What its user chose is not known: that is no refusal.
  const refuse = (fault: string): Read => ({ answer: { action: 'cancel', text: fault }, fault })
  const size = result.value.end - result.value.start
  if (size > bounds.maxAnswerBytes) {
    return refuse(`an answer may have ${bounds.maxAnswerBytes} bytes, this one has ${size}`)
  }
  if (result.type !== 'object') return refuse('the result of a question must be an object')
  try {
    checkStrict(bytes, result.value)
  } catch (fault) {
    if (!(fault instanceof JsonFault)) throw fault
    return refuse(`the answer cannot be passed on: ${fault.message}`)
  }
  // Copied: an answer may wait long, and must not hold the message it came in.
  const native = mcpNative(Uint8Array.from(sliceOf(bytes, result.value)), terms.revision)
  const action = actionOf(native)
  const fault = faultOfAnswer(kind, { key: '', action, native })
  return fault === undefined
    ? { answer: { action, native } }
    : refuse(`the result is no answer to ${METHOD_OF[kind]}: ${fault}`)
}

function encodeCancelled(id: RpcId, reason: string): Uint8Array {
  const params = encodeJson({ requestId: Number(id.value), reason })
  return encodeNotification(LEGACY_NOTIFICATIONS.cancelled, params)
}

async function sendSafely(send: AskOptions['send'], message: Uint8Array): Promise<boolean> {
  try {
    await send(message)
    return true
  } catch {
    return false
  }
}
