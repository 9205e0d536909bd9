import { expect, test } from 'vitest'
import { outcomeFacts } from './call-facts.ts'

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
