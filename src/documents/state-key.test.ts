import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createAnalysisHandles } from './analysis-handle.ts'
import { openStateKey } from './state-key.ts'

const ANALYSED = {
  from: { document: 'docs/a.md', digest: 'sha256:a' },
  to: { document: 'docs/b.md', digest: 'sha256:b' },
}
const DAY = 24 * 3_600_000

function folder(): string {
  const root = mkdtempSync(join(tmpdir(), 'comity-key-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  return root
}

test('the key is made once, for this user alone, and is the same for the next process', () => {
  const root = folder()
  const file = join(root, 'state', 'docs.key')
  const told: string[] = []
  const first = openStateKey(file, (line) => told.push(line))
  expect(first).toHaveLength(32)
  expect(Buffer.from(openStateKey(file, (line) => told.push(line)))).toEqual(Buffer.from(first))
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(join(root, 'state'))).toEqual(['docs.key'])
  expect(told).toEqual([])
})

test.each([
  ['open to others', (file: string) => chmodSync(file, 0o644), /mode 0600/u],
  [
    'of another size',
    (file: string) => writeFileSync(file, 'short'),
    /expected 32 bytes, it has 5/u,
  ],
])('a key file that is %s is not used and not changed, and that is said', (_what, spoil, words) => {
  const file = join(folder(), 'docs.key')
  const first = openStateKey(file, (line) => expect.fail(line))
  spoil(file)
  const before = statSync(file).mtimeMs
  const told: string[] = []
  const second = openStateKey(file, (line) => told.push(line))
  expect(Buffer.from(second)).not.toEqual(Buffer.from(first))
  expect(told).toEqual([expect.stringMatching(words)])
  expect(statSync(file).mtimeMs).toBe(before)
})

test('R063: an id is good for its principal, for a day, under the same key and no other', () => {
  const key = openStateKey(undefined, (line) => expect.fail(line))
  let now = 0
  const issued = createAnalysisHandles(key, () => now).issue('alice', ANALYSED)
  expect(issued.expiresAt).toBe(DAY)
  const later = createAnalysisHandles(key, () => now)
  now = DAY - 1
  expect(later.open(issued.id, 'alice')).toEqual(ANALYSED)
  expect(later.open(issued.id, 'bob')).toHaveProperty('refused')
  const other = createAnalysisHandles(
    openStateKey(undefined, () => undefined),
    () => now,
  )
  expect(other.open(issued.id, 'alice')).toHaveProperty('refused')
  now = DAY
  expect(later.open(issued.id, 'alice')).toEqual({ refused: 'analysis_id: it has expired' })
})
