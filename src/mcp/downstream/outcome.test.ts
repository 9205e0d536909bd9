/** Outcomes at the modern door: what is a result, what is an error, and whose words they are in. */
import { afterEach, describe, expect, test } from 'vitest'
import { refused, type Outcome } from '../../core/words/outcome.ts'
import { mcpNative } from '../wire/native.ts'
import { completed, createScriptedHouse, type Scripted } from './testing/scripted-house.ts'
import { dig, openTestDoor, postModern } from './testing/test-door.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function open(capabilities: readonly Scripted[] = []) {
  const house = createScriptedHouse(capabilities)
  const server = await openTestDoor(house)
  closers.push(server.close)
  return { house, ...server }
}

describe('outcomes', () => {
  const APPROVAL = refused(
    'policy',
    'approval_required',
    'needs approval. comity approve ap-1',
    'ap-1',
  )
  const cases: readonly (readonly [string, Outcome, Record<string, unknown>])[] = [
    [
      'denied',
      refused('policy', 'denied', 'denied by rules[0]'),
      { state: 'failed', code: 'denied', ran: 'no' },
    ],
    [
      'asked',
      APPROVAL,
      { state: 'failed', code: 'approval_required', approvalId: 'ap-1', ran: 'no' },
    ],
    [
      'a changed pin',
      refused('policy', 'pin_changed', 'the definition changed'),
      { code: 'pin_changed', ran: 'no' },
    ],
    [
      'bad arguments',
      refused('validation', 'bad_arguments', '/a: expected a string'),
      { code: 'bad_arguments' },
    ],
    [
      'a crashed peer',
      refused('transport', 'peer_crashed', 'desk: it exited'),
      { code: 'peer_crashed', ran: 'no' },
    ],
    [
      'unknown',
      { state: 'unknown', because: 'sent_no_answer', detail: 'sent, no answer' },
      { state: 'unknown', code: 'sent_no_answer', ran: 'unknown' },
    ],
    [
      'a twin',
      { state: 'unknown', because: 'unsettled_twin', detail: 'not sent', twinOf: 'call-0' },
      { state: 'unknown', code: 'unsettled_twin', twinOf: 'call-0' },
    ],
  ]

  test.each(cases)('%s is a result a model can read', async (_name, outcome, meta) => {
    const { url } = await open([{ kind: 'tool', exposed: 'tool', run: () => outcome }])
    const { status, body } = await postModern(url, 'tools/call', { name: 'tool' })

    expect(status).toBe(200)
    expect(dig(body, 'result')).toMatchObject({
      resultType: 'complete',
      isError: true,
      _meta: { 'comity/outcome': { callId: 'call-1', ...meta } },
    })
    expect(dig(body, 'result', 'content', 0, 'text')).toContain(
      'detail' in outcome ? outcome.detail : '',
    )
  })

  test('an approval names the whole command line even when the detail does not', async () => {
    const outcome = refused('policy', 'approval_required', 'a person has to agree', 'ap-9')
    const { url } = await open([{ kind: 'tool', exposed: 'tool', run: () => outcome }])
    const { body } = await postModern(url, 'tools/call', { name: 'tool' })

    expect(dig(body, 'result', 'content', 0, 'text')).toContain('comity approve ap-9')
  })

  test('a refused read is an error of our own code with the same object', async () => {
    const { url } = await open([{ kind: 'resource', exposed: 'x://1', run: () => APPROVAL }])
    const { body } = await postModern(url, 'resources/read', { uri: 'x://1' })
    const code = Number(dig(body, 'error', 'code'))

    expect(code < -32768 || code > -32000).toBe(true)
    expect(dig(body, 'error', 'data', 'comity/outcome')).toMatchObject({
      approvalId: 'ap-1',
      callId: 'call-1',
    })
  })

  test("a peer's own error keeps code, message and the bytes of its data", async () => {
    const error = '{"code":-32099,"message":"quota","data":{"left":9007199254740993,"x" :1.0}}'
    const outcome = peerError(error)
    const { url } = await open([{ kind: 'tool', exposed: 'tool', run: () => outcome }])
    const { status, text } = await postModern(url, 'tools/call', { name: 'tool' })

    expect(status).toBe(200)
    expect(text).toContain(
      '"code":-32099,"message":"quota","data":{"left":9007199254740993,"x" :1.0}',
    )
  })

  test.each([
    [-32002, -32602, 200],
    [-32601, -32601, 200],
    [-32021, -32021, 400],
  ])('a peer error %i arrives as %i', async (sent, arrives, status) => {
    const outcome = peerError(JSON.stringify({ code: sent, message: 'no' }))
    const { url } = await open([{ kind: 'resource', exposed: 'x://1', run: () => outcome }])
    const answer = await postModern(url, 'resources/read', { uri: 'x://1' })

    expect([answer.status, dig(answer.body, 'error', 'code')]).toEqual([status, arrives])
  })

  test.each([-32020, -32022, -32042])(
    'a peer error %i speaks of another hop and is told in words',
    async (code) => {
      const outcome = peerError(JSON.stringify({ code, message: 'their words' }))
      const { url } = await open([{ kind: 'tool', exposed: 'tool', run: () => outcome }])
      const { body } = await postModern(url, 'tools/call', { name: 'tool' })

      expect(dig(body, 'result', 'isError')).toBe(true)
      expect(dig(body, 'result', 'content', 0, 'text')).toContain('their words')
    },
  )

  test('an unknown resource is -32602 with its URI', async () => {
    const { url } = await open()
    const { body } = await postModern(url, 'resources/read', { uri: 'x://none' })

    expect(dig(body, 'error')).toMatchObject({ code: -32602, data: { uri: 'x://none' } })
  })

  test("what only another principal sees is as unknown as what isn't there", async () => {
    const { url, house } = await open([{ kind: 'tool', exposed: 'hidden', only: 'somebody' }])
    const hidden = await postModern(url, 'tools/call', { name: 'hidden' })
    const none = await postModern(url, 'tools/call', { name: 'absent' })

    expect(hidden.text.replace('hidden', 'absent')).toBe(none.text)
    expect(house.calls).toEqual([])
  })

  test('a fault of ours is -32603 without its words, and the door goes on', async () => {
    const breaks: Scripted = {
      kind: 'tool',
      exposed: 'breaks',
      run: () => {
        throw new Error('secret path')
      },
    }
    const { url } = await open([breaks])
    const { body, text } = await postModern(url, 'tools/call', { name: 'breaks' })

    expect(dig(body, 'error', 'code')).toBe(-32603)
    expect(text).not.toContain('secret')
  })

  test('a result whose _meta repeats a key cannot be rewritten and is told so', async () => {
    const outcome = completed('{"content":[],"_meta":{"a":1,"a":2}}')
    const { url } = await open([{ kind: 'tool', exposed: 'tool', run: () => outcome }])
    const { body } = await postModern(url, 'tools/call', { name: 'tool' })

    expect(dig(body, 'error', 'code')).toBe(-32603)
  })
})

function peerError(error: string): Outcome {
  return {
    state: 'failed',
    origin: 'peer',
    ran: 'no',
    code: 'peer_error',
    detail: 'desk answered an error',
    native: mcpNative(new TextEncoder().encode(error), '2025-11-25'),
  }
}
