import { expect, test } from 'vitest'
import { chooseScopes, createStepUps, type ScopeWords } from './scopes.ts'

function choose(words: Partial<ScopeWords>): readonly string[] {
  return chooseScopes({ configured: [], earlier: [], wantsRefresh: true, ...words })
}

test('the challenge’s scopes before the metadata’s, and none when nobody names any', () => {
  expect(choose({ challenged: ['a'], resource: ['a', 'b'] })).toEqual(['a'])
  expect(choose({ resource: ['a', 'b'] })).toEqual(['a', 'b'])
  expect(choose({})).toEqual([])
})

test('a step-up asks for what there was and for what is demanded, each once', () => {
  expect(choose({ earlier: ['a', 'b'], challenged: ['b', 'c'] })).toEqual(['a', 'b', 'c'])
})

test('what the operator configured is asked for beside', () => {
  expect(choose({ challenged: ['a'], configured: ['mine', 'a'] })).toEqual(['a', 'mine'])
})

test('offline_access is asked for only where the authorization server lists it, and never alone', () => {
  expect(choose({ resource: ['a'], server: ['a', 'offline_access'] })).toEqual([
    'a',
    'offline_access',
  ])
  expect(choose({ resource: ['a', 'offline_access'], server: ['a'] })).toEqual(['a'])
  expect(choose({ resource: ['a', 'offline_access'] })).toEqual(['a'])
  expect(choose({ server: ['offline_access'] })).toEqual([])
  expect(choose({ resource: ['a'], server: ['offline_access'], wantsRefresh: false })).toEqual([
    'a',
  ])
})

test('what is no scope is not sent, and no more than a hundred are', () => {
  expect(choose({ challenged: ['a"b', 'c d', '', 'ok', 'é'] })).toEqual(['ok'])
  expect(choose({ resource: Array.from({ length: 300 }, (_, i) => `s${i}`) })).toHaveLength(100)
})

test('a server that is never content is asked twice more; after success or a while anew', () => {
  let now = 0
  const stepUps = createStepUps({ now: () => now })
  const admit = (key = 'x') => stepUps.admit(key)
  expect([admit(), admit(), admit(), admit(), admit()]).toEqual([true, true, false, false, false])
  expect(admit('other')).toBe(true)
  stepUps.succeed('x')
  expect(admit()).toBe(true)
  expect([admit(), admit()]).toEqual([true, false])
  now = 600_000
  expect(admit()).toBe(true)
})

test('counts are bounded in number', () => {
  const stepUps = createStepUps({ now: () => 0, limit: 1, maxKeys: 2 })
  for (const key of ['a', 'b', 'c']) stepUps.admit(key)
  expect([stepUps.admit('c'), stepUps.admit('a')]).toEqual([false, true])
})
