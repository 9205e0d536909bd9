/**
 * What a task asks, in MCP's own form, and what it is answered in the task's: an agent asks in words, which is a form of one
 * field here.
 *
 * @source MCP 2026-07-28, client, elicitation: form mode
 */
import { isObject } from '../../core/words/is-object.ts'
import type { Answer, Question } from '../../core/words/question.ts'
import { mcpNative } from '../wire/native.ts'
import { MODERN_REVISION } from '../wire/rev-2026-07-28.ts'
import { encodeJson } from '../wire/spans.ts'
import { asksBy, sayWhoAsks } from './asked-by.ts'

/** The one field of a question that is asked in words. */
const TEXT_FIELD = 'answer'

/** The question in the name of its peer, as one that MCP has. */
export function mcpQuestion(question: Question, peer: string): Question {
  if (question.native.protocol === 'mcp') return sayWhoAsks(question, peer)
  const request = {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: asksBy(peer, question.text),
      requestedSchema: {
        type: 'object',
        properties: { [TEXT_FIELD]: { type: 'string', description: 'The answer in words.' } },
        required: [TEXT_FIELD],
      },
    },
  }
  return { ...question, kind: 'form', native: mcpNative(encodeJson(request), MODERN_REVISION) }
}

/**
 * An answer as the one who asked takes it: for an agent the words of the one field, or all fields that were given; for a form,
 * words are its one field of text.
 */
export function answerTo(question: Question, answer: Answer): Answer {
  if (question.native.protocol === 'mcp')
    return answer.native === undefined ? inForm(question, answer) : answer
  const { key, action, text: said, data } = answer
  if (said !== undefined) return answer
  const fields = data ?? contentOf(answer)
  if (!isObject(fields)) return { key, action }
  const text = fields[TEXT_FIELD]
  const isText = typeof text === 'string' && Object.keys(fields).length === 1
  return isText ? { key, action, text } : { key, action, data: fields }
}

function inForm(question: Question, answer: Answer): Answer {
  const { key, action, text, data } = answer
  const field = text === undefined ? undefined : textFieldOf(question)
  if (field === undefined) return answer
  return { key, action, data: { [field]: text, ...(isObject(data) ? data : {}) } }
}

/** The field of a form that takes words: its only one, or the only one of text that it requires. */
function textFieldOf({ native }: Question): string | undefined {
  const request = native.value()
  const params = isObject(request) ? request['params'] : undefined
  const schema = isObject(params) ? params['requestedSchema'] : undefined
  const fields = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {}
  const required = isObject(schema) && Array.isArray(schema['required']) ? schema['required'] : []
  const ofText = Object.keys(fields).filter(
    (name) => isObject(fields[name]) && fields[name]['type'] === 'string',
  )
  const wanted = ofText.filter((name) => required.includes(name))
  return wanted.length === 1 ? wanted[0] : ofText.length === 1 ? ofText[0] : undefined
}

function contentOf({ native }: Answer): unknown {
  const value = native?.value()
  return isObject(value) ? value['content'] : undefined
}
