import { expect, test } from 'vitest'
import { nearest } from './mistakes.ts'

test('nearest finds a slip and leaves what is far off', () => {
  expect(nearest('comand', ['command', 'cwd'])).toBe('command')
  expect(nearest('ulr', ['url', 'env'])).toBe('url')
  expect(nearest('serverless', ['url', 'env'])).toBe(undefined)
})
