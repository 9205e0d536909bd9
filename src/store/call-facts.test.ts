import { expect, test } from 'vitest'
import type { Opening } from '../core/ports/ledger.ts'
import type { Outcome } from '../core/words/outcome.ts'
import { callText, openingText, outcomeFacts, outcomeText, wireText } from './call-facts.ts'
import { canonicalText } from './canonical-text.ts'
import type { FactsText } from './commands.ts'
import { completed, createCall, createOpening, createTask, native } from './testing/make.ts'

test('of a task whose agent does not know, the record keeps which task it is, and not what lets one go on with it', () => {
  const handle = { peer: 'desk', kind: 'a2a_task', sealed: 'secret', taskId: 'T1' } as const
  const facts = outcomeFacts({ state: 'unknown', because: 'peer_unclear', detail: 'x', handle })
  expect(facts).toEqual({
    state: 'unknown',
    ran: 'unknown',
    because: 'peer_unclear',
    detail: 'x',
    handle: { peer: 'desk', kind: 'a2a_task', taskId: 'T1' },
  })
})

/** The text as it is stored, with a payload in its place. */
function stored({ head, tail }: FactsText, kind: string): string {
  return `${head}"${kind}":{"bytes":1,"digest":"d"},${tail}`
}

test.each([
  ['plain', {}],
  ['a read', { sideEffect: false }],
  ['an approved delegation', { approvalId: 'a-1', task: createTask('t1', 'submitted') }],
] as const)(
  'the facts of an opening are canonical with their digest in place: %s',
  (_name, over) => {
    const handle = { peer: 'tickets', kind: 'mcp_state', sealed: 's' } as const
    const calls = [
      createCall('c1'),
      createCall('c2', {
        principal: { id: 'Ä"\n', groups: [], via: 'token' },
        requestId: 'r"1',
        modelCallId: 'm-1',
        contextId: 'x',
        insist: 'c0',
        door: 'd'.repeat(300),
        trace: { traceparent: '00-1-1-01' },
        continuation: { callId: 'c0', handle, answers: [] },
      }),
    ]
    for (const call of calls) {
      const opening: Opening = createOpening(call.callId, { call, ...over })
      const text = stored(openingText(opening), 'arguments')
      const facts = JSON.parse(text) as Record<string, unknown>
      expect(text).toBe(canonicalText(facts))
      expect(facts).toMatchObject({
        sideEffect: opening.sideEffect,
        operation: call.operation,
        principal: { id: call.principal.id },
        route: { peer: call.route.peer, capability: call.route.capability },
        decision: { rule: opening.decision.rule },
        openedAt: new Date(call.openedAt).toISOString(),
      })
      expect([
        facts['insist'],
        facts['continues'],
        facts['requestId'],
        facts['traceparent'],
      ]).toEqual([
        call.insist,
        call.continuation?.callId,
        call.requestId,
        call.trace['traceparent'],
      ])
      const asked = JSON.parse(stored(callText(call, undefined), 'arguments')) as object
      expect(asked).not.toHaveProperty('decision')
      expect(asked).not.toHaveProperty('sideEffect')
    }
  },
)

test('the facts of an outcome are canonical with their digest in place, and without one', () => {
  const handle = { peer: 'desk', kind: 'a2a_task', sealed: 's', taskId: 'T1' } as const
  const outcomes: readonly Outcome[] = [
    completed(),
    { state: 'completed', toolError: true, native: native('{}'), handle, artifacts: [] },
    { state: 'answered', native: native('{}'), text: 't', contextId: 'x' },
    { state: 'working', handle },
    {
      state: 'input_required',
      handle,
      questions: [{ kind: 'form', key: 'k', text: 't', native: native('{}') }],
    },
    { state: 'failed', origin: 'peer', ran: 'no', code: 'not_sent', detail: 'd', approvalId: 'a' },
    { state: 'canceled', text: 't' },
    { state: 'unknown', because: 'deadline', detail: 'd', twinOf: 'c0', handle },
  ]
  for (const outcome of outcomes) {
    const text = outcomeText(outcome)
    expect(JSON.parse(text.head + text.tail)).toEqual(outcomeFacts(outcome))
    for (const whole of [text.head + text.tail, stored(text, 'result')])
      expect(whole).toBe(canonicalText(JSON.parse(whole)))
  }
})

test('what was in force on the wire is canonical, whether it was seen before or is new', () => {
  for (const listChanged of [true, false, true]) {
    const facts = { wireId: '"1', revision: 'r', ours: {}, theirs: { tools: { listChanged } } }
    for (let times = 0; times < 10; times += 1)
      expect(wireText({ ...facts, ours: { times } })).toBe(
        canonicalText({ ...facts, ours: { times } }),
      )
    expect(wireText(facts)).toBe(wireText(facts))
  }
})
