/**
 * What a call behind a skill asks its caller, as a message of INPUT_REQUIRED, and the message that answers it.
 *
 * A data part `{"answers": {"<key>": {"action": "accept", "content": {…}}}}` answers any of them. Where one thing is asked, a data
 * part with its fields does, and words do when the form has one field of text. Nothing is guessed beyond that.
 */
import { parseExact } from '../../core/words/exact-json.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { Answer, Question } from '../../core/words/question.ts'
import { textOf, type Violation } from '../wire/codec.ts'
import type { Message, Part } from '../wire/messages.ts'
import { spanAt } from '../wire/span.ts'
import { paramsFault, type RpcFault } from './errors.ts'

const ACTIONS = ['accept', 'decline', 'cancel'] as const
type Action = (typeof ACTIONS)[number]

/** Faults that are told of one message. */
const MAX_VIOLATIONS = 20

const HOW =
  'Answer with a message that has this task’s id: a data part {"answers": {"<key>": {"action": "accept", "content": {…}}}}; "decline" is an action too.'

/** The parts of the message that asks. The words are the system's behind the skill. */
export function askingParts(questions: readonly Question[]): readonly Part[] {
  const asked = questions.map(({ key, kind, text, native }) => {
    const schema = schemaOf(native.value())
    return { key, kind, text, ...(schema === undefined ? {} : { schema }) }
  })
  const lines = questions.map(({ key, text }) => `- ${key}: ${text}`)
  const expected = Object.fromEntries(
    questions.map(({ key }) => [key, { action: 'accept', content: {} }]),
  )
  return [
    { text: ['The system behind this skill asks:', ...lines, HOW].join('\n') },
    { data: { questions: asked, expected: { answers: expected } }, mediaType: 'application/json' },
  ]
}

/**
 * Reads a message as answers to what is asked.
 *
 * @param body the whole request as received, in which the message lies at `params.message`: digits are kept.
 */
export function readAnswers(
  message: Message,
  body: string,
  questions: readonly Question[],
): { readonly answers: readonly Answer[] } | RpcFault {
  const places = message.parts.flatMap((part, index) => ('data' in part ? [index] : []))
  const [place, ...more] = places
  if (more.length > 0) return fault(`message.parts[${more[0]}]`, 'one data part answers')
  if (place === undefined) return readWords(textOf(message.parts), questions)
  const path = `message.parts[${place}].data`
  const data = exactAt(body, place)
  if (!isObject(data)) return fault(path, 'expected an object')
  if (data['answers'] !== undefined) return readKeyed(data['answers'], `${path}.answers`, questions)
  const [only, ...others] = questions
  if (only === undefined || others.length > 0)
    return fault(path, `several things are asked. ${HOW}`)
  return { answers: [{ key: only.key, action: 'accept', data }] }
}

function readWords(
  text: string,
  questions: readonly Question[],
): { readonly answers: readonly Answer[] } | RpcFault {
  const [only, ...others] = questions
  const field =
    only === undefined || others.length > 0 ? undefined : onlyTextField(only.native.value())
  if (only === undefined || field === undefined || text.trim() === '')
    return fault('message.parts', `words are no answer to this. ${HOW}`)
  return { answers: [{ key: only.key, action: 'accept', data: { [field]: text } }] }
}

function readKeyed(
  given: unknown,
  path: string,
  questions: readonly Question[],
): { readonly answers: readonly Answer[] } | RpcFault {
  if (!isObject(given)) return fault(path, 'expected an object of answers by key')
  const answers: Answer[] = []
  const violations: Violation[] = []
  const known = questions.map(({ key }) => key)
  for (const [key, value] of Object.entries(given)) {
    const at = `${path}.${key.slice(0, 80)}`
    const answer = known.includes(key)
      ? answerOf(key, value)
      : `not asked; asked: ${known.join(', ')}`
    if (typeof answer === 'string') violations.push({ path: at, message: answer })
    else answers.push(answer)
  }
  if (violations.length > 0) return paramsFault(violations.slice(0, MAX_VIOLATIONS))
  return answers.length === 0 ? fault(path, 'answers nothing') : { answers }
}

/** @returns what is wrong, in a phrase, or the answer. */
function answerOf(key: string, value: unknown): Answer | string {
  if (!isObject(value)) return 'expected an object with an action'
  const action = value['action'] ?? 'accept'
  if (!isAction(action)) return `expected an action of ${ACTIONS.join(', ')}`
  if (action !== 'accept') return { key, action }
  const content = value['content']
  return isObject(content) ? { key, action, data: content } : 'expected content, an object'
}

function isAction(value: unknown): value is Action {
  return ACTIONS.some((action) => action === value)
}

function exactAt(body: string, index: number): unknown {
  const span = spanAt(body, [['params'], ['message'], ['parts'], index, ['data']])
  if (span === undefined) throw new Error('data that was parsed is not in the text')
  return parseExact(body.slice(span.start, span.end))
}

/** Of an elicitation: what its form has for fields. */
function schemaOf(request: unknown): Readonly<Record<string, unknown>> | undefined {
  const params = isObject(request) ? request['params'] : undefined
  const schema = isObject(params) ? params['requestedSchema'] : undefined
  return isObject(schema) ? schema : undefined
}

function onlyTextField(request: unknown): string | undefined {
  const properties = schemaOf(request)?.['properties']
  const [only, ...others] = Object.entries(isObject(properties) ? properties : {})
  if (only === undefined || others.length > 0) return undefined
  const [name, field] = only
  return isObject(field) && field['type'] === 'string' ? name : undefined
}

function fault(path: string, message: string): RpcFault {
  return paramsFault([{ path, message }])
}
