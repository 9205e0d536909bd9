/** Sessions are bounded in number; whoever opens many makes room with their own. */
import { expect, test } from 'vitest'
import type { Principal } from '../../core/words/principal.ts'
import { createSessions, type Session } from './sessions.ts'

const ALICE: Principal = { id: 'alice', groups: [], via: 'token' }
const BOB: Principal = { id: 'bob', groups: [], via: 'token' }

function open(maxSessions: number) {
  const sessions = createSessions({ now: () => 0 }, { maxSessions, sessionIdleMs: 1000 })
  return {
    ...sessions,
    begin: (principal: Principal): Session => {
      const session = sessions.open(principal, '2025-11-25')
      if (session === undefined) throw new Error('no session was opened')
      return session
    },
  }
}

test('a principal that opens sessions without end pushes out its own, nobody else’s', () => {
  const sessions = open(10)
  const hers = [sessions.begin(ALICE), sessions.begin(ALICE)]
  const first = sessions.begin(BOB)
  for (let count = 0; count < 50; count += 1) sessions.begin(BOB)

  expect(hers.map(({ id }) => sessions.find(id, ALICE)?.id)).toEqual(hers.map(({ id }) => id))
  expect(sessions.find(first.id, BOB)).toBeUndefined()
})

test('whoever has the most makes room for one that has none', () => {
  const sessions = open(4)
  const his = [1, 2, 3, 4].map(() => sessions.begin(BOB))
  const hers = sessions.begin(ALICE)

  expect(sessions.find(hers.id, ALICE)).toBe(hers)
  expect(his.map(({ id }) => sessions.find(id, BOB) !== undefined)).toEqual([
    false,
    true,
    true,
    true,
  ])
})

test('a session at work stays: with all of theirs at work, one is refused rather than another pushed out', () => {
  const sessions = open(3)
  const his = [sessions.begin(BOB), sessions.begin(BOB)]
  for (const session of his) session.running.set('1', new AbortController())
  const hers = sessions.begin(ALICE)

  expect(sessions.open(BOB, '2025-11-25')).toBeUndefined()
  expect(sessions.find(hers.id, ALICE)).toBe(hers)
  expect(his.every(({ id }) => sessions.find(id, BOB) !== undefined)).toBe(true)
})
