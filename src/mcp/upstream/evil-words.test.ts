/** What a server says that must not reach people or models as it stands: addresses, and texts without end. */
import { describe, expect, test } from 'vitest'
import {
  inlineServer,
  listenModern,
  makeCall,
  openPeer,
  reply,
  until,
} from '../../../test/mcp/upstream-peer.ts'

const EVIL = [
  ['a script', 'javascript:alert(1)'],
  ['data', 'data:text/html,<script>alert(1)</script>'],
  ['a file', 'file:///etc/passwd'],
  ['a program', 'x-terminal:rm'],
  ['a user name that looks like a host', 'https://bank.example@evil.example/'],
  ['an address longer than anybody reads', `https://x.example/${'a'.repeat(9_000)}`],
  ['no address', 'sign in please'],
  ['no text', 7],
] as const

const ASKABLE = { can: { form: true, url: true, sampling: true, roots: true } }
const TWOFOLD = '{"method":"elicitation/create","params":{"message":"a","message":"b"}}'
const WHY = /the address to open is no http or https one/u

describe.each(EVIL)('T13: %s to be opened', (_what, url) => {
  const page = { mode: 'url', elicitationId: 'e', url, message: 'm' }

  test('is asked of nobody in mid-call, and the server is told why', async () => {
    const peer = openPeer(
      inlineServer(
        `let call
        serve({
          initialize: (m) => answer(m, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} }),
          'tools/call': (m) => { call = m; send({ id: 'q', method: 'elicitation/create', params: JSON.parse(process.env.PAGE) }) },
          undefined: (m) => answer(call, { content: [{ type: 'text', text: m.error.message }] }),
        })`,
        { PAGE: JSON.stringify(page) },
      ),
    )
    let asked = 0
    const ask = (): Promise<{ readonly key: string; readonly action: 'decline' }> => {
      asked += 1
      return Promise.resolve({ key: '', action: 'decline' })
    }
    const { outcome } = await makeCall(peer, 'pay', {}, { ...ASKABLE, ask })
    expect(JSON.stringify('native' in outcome ? outcome.native?.value() : outcome)).toMatch(WHY)
    expect(asked).toBe(0)
  })

  test('is no round of a 2026-07-28 server', async () => {
    const base = await listenModern((message, response) => {
      const inputRequests = { a: { method: 'elicitation/create', params: page } }
      reply(response, message, { result: { resultType: 'input_required', inputRequests } })
    })
    const peer = openPeer({ transport: 'http', url: base, headers: {} })
    const { outcome } = await makeCall(peer, 'pay', {}, ASKABLE)
    expect(outcome).toMatchObject({ state: 'failed', code: 'protocol_violation' })
    expect('detail' in outcome && outcome.detail).toMatch(WHY)
  })

  test('is not passed on as an error that asks for it', async () => {
    const peer = openPeer(
      inlineServer(
        `serve({ 'tools/call': (m) => refuse(m, -32042, 'open', { elicitations: [JSON.parse(process.env.PAGE)] }) })`,
        { PAGE: JSON.stringify(page) },
      ),
    )
    const { outcome } = await makeCall(peer, 'pay', {}, ASKABLE)
    expect(outcome).toMatchObject({ state: 'failed', ran: 'no', code: 'protocol_violation' })
    expect('detail' in outcome && outcome.detail).toMatch(WHY)
    expect('native' in outcome && outcome.native).toBe(false)
  })
})

test('ten thousand questions in one round are asked of nobody', async () => {
  const base = await listenModern((message, response) => {
    const form = { mode: 'form', message: 'm', requestedSchema: { type: 'object', properties: {} } }
    const question = { method: 'elicitation/create', params: form }
    const inputRequests = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`q${index}`, question]),
    )
    reply(response, message, { result: { resultType: 'input_required', inputRequests } })
  })
  const peer = openPeer({ transport: 'http', url: base, headers: {} })
  const { outcome } = await makeCall(peer, 'pay', {}, ASKABLE)
  expect(outcome).toMatchObject({ state: 'failed', code: 'protocol_violation' })
  expect('detail' in outcome && outcome.detail).toContain('10000 questions in one round')
})

