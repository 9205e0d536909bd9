/** A 2025-11-25 peer that wants a page visited first (-32042), for callers of each revision. */
import { afterEach, expect, test } from 'vitest'
import type { Outcome } from '../../core/words/outcome.ts'
import { mcpNative } from '../wire/native.ts'
import { encodeJson } from '../wire/spans.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import { dig, initialize, modernMeta, openTestDoor, postModern } from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function open(tool: Scripted) {
  const house = createScriptedHouse([tool])
  const server = await openTestDoor(house)
  closers.push(server.close)
  return { house, ...server }
}

const ELICITATION = {
  mode: 'url',
  elicitationId: 'e1',
  url: 'https://login.example/a',
  message: 'Sign in',
}
const ERROR = { code: -32042, message: 'sign in first', data: { elicitations: [ELICITATION] } }

function refused(error: object): Outcome {
  const native = mcpNative(encodeJson(error), '2025-11-25')
  return {
    state: 'failed',
    origin: 'peer',
    ran: 'no',
    code: 'peer_error',
    detail: 'desk says: sign in first',
    native,
  }
}

/** Refuses until it was called that often. */
function signInFirst(times: number, error: object = ERROR): Scripted {
  let calls = 0
  return {
    kind: 'tool',
    exposed: 'send',
    run: () => {
      calls += 1
      return calls <= times ? refused(error) : completed({ content: [] })
    },
  }
}

const META = modernMeta({
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
})
const CALL = { name: 'send', arguments: { to: 'x' }, _meta: META }

test('a modern caller opens the address and its retry sends the call again, with its approval', async () => {
  const { url, house } = await open(signInFirst(1))
  house.approvals.push('ap-1')
  const first = await postModern(url, 'tools/call', CALL)
  expect(dig(first.body, 'result')).toMatchObject({
    resultType: 'input_required',
    inputRequests: {
      url1: {
        method: 'elicitation/create',
        params: { mode: 'url', message: 'desk asks: Sign in', url: 'https://login.example/a' },
      },
    },
  })
  expect(first.text).not.toContain('elicitationId')

  const requestState = dig(first.body, 'result', 'requestState')
  const unanswered = await postModern(url, 'tools/call', { ...CALL, requestState })
  expect(dig(unanswered.body, 'result', 'resultType')).toBe('input_required')
  expect(house.calls).toHaveLength(1)

  const retry = { ...CALL, requestState, inputResponses: { url1: { action: 'accept' } } }
  const { body } = await postModern(url, 'tools/call', retry)
  expect(dig(body, 'result', 'resultType')).toBe('complete')
  expect(house.calls[1]?.native.value()).toEqual(CALL)
  expect(house.calls[1]?.continuation).toMatchObject({
    callId: 'call-1',
    answers: [],
    approvalId: 'ap-1',
  })
})

test('declined, nothing is sent again and the caller reads that nothing ran', async () => {
  const { url, house } = await open(signInFirst(1))
  const first = await postModern(url, 'tools/call', CALL)
  const requestState = dig(first.body, 'result', 'requestState')
  const retry = { ...CALL, requestState, inputResponses: { url1: { action: 'decline' } } }
  const { body } = await postModern(url, 'tools/call', retry)
  expect(dig(body, 'result')).toMatchObject({
    isError: true,
    _meta: { 'comity/outcome': { ran: 'no' } },
  })
  expect(house.calls).toHaveLength(1)
})

test('a modern caller that declared no url is told what it lacks', async () => {
  const { url } = await open(signInFirst(1))
  const { body, status } = await postModern(url, 'tools/call', { name: 'send' })
  expect(status).toBe(400)
  expect(body).toMatchObject({
    error: { code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } },
  })
})

test('an error without an address that can be shown is told in words', async () => {
  const { url } = await open(
    signInFirst(1, { ...ERROR, data: { elicitations: [{ mode: 'url' }] } }),
  )
  const { body } = await postModern(url, 'tools/call', CALL)
  expect(dig(body, 'result')).toMatchObject({
    isError: true,
    _meta: { 'comity/outcome': { ran: 'no' } },
  })
})

test('a 2025-11-25 caller gets the error itself', async () => {
  const { url } = await open(signInFirst(1))
  const { session, headers } = await initialize(url)
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'mcp-session-id': session },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send"}}',
  })
  expect(await response.text()).toContain(JSON.stringify(ELICITATION))
})
