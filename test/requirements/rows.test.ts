import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listFiles } from '../../scripts/source-tree.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const HERE = 'test/requirements/'

/** Every id of a kind that a test's text names. */
function cited(pattern: RegExp): ReadonlySet<string> {
  const tests = ['src', 'test', 'examples', 'scripts'].flatMap((folder) => listFiles(ROOT, folder))
  const texts = tests
    .filter((path) => path.endsWith('.test.ts') && !path.startsWith(HERE))
    .map((path) => readFileSync(join(ROOT, path), 'utf8'))
  return new Set(texts.flatMap((text) => text.match(pattern) ?? []))
}

test('every requirement that a test names is written down, and none is written down that no test names', () => {
  const rows = JSON.parse(readFileSync(join(ROOT, HERE, 'rows.json'), 'utf8')) as readonly {
    readonly id: string
  }[]
  expect(rows.map(({ id }) => id).sort()).toEqual([...cited(/\bR[0-9]{3}\b/gu)].sort())
})

test('every case in test/cases is named by a test', () => {
  const cases = readdirSync(join(ROOT, 'test', 'cases')).map((file) => file.slice(0, 3))
  const named = cited(/\bC[0-9]{2}\b/gu)
  expect(cases.length).toBeGreaterThan(15)
  expect(cases.filter((id) => !named.has(id))).toEqual([])
})
