import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownNodeComplaint } from './own-node.ts'

const root = join(import.meta.dirname, '..')

test('the Node that the tests run on is the one of the repository', () => {
  expect(ownNodeComplaint(root, process.version)).toBeUndefined()
})

test('another Node is told apart in one line that says what to do', () => {
  const complaint = ownNodeComplaint(root, 'v20.20.2')
  expect(complaint).toMatch(/^expected Node v26\.\d+\.\d+, .* got v20\.20\.2 .*npm ci/)
  expect(complaint).not.toContain('\n')
})
