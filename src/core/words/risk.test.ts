import { expect, test } from 'vitest'
import { graver, riskOf } from './risk.ts'

test('a tool that says nothing is write; reading a resource is read', () => {
  expect(riskOf('tool', {}, true)).toBe('write')
  expect(riskOf('resource', {}, true)).toBe('read')
})

test('readOnlyHint is believed only of a trusted peer; destructiveHint always', () => {
  expect(riskOf('tool', { readOnly: true }, true)).toBe('read')
  expect(riskOf('tool', { readOnly: true }, false)).toBe('write')
  expect(riskOf('tool', { readOnly: true, destructive: true }, true)).toBe('destructive')
})

test('the graver of two wins', () => {
  expect(graver('read', 'destructive')).toBe('destructive')
  expect(graver('write', 'read')).toBe('write')
})