test('instructions of ten megabytes are cut, and say so', async () => {
  const peer = openPeer(
    inlineServer(
      `serve({ initialize: (m) => answer(m, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: {}, instructions: '😀'.repeat(5 * 1024 * 1024) }) })`,
    ),
  )
  const { instructions = '' } = await peer.listing()
  expect(instructions.length).toBeLessThan(66_000)
  expect(instructions.isWellFormed()).toBe(true)
  expect(instructions).toMatch(/\(cut here by comity: 10420224 more characters\)$/u)
})

// Readers may disagree of what they ask. All the same the call was sent, and its peer did something with it.
test.each([
  ['a question under a name that comes twice', '"inputRequests":{"a":QUESTION,"a":QUESTION}'],
  ['a question with half a character in its name', '"inputRequests":{"\\ud800":QUESTION}'],
  ['a question that says two things', '"inputRequests":{"a":{"method":"x","method":"roots/list"}}'],
  ['a question with params that say two things', `"inputRequests":{"a":${TWOFOLD}}`],
  ['a state with half a character', '"requestState":"\\udc00"'],
  ['a number that no double can hold', '"inputRequests":{"a":{"method":"roots/list","n":1e999}}'],
])('%s: broken, and never said to be unsent', async (_what, members) => {
  const question = JSON.stringify({ method: 'roots/list', params: {} })
  const base = await listenModern(({ id }, response) => {
    const result = `{"resultType":"input_required",${members.replaceAll('QUESTION', question)}}`
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`)
  })
  const peer = openPeer({ transport: 'http', url: base, headers: {} })
  const { outcome } = await makeCall(peer, 'pay', {}, ASKABLE)
  expect(outcome).toMatchObject({ state: 'failed', ran: 'yes', code: 'protocol_violation' })
})

test.each([
  ['params that say two things', '{"message":"a","message":"b"}'],
  ['a form that says two things', '{"message":"a","requestedSchema":{"type":"object","type":"x"}}'],
  ['half a character', '{"message":"\\udc00"}'],
  ['a number that no double can hold', '{"message":"a","requestedSchema":{"maximum":1e999}}'],
  ['NUL in a key', '{"message":"a","k\\u0000":1}'],
])('%s, asked in mid-call: nobody is asked, and the server is told why', async (_what, params) => {
  const peer = openPeer(
    inlineServer(
      `let call
      serve({
        initialize: (m) => answer(m, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} }),
        'tools/call': (m) => {
          call = m
          process.stdout.write('{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":' + process.env.PARAMS + '}\\n')
        },
        undefined: (m) => answer(call, { content: [{ type: 'text', text: m.error.message }] }),
      })`,
      { PARAMS: params },
    ),
  )
  let asked = 0
  const ask = (): Promise<{ readonly key: string; readonly action: 'decline' }> => {
    asked += 1
    return Promise.resolve({ key: '', action: 'decline' })
  }
  const { outcome } = await makeCall(peer, 'pay', {}, { ...ASKABLE, ask })
  expect(JSON.stringify('native' in outcome ? outcome.native?.value() : outcome)).toContain(
    'the params are unsound',
  )
  expect(asked).toBe(0)
})

test('an update of an address longer than any is told to nobody, others are', async () => {
  const peer = openPeer(
    inlineServer(`
      const updated = (uri) => send({ method: 'notifications/resources/updated', params: { uri } })
      serve({
        initialize: (m) => answer(m, { protocolVersion: '2025-06-18', capabilities: { resources: { subscribe: true } }, serverInfo: {} }),
        'resources/subscribe': (m) => {
          answer(m, {})
          updated('a://b/' + 'x'.repeat(100_000))
          updated('a://b/c')
        },
      })`),
  )
  const told: string[] = []
  peer.watch('a://b', (uri) => told.push(uri))
  await until('it is told', () => told.length > 0)
  expect(told).toEqual(['a://b/c'])
})
