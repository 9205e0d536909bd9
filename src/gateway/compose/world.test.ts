/** Which two calls are one act, and which one approval lets through: with the digests that the gateway runs with. */
import { expect, test } from 'vitest'
import { actKey } from '../../core/admit.ts'
import { approvalDigest } from '../../core/gate.ts'
import type { OutboundCall } from '../../core/words/call.ts'
import { mcpNative } from '../../mcp/wire/native.ts'
import { digest } from './world.ts'

function callWith(argumentsText: string): OutboundCall {
  const native = mcpNative(new TextEncoder().encode(argumentsText), '2026-07-28')
  return {
    callId: 'c-1',
    openedAt: 0,
    operation: 'call',
    principal: { id: 'alice', groups: [], via: 'token' },
    door: 'mcp',
    route: {
      peer: 'tickets',
      protocol: 'mcp',
      endpoint: 'endpoint-1',
      kind: 'tool',
      capability: 'create',
      exposed: 'tickets_create',
      fingerprint: 'f',
      hints: {},
      trusted: false,
    },
    arguments: native,
    native,
    deadlineAt: 0,
    trace: {},
  }
}

const act = (text: string): string => actKey(digest, callWith(text))
const approval = (text: string): string =>
  approvalDigest(digest, callWith(text), digest.json(callWith(text).arguments))

test.each(['{"n":1.0}', '{"n":1e0}', '{"n":10E-1}', '{"n":0.1e+1}'])(
  'an act with %s is the same as with {"n":1}, an approval is of one spelling only',
  (text) => {
    expect(act(text)).toBe(act('{"n":1}'))
    expect(approval(text)).not.toBe(approval('{"n":1}'))
  },
)

test('acts that no double can tell apart are two', () => {
  expect(act('{"n":9007199254740993}')).not.toBe(act('{"n":9007199254740992}'))
  expect(act('{"n":"1"}')).not.toBe(act('{"n":1}'))
})
