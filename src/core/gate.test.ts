import { expect, test } from 'vitest'
import { ALICE, jsonText, openCoreHouse, toolCall } from '../testkit/core-house.fixture.ts'
import { approvalDigest, passGate, stillPasses } from './gate.ts'
import type { OutboundCall } from './words/call.ts'

function outbound(over: Partial<OutboundCall> = {}): OutboundCall {
  return { ...toolCall(), callId: 'c1', openedAt: 0, ...over }
}

test('the checks come in one order, and the first that refuses ends them', async () => {
  const house = await openCoreHouse()
  const { rules, asked, ports } = house
  const orderWhen = async (change: () => void): Promise<readonly string[]> => {
    change()
    asked.length = 0
    const verdict = await passGate(ports, outbound())
    return [...asked, verdict.kind === 'pass' ? 'pass' : String(verdict.outcome.code)]
  }
  const hidden = await orderWhen(() => (rules.visible = false))
  expect(hidden).toEqual(['visible', 'unknown_capability'])
  const changed = await orderWhen(() => Object.assign(rules, { visible: true, pin: 'changed' }))
  expect(changed).toEqual(['visible', 'pin', 'pin_changed'])
  const faults = [{ path: '/id', expected: 'a string' }]
  const bad = await orderWhen(() => Object.assign(rules, { pin: 'accepted', faults }))
  expect(bad).toEqual(['visible', 'pin', 'arguments', 'bad_arguments'])
  const denied = await orderWhen(() => Object.assign(rules, { faults: [], effect: 'deny' }))
  expect(denied).toEqual(['visible', 'pin', 'arguments', 'policy', 'denied'])
  const asks = await orderWhen(() => (rules.effect = 'ask'))
  const toPolicy = ['visible', 'pin', 'arguments', 'policy']
  expect(asks).toEqual([...toPolicy, 'approval', 'approval_required'])
  expect(await orderWhen(() => (rules.effect = 'allow'))).toEqual([...toPolicy, 'pass'])
})

test('hidden and unknown sound alike: nothing of the rule or the pin is told', async () => {
  const { ports, rules } = await openCoreHouse()
  rules.visible = false
  const verdict = await passGate(ports, outbound())
  expect(verdict).toMatchObject({
    kind: 'refused',
    outcome: { origin: 'validation', ran: 'no', detail: 'unknown tool: tickets_delete' },
  })
  expect(verdict).not.toHaveProperty('decision')
})

test('an approval is asked for once, for the exact arguments, and lets exactly them pass', async () => {
  const { ports, rules, store } = await openCoreHouse()
  rules.effect = 'ask'
  const first = await passGate(ports, outbound())
  const again = await passGate(ports, outbound({ callId: 'c2' }))
  const approvals = store.approvals.list()
  expect(approvals).toMatchObject([
    { principal: 'alice', argumentsText: '{"id":1}', theirWords: 'their words', state: 'pending' },
  ])
  const id = approvals[0]!.id
  for (const verdict of [first, again])
    expect(verdict).toMatchObject({ outcome: { code: 'approval_required', approvalId: id } })

  await store.approvals.answer(id, 'approved', 'operator')
  expect(await passGate(ports, outbound())).toMatchObject({ kind: 'pass', approvalId: id })
  const others = [
    outbound({ arguments: jsonText({ id: 2 }) }),
    outbound({ principal: { ...ALICE, id: 'bob' } }),
    outbound({ route: { ...toolCall().route, fingerprint: 'fingerprint-2' } }),
    outbound({ route: { ...toolCall().route, endpoint: 'endpoint-2' } }),
  ]
  for (const call of others) expect(await passGate(ports, call)).toMatchObject({ kind: 'refused' })
  const digests = others.map((call) =>
    approvalDigest(ports.digest, call, ports.digest.json(call.arguments)),
  )
  expect(new Set(digests).size).toBe(others.length)
})

test('a denial is told as one, and asks nobody again', async () => {
  const { ports, rules, store } = await openCoreHouse()
  rules.effect = 'ask'
  await passGate(ports, outbound())
  const [asked] = store.approvals.list()
  await store.approvals.answer(asked!.id, 'denied', 'operator')
  expect(await passGate(ports, outbound())).toMatchObject({
    outcome: { code: 'approval_denied', approvalId: asked!.id },
  })
  expect(store.approvals.list()).toHaveLength(1)
})

test('what passed still passes until rules, pin or sight change', async () => {
  const { ports, rules } = await openCoreHouse()
  const verdict = await passGate(ports, outbound())
  if (verdict.kind === 'refused') throw new Error(verdict.outcome.detail)
  const now = () => stillPasses(ports, outbound(), verdict.decision)?.code
  expect(now()).toBeUndefined()
  rules.version = 'rules-2'
  expect(now()).toBe('gate_changed')
  rules.version = 'rules-1'
  rules.effect = 'ask'
  expect(now()).toBe('gate_changed')
  rules.effect = 'allow'
  rules.pin = 'changed'
  expect(now()).toBe('pin_changed')
  rules.pin = 'accepted'
  rules.visible = false
  expect(now()).toBe('unknown_capability')
})
