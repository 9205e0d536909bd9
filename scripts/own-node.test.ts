import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const script = join(import.meta.dirname, 'own-node.cjs')
const { ownNodeComplaint }: { ownNodeComplaint: (version: string) => string | undefined } =
  createRequire(import.meta.url)(script)

test('the Node that the tests run on is the one of the repository', () => {
  expect(ownNodeComplaint(process.version)).toBeUndefined()
  expect(spawnSync(process.execPath, [script])).toMatchObject({ status: 0 })
})

test('another Node is told apart in one line that says what to do', () => {
  const complaint = ownNodeComplaint('v20.20.2')
  expect(complaint).toMatch(/^expected Node v26\.\d+\.\d+, .* got v20\.20\.2 .*run "npm ci" first$/)
  expect(complaint).not.toContain('\n')
})
