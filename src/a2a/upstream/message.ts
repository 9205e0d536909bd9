/**
 * What is sent to an agent: the Message of a delegation and that of an answer.
 *
 * Every send has its own message id, made from our call id, by which a lost answer can be looked for
 * later. Parts travel as they were written; nothing is added to them, credentials least of all.
 *
 * @source A2A 1.0.1, 4.1.4 and 3.2.2
 */
import type { OutboundCall } from '../../core/words/call.ts'
import { type Failed, refused } from '../../core/words/outcome.ts'
import type { Answer } from '../../core/words/question.ts'
import { describeViolations, encodeWire, parseWire } from '../wire/codec.ts'
import type { Part } from '../wire/messages.ts'
import { membersOf, wholeSpan } from '../wire/span.ts'
import type { TaskRef } from './handle.ts'

/** The message id of the send that a call makes. */
export function messageIdOf(callId: string): string {
  return `comity-${callId}`
}

/**
 * The parameters of a first send, as JSON text.
 *
 * @returns a refusal when the caller's message is no A2A 1.0 Message; nothing was sent then.
 */
export function delegationParams(
  call: OutboundCall,
  tenant: string | undefined,
): { readonly params: string } | { readonly refused: Failed } {
  const bad = (detail: string): { readonly refused: Failed } => ({
    refused: refused('validation', 'bad_arguments', detail),
  })
  const given = call.native.value()
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return bad('expected an A2A Message object to delegate with')
  }
  // The id is ours whatever the caller wrote, under either of its names.
  const { message_id: _snake, ...own } = given as Readonly<Record<string, unknown>>
  const parsed = parseWire('Message', {
    ...own,
    messageId: messageIdOf(call.callId),
    role: 'ROLE_USER',
  })
  if (!parsed.ok) return bad(`the message cannot be sent: ${describeViolations(parsed.violations)}`)
  const { taskId, ...message } = parsed.value
  if (taskId !== undefined && taskId !== '') {
    return bad(
      'a new delegation cannot name a task; answer that task, or refer to it in referenceTaskIds',
    )
  }
  const contextId = call.contextId ?? message.contextId
  const { contextId: _theirs, ...rest } = message
  const params = encodeWire('SendMessageRequest', {
    ...(tenant === undefined ? {} : { tenant }),
    message: { ...rest, ...(contextId === undefined ? {} : { contextId }) },
    configuration: { returnImmediately: true },
  })
  return { params: withPartsAsWritten(params, new TextDecoder().decode(call.native.bytes)) }
}

/** The parameters of an answer to a waiting task, as JSON text. */
export function answerParams(callId: string, ref: TaskRef, answers: readonly Answer[]): string {
  return JSON.stringify(
    encodeWire('SendMessageRequest', {
      ...(ref.tenant === undefined ? {} : { tenant: ref.tenant }),
      message: {
        messageId: messageIdOf(callId),
        taskId: ref.taskId,
        ...(ref.contextId === undefined ? {} : { contextId: ref.contextId }),
        role: 'ROLE_USER',
        parts: answers.flatMap(partsOf),
      },
      configuration: { returnImmediately: true },
    }),
  )
}

function partsOf(answer: Answer): Part[] {
  if (answer.action !== 'accept') {
    const said = answer.action === 'decline' ? 'declined' : 'canceled'
    return [{ text: `The question was ${said}; no answer is given.` }]
  }
  const parts: Part[] = []
  if (answer.text !== undefined) parts.push({ text: answer.text })
  if (answer.data !== undefined) {
    parts.push({ data: answer.data, mediaType: 'application/json' })
  }
  if (parts.length > 0) return parts
  if (answer.native === undefined) return [{ text: '' }]
  const value = answer.native.value()
  if (answer.native.protocol === 'a2a') {
    const message = parseWire('Message', { messageId: '-', role: 'ROLE_USER', ...asObject(value) })
    if (message.ok) return [...message.value.parts]
  }
  return typeof value === 'string'
    ? [{ text: value }]
    : [{ data: value, mediaType: 'application/json' }]
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}

/** Puts the parts' own text into the parameters: large integers keep their digits. */
function withPartsAsWritten(params: Record<string, unknown>, source: string): string {
  const text = JSON.stringify(params)
  const written = membersOf(source, wholeSpan(source)).get('parts')
  const message = membersOf(text, wholeSpan(text)).get('message')
  const parts = message === undefined ? undefined : membersOf(text, message).get('parts')
  if (written === undefined || parts === undefined) return text
  return (
    text.slice(0, parts.start) + source.slice(written.start, written.end) + text.slice(parts.end)
  )
}
