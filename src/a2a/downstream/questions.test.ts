/** Messages as answers to what a call asks: what each form means, what is refused and why, digits kept. */
import { expect, test } from 'vitest'
import type { Question } from '../../core/words/question.ts'
import type { Message } from '../wire/messages.ts'
import { askingParts, readAnswers } from './questions.ts'

function question(key: string, properties: object, text = `${key}?`): Question {
  const value = { method: 'elicitation/create', params: { requestedSchema: { properties } } }
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  return {
    kind: 'form',
    key,
    text,
    native: { protocol: 'mcp', revision: '', bytes, value: () => value },
  }
}

const NAME = question('q1', { name: { type: 'string' } })
const SURE = question('q2', { sure: { type: 'boolean' } })

/** @param parts JSON text, as received. */
function read(parts: string, ...questions: Question[]) {
  const body = `{"params":{"message":{"messageId":"m","role":"ROLE_USER","parts":${parts}}}}`
  const { params } = JSON.parse(body) as { readonly params: { readonly message: Message } }
  return readAnswers(params.message, body, questions)
}

const fault = (read: object): string => ('message' in read ? String(read.message) : '')

test('words fill the one field of text, data are the fields of the one form, answers go by key', () => {
  expect(read('[{"text":"Ada"}]', NAME)).toEqual({
    answers: [{ key: 'q1', action: 'accept', data: { name: 'Ada' } }],
  })
  expect(read('[{"text":"here"},{"data":{"sure":true}}]', SURE)).toEqual({
    answers: [{ key: 'q2', action: 'accept', data: { sure: true } }],
  })
  const keyed = '[{"data":{"answers":{"q2":{"action":"decline"},"q1":{"content":{"name":"Ada"}}}}}]'
  expect(read(keyed, NAME, SURE)).toEqual({
    answers: [
      { key: 'q2', action: 'decline' },
      { key: 'q1', action: 'accept', data: { name: 'Ada' } },
    ],
  })
})

test('an answer’s digits are those that were sent', () => {
  const given = read('[{"data":{"n":12345678901234567890.10}}]', SURE)
  expect(JSON.stringify(given)).toContain('{"n":12345678901234567890.10}')
})

test('what could mean two things is refused, with the way to say it', () => {
  expect(fault(read('[{"text":"yes"}]', SURE))).toContain('words are no answer to this')
  expect(fault(read('[{"text":"Ada"}]', NAME, SURE))).toContain('{"answers"')
  expect(fault(read('[{"text":"  "}]', NAME))).toContain('words are no answer')
  expect(fault(read('[{"data":{"name":"Ada"}}]', NAME, SURE))).toContain('several things')
  expect(fault(read('[{"data":{}},{"data":{}}]', NAME))).toContain('one data part')
  expect(fault(read('[{"data":[1]}]', NAME))).toContain('expected an object')
})

test('every fault of the answers is told at once, by its path', () => {
  const given =
    '[{"data":{"answers":{"q1":7,"q2":{"action":"maybe"},"q3":{"content":{}},"__proto__":{}}}}]'
  const said = fault(read(given, NAME, SURE))
  expect(said).toContain('answers.q1: expected an object with an action')
  expect(said).toContain('answers.q2: expected an action of accept, decline, cancel')
  expect(said).toContain('answers.q3: not asked; asked: q1, q2')
  expect(fault(read('[{"data":{"answers":{"q1":{"action":"accept"}}}}]', NAME))).toContain(
    'expected content',
  )
  expect(fault(read('[{"data":{"answers":{}}}]', NAME))).toContain('answers nothing')
  expect(fault(read('[{"data":{"answers":[]}}]', NAME))).toContain('an object of answers by key')
})

test('what is asked is shown in words and as data, with the form and what is expected', () => {
  const [words, data] = askingParts([NAME, SURE])
  expect(words).toMatchObject({ text: expect.stringContaining('- q1: q1?\n- q2: q2?') })
  expect(data).toMatchObject({
    mediaType: 'application/json',
    data: {
      questions: [
        { key: 'q1', kind: 'form', text: 'q1?', schema: { properties: { name: {} } } },
        { key: 'q2' },
      ],
      expected: { answers: { q1: { action: 'accept' }, q2: { action: 'accept' } } },
    },
  })
})
