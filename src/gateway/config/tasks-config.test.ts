import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { checkConfig } from './load-config.ts'

function check(text: string): unknown {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'comity-tasks-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'comity.yaml')
  writeFileSync(file, text)
  const checked = checkConfig(file, { HOME: folder })
  return 'mistakes' in checked
    ? checked.mistakes.map(({ path, message }) => `${path.join('.')}: ${message}`)
    : checked.config.tasks
}

test('tasks: says when a call becomes one, and for how long it is there', () => {
  expect(check('tasks: { after: 250ms, ttl: 7d, poll: 2s, limit: 12h }')).toEqual({
    afterMs: 250,
    ttlMs: 604_800_000,
    pollMs: 2_000,
    limitMs: 43_200_000,
  })
  expect(check('names: as-is')).toEqual({})
})

test('times that would be of no use are refused with what would be', () => {
  expect(check('tasks: { after: soon, ttl: 5s, poll: 1ms, limit: 30d, every: 1s }')).toEqual([
    expect.stringContaining('tasks.every'),
    expect.stringContaining('tasks.after: expected a duration from 1ms to 10m'),
    expect.stringContaining('tasks.ttl: expected a duration from 1m to 365d'),
    expect.stringContaining('tasks.poll: expected a duration from 100ms to 10m'),
    expect.stringContaining('tasks.limit: expected a duration from 1s to 20d'),
  ])
})
