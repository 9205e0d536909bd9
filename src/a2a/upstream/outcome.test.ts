import { describe, expect, it } from 'vitest'
import { parseWire, REPLY_LIMITS } from '../wire/codec.ts'
import { TASK_STATES } from '../wire/rev-1-0.ts'
import { sealHandle } from './handle.ts'
import { outcomeOfMessage, outcomeOfStatus } from './outcome.ts'

const handle = sealHandle('agent', { taskId: 'T1', contextId: 'X1' })

function outcomeOf(text: string) {
  const parsed = parseWire('Task', JSON.parse(text) as unknown, REPLY_LIMITS)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.violations))
  return outcomeOfStatus({ status: parsed.value.status, handle, text })
}
const task = (state: string, message?: object): string =>
  JSON.stringify({ id: 'T1', contextId: 'X1', status: { state, message } })
const says = (...parts: object[]) => ({ messageId: 'm1', role: 'ROLE_AGENT', parts })

describe('every state of the protocol is one outcome', () => {
  const states = Object.fromEntries(
    TASK_STATES.map((state) => [state, outcomeOf(task(state)).state]),
  )
  it('all nine', () => {
    expect(states).toEqual({
      TASK_STATE_UNSPECIFIED: 'unknown',
      TASK_STATE_SUBMITTED: 'working',
      TASK_STATE_WORKING: 'working',
      TASK_STATE_COMPLETED: 'completed',
      TASK_STATE_FAILED: 'failed',
      TASK_STATE_CANCELED: 'canceled',
      TASK_STATE_INPUT_REQUIRED: 'input_required',
      TASK_STATE_REJECTED: 'rejected',
      TASK_STATE_AUTH_REQUIRED: 'auth_required',
    })
  })

  it('an agent that does not know is believed, and its task can be asked about again', () => {
    expect(outcomeOf(task('TASK_STATE_UNSPECIFIED', says({ text: 'it may have run' })))).toEqual({
      state: 'unknown',
      because: 'peer_unclear',
      detail: 'it may have run',
      handle,
    })
    expect(outcomeOf(task('TASK_STATE_UNSPECIFIED'))).toMatchObject({
      detail: expect.stringContaining('does not know') as string,
    })
  })

  it('the agent’s words are kept as its own', () => {
    expect(outcomeOf(task('TASK_STATE_WORKING', says({ text: 'half done' })))).toMatchObject({
      text: 'half done',
    })
    expect(outcomeOf(task('TASK_STATE_REJECTED', says({ text: 'no' })))).toMatchObject({
      text: 'no',
      handle,
    })
  })
})

describe('questions', () => {
  const questionOf = (text: string) => {
    const outcome = outcomeOf(text)
    if (!('questions' in outcome)) throw new Error(outcome.state)
    return outcome.questions[0]!
  }

  it('the message is the question, digits and unknown members included', () => {
    const text =
      '{"id":"T1","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"which?"},{"data":12345678901234567890}],"more":1}}}'
    const question = questionOf(text)
    expect(question).toMatchObject({ kind: 'text', text: 'which?' })
    const kept = new TextDecoder().decode(question.native.bytes)
    expect(kept).toContain('12345678901234567890')
    expect(kept).toContain('"more":1')
  })

  it('the key is the same for the same message and another for another', () => {
    const state = 'TASK_STATE_INPUT_REQUIRED'
    const first = questionOf(task(state, says({ text: 'a' })))
    expect(questionOf(task(state, says({ text: 'a' }))).key).toBe(first.key)
    const other = { ...says({ text: 'a' }), messageId: 'm2' }
    expect(questionOf(task(state, other)).key).not.toBe(first.key)
  })

  it('an agent that asks without words is shown to do so', () => {
    expect(questionOf(task('TASK_STATE_INPUT_REQUIRED'))).toMatchObject({
      text: '(asks for input, without words)',
    })
    expect(questionOf(task('TASK_STATE_AUTH_REQUIRED'))).toMatchObject({
      kind: 'text',
      text: '(asks for authorisation, without words)',
    })
  })

  it.each([
    ['a bare schema', { type: 'object', properties: {} }, 'form'],
    ['one under requestedSchema', { requestedSchema: { type: 'object', properties: {} } }, 'form'],
    ['other data', { colour: 'red' }, 'text'],
    ['null', null, 'text'],
  ])('%s makes it a %s', (_name, data, kind) => {
    const message = says({ text: 'fill in' }, { data })
    expect(questionOf(task('TASK_STATE_INPUT_REQUIRED', message)).kind).toBe(kind)
  })

  it('a link makes an authorisation a url question', () => {
    const message = says({ text: 'log in' }, { url: 'https://login.example/' })
    expect(questionOf(task('TASK_STATE_AUTH_REQUIRED', message)).kind).toBe('url')
  })
})

it('a long message is shortened for rows and whole in its native form', () => {
  const words = 'x'.repeat(50_000)
  const text = JSON.stringify(says({ text: words }))
  const parsed = parseWire('Message', JSON.parse(text) as unknown)
  const outcome = outcomeOfMessage(parsed.ok ? parsed.value : (undefined as never), text)
  expect(outcome.state === 'answered' && outcome.text.length).toBe(20_001)
  expect('native' in outcome && outcome.native?.bytes.length).toBe(text.length)
})
