import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { McpServerConfig } from './config.ts'
import { checkConfig } from './load-config.ts'
import { parseShare, sayShare } from './share.ts'

function check(server: string): McpServerConfig | readonly string[] {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'comity-canary-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'comity.yaml')
  writeFileSync(file, `mcpServers:\n  docs: { url: "https://docs.example/mcp", ${server} }\n`)
  const checked = checkConfig(file, { HOME: folder })
  if ('mistakes' in checked)
    return checked.mistakes.map(({ path, message }) => `${path.join('.')}: ${message}`)
  const [found] = checked.config.mcpServers
  if (found === undefined) throw new Error('no server')
  return found
}

describe('canary:', () => {
  test('names another revision and a share of callers', () => {
    const server = check('revision: 2025-06-18, canary: { revision: 2026-07-28, share: 12.5% }')
    expect(server).toMatchObject({
      revision: '2025-06-18',
      canary: { revision: '2026-07-28', share: 1250 },
    })
  })

  test('of 2026-07-28 leaves everyone else with 2025-11-25, where nothing else is named', () => {
    expect(check('canary: { revision: "2026-07-28", share: 5% }')).toMatchObject({
      revision: '2025-11-25',
      canary: { revision: '2026-07-28', share: 500 },
    })
  })

  test('of an older revision needs to be told what everyone else is served by', () => {
    expect(check('canary: { revision: 2025-11-25, share: 5% }')).toEqual([
      expect.stringContaining('expected revision: beside canary:'),
    ])
  })

  test('every mistake is told at once, at its place', () => {
    expect(
      check('revision: 2026-07-28, canary: { revision: 2026-07-28, share: 120%, part: 1 }'),
    ).toEqual([
      expect.stringContaining('canary.part: not a key that comity knows'),
      expect.stringContaining('canary.revision: expected another revision'),
      expect.stringContaining('canary.share: expected a share of callers from 0% to 100%'),
    ])
    expect(check('canary: { revision: 2026-07-28, share: 5 }')).toEqual([
      expect.stringContaining('a share of callers, such as 5%'),
    ])
  })
})

test('a share is read and said without loss', () => {
  for (const text of ['0%', '0.01%', '0.5%', '5%', '33.33%', '100%'])
    expect(sayShare(parseShare(text) ?? -1)).toBe(text)
  for (const text of ['5', '100.01%', '0.001%', '-1%', '1e1%', '', '% 5', '５%'])
    expect(parseShare(text)).toBeUndefined()
})
