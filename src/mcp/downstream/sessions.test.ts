/** Sessions are bounded in number, and found again by whoever opens the same store. */
import { expect, test } from 'vitest'
import type { SessionStore } from '../../core/ports/sessions.ts'
import { createMemorySessions } from './memory-sessions.ts'
import { sessionlessTerms } from './session-terms.ts'
import { createSessions, type HttpSession } from './sessions.ts'

const TERMS = {
  ...sessionlessTerms('2025-06-18'),
  capabilities: { elicitation: {} },
  subscriptions: ['note://one'],
}

function open(maxSessions: number, store: SessionStore = createMemorySessions()) {
  const bounds = {
    maxSessions,
    sessionIdleMs: 1000,
    questionMs: 1000,
    maxOpenQuestions: 8,
    maxAnswerBytes: 1024,
    maxReplayBytes: 1024,
    replayMs: 1000,
  }
  const sessions = createSessions(store, { now: () => 0 }, bounds, (fault) => {
    throw fault
  })
  return {
    ...sessions,
    begin: async (principal: string): Promise<HttpSession> => {
      const session = await sessions.open(principal, TERMS)
      if (session === undefined) throw new Error('no session was opened')
      return session
    },
    isThere: async ({ id, principal }: HttpSession) =>
      (await sessions.find(id, principal)) !== undefined,
  }
}

test('a principal that opens sessions without end pushes out its own, nobody else’s', async () => {
  const store = createMemorySessions()
  const sessions = open(10, store)
  const hers = [await sessions.begin('alice'), await sessions.begin('alice')]
  const first = await sessions.begin('bob')
  for (let count = 0; count < 50; count += 1) await sessions.begin('bob')

  for (const one of hers) expect(await sessions.find(one.id, 'alice')).toBe(one)
  expect(await sessions.isThere(first)).toBe(false)
  expect(await store.list()).toHaveLength(10)
})

test('whoever has the most makes room for one that has none', async () => {
  const sessions = open(4)
  const his: HttpSession[] = []
  for (let count = 0; count < 4; count += 1) his.push(await sessions.begin('bob'))
  const hers = await sessions.begin('alice')

  expect(await sessions.find(hers.id, 'alice')).toBe(hers)
  expect(await Promise.all(his.map(sessions.isThere))).toEqual([false, true, true, true])
})

test('a session at work stays: with all of theirs at work, one is refused rather than another pushed out', async () => {
  const sessions = open(3)
  const his = [await sessions.begin('bob'), await sessions.begin('bob')]
  for (const session of his) session.running.set('1', new AbortController())
  const hers = await sessions.begin('alice')

  expect(await sessions.open('bob', TERMS)).toBeUndefined()
  expect(await sessions.find(hers.id, 'alice')).toBe(hers)
  expect(await Promise.all(his.map(sessions.isThere))).toEqual([true, true])
})

test('opened at once, they are no more than the bound', async () => {
  const store = createMemorySessions()
  const sessions = open(5, store)
  await Promise.all(Array.from({ length: 40 }, () => sessions.open('bob', TERMS)))

  expect((await store.list()).length).toBeLessThanOrEqual(5)
})

test('a session is found with its terms by whoever opens the store next; an ended one is not', async () => {
  const store = createMemorySessions()
  const before = open(10, store)
  const kept = await before.begin('alice')
  const ended = await before.begin('alice')
  kept.terms.logLevel = 'warning'
  await kept.save()
  await before.end(ended)
  ended.terms.logLevel = 'debug'
  await ended.save()
  const after = open(10, store)

  expect((await after.find(kept.id, 'alice'))?.terms).toEqual({ ...TERMS, logLevel: 'warning' })
  expect(await after.find(kept.id, 'bob')).toBeUndefined()
  expect(await after.find(ended.id, 'alice')).toBeUndefined()
})

test('one that is opened through another door of the same store is found, and nobody finds it while it ends', async () => {
  const store = createMemorySessions()
  const removing = Promise.withResolvers<void>()
  const slow: SessionStore = {
    ...store,
    remove: async (ids) => {
      await removing.promise
      await store.remove(ids)
    },
  }
  const [one, other] = [open(10, slow), open(10, slow)]
  await one.find('nothing', 'alice')
  const session = await other.begin('alice')
  const found = await one.find(session.id, 'alice')
  if (found === undefined) throw new Error('it was not found')
  const ended = one.end(found)

  expect(await one.find(session.id, 'alice')).toBeUndefined()
  removing.resolve()
  await ended
  expect(await one.find(session.id, 'alice')).toBeUndefined()
})

test('rows that this version cannot read are no sessions, and go', async () => {
  const store = createMemorySessions()
  const kept = await open(10, store).begin('alice')
  const texts = [
    '',
    '[]',
    '{"revision":"2031-01-01","capabilities":{}}',
    '{"revision":"2025-11-25"}',
  ]
  for (const [index, terms] of texts.entries()) {
    await store.save({ id: `odd ${index}`, principal: 'alice', terms, lastUsedAt: 0 })
  }
  const after = open(10, store)

  expect(await after.find('odd 0', 'alice')).toBeUndefined()
  expect(await after.isThere(kept)).toBe(true)
  expect((await store.list()).map(({ id }) => id)).toEqual([kept.id])
})
