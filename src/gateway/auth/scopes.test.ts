import { expect, test } from 'vitest'
import { chooseScopes, splitScopes, type ScopeWords } from './scopes.ts'

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

test('of what a server says only scopes are taken', () => {
  expect(splitScopes('read  a:b/c?d "q" back\\slash \u001b[31m new\nline ü')).toEqual([
    'read',
    'a:b/c?d',
  ])
  expect(splitScopes(`read ${'x'.repeat(257)} ${'y '.repeat(20_000)}`).length).toBeLessThan(9000)
})
