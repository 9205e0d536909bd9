import { expect, test } from 'vitest'
import { ALICE, HANDLE, jsonText, toolCall } from '../testkit/core-house.fixture.ts'
import { actKey, idempotencyOf, twinOutcome } from './admit.ts'
import type { Digest } from './ports/world.ts'
import type { OutboundCall } from './words/call.ts'

// The text itself stands for its digest: what is equal is then plain to see.
const digest: Digest = {
  text: (text) => text,
  json: (json) => JSON.stringify(json.value()),
  jsonValue: (json) => JSON.stringify(json.value()),
}
const BOB = { ...ALICE, id: 'bob' }

function outbound(over: Partial<OutboundCall> = {}): OutboundCall {
  return { ...toolCall(), callId: 'c1', openedAt: 0, ...over }
}

test('equal acts have one key, whatever their ids, times and doors', () => {
  const one = actKey(digest, outbound())
  const again = outbound({
    callId: 'c2',
    openedAt: 5,
    door: 'cli',
    requestId: '7',
    trace: { a: 'b' },
  })
  expect(actKey(digest, again)).toBe(one)
})

test('another principal, endpoint, capability, operation, argument or answer is another act', () => {
  const { route } = toolCall()
  const round = (text: string) => {
    const answers = [{ key: 'q', action: 'accept', text }] as const
    return outbound({ continuation: { callId: 'c0', handle: HANDLE, answers } })
  }
  const acts = [
    outbound(),
    outbound({ principal: BOB }),
    outbound({ route: { ...route, endpoint: 'endpoint-2' } }),
    outbound({ route: { ...route, peer: 'other' } }),
    outbound({ route: { ...route, capability: 'close' } }),
    outbound({ operation: 'read' }),
    outbound({ arguments: jsonText({ id: 2 }) }),
    round('yes'),
    round('no'),
  ]
  const keys = acts.map((act) => actKey(digest, act))
  expect(new Set(keys).size).toBe(acts.length)
})

test("a caller's key is its own: two principals with one key are two, and none is none", () => {
  const idempotency = { key: 'm-1', digest: 'content' }
  const alices = idempotencyOf(digest, outbound({ idempotency }))
  expect(idempotencyOf(digest, outbound({ idempotency, callId: 'c2' }))).toEqual(alices)
  expect(idempotencyOf(digest, outbound({ idempotency, principal: BOB }))?.key).not.toBe(
    alices?.key,
  )
  const other = outbound({ idempotency: { ...idempotency, digest: 'other' } })
  expect(idempotencyOf(digest, other)).toMatchObject({ key: alices?.key })
  expect(idempotencyOf(digest, other)?.digest).not.toBe(alices?.digest)
  expect(idempotencyOf(digest, outbound())).toBeUndefined()
})

test('a twin is told its first call, what is known of it, and how to go on', () => {
  const first = { callId: 'c0', openedAt: '2026-11-30T00:00:00.000Z' }
  const unknown = twinOutcome({ ...first, state: 'unknown' })
  expect(unknown).toMatchObject({ state: 'unknown', because: 'unsettled_twin', twinOf: 'c0' })
  expect(unknown.detail).toMatch(/not known whether it ran.*comity settle c0.*insist/u)
  expect(twinOutcome({ ...first, state: 'open_caller_gone' }).detail).toContain('caller is gone')
})
