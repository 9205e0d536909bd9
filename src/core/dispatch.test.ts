import { expect, test } from 'vitest'
import {
  completed,
  exchangeOf,
  FACTS,
  HANDLE,
  openCoreHouse,
  toolCall,
  asking,
} from '../testkit/core-house.fixture.ts'
import type { Outcome } from './words/outcome.ts'

test('an approved call that asks goes on round by round, and no round can be repeated', async () => {
  const replies: Outcome[] = [asking('one'), asking('two'), completed(), completed()]
  let sent = 0
  const house = await openCoreHouse({
    call: async (_call, _exchange, dispatched) => {
      dispatched(FACTS)
      sent += 1
      return replies.shift() ?? completed()
    },
  })
  house.rules.effect = 'ask'
  const { exchange } = exchangeOf()
  const refused = await house.dispatch(toolCall(), exchange)
  expect(refused.outcome).toMatchObject({ code: 'approval_required' })
  const [asked] = house.store.approvals.list()
  await house.store.approvals.answer(asked!.id, 'approved', 'terminal')

  const first = await house.dispatch(toolCall(), exchange)
  const round = (callId: string, key: string) => {
    const answers = [{ key, action: 'accept', text: 'yes' }] as const
    return { callId, handle: HANDLE, answers, approvalId: asked!.id }
  }
  const repeated = toolCall({ continuation: round(first.callId, 'one') })
  const second = await house.dispatch(repeated, exchange)
  expect(second.outcome.state).toBe('input_required')
  expect((await house.dispatch(repeated, exchange)).outcome).toMatchObject({
    state: 'failed',
    ran: 'no',
    code: 'approval_required',
  })
  const last = toolCall({ continuation: round(second.callId, 'two') })
  expect((await house.dispatch(last, exchange)).outcome.state).toBe('completed')
  expect((await house.dispatch(last, exchange)).outcome).toMatchObject({ ran: 'no' })
  expect(sent).toBe(3)
})
