import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkConfig } from '../src/gateway/config/load-config.ts'

const README = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')

test('the configuration in the README loads as it stands', () => {
  const yaml = /```yaml\n([\s\S]*?)```/u.exec(README)?.[1] ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'comity-readme-'))
  try {
    mkdirSync(join(folder, 'secrets'))
    writeFileSync(join(folder, 'secrets', 'tickets'), 'a-token\n')
    writeFileSync(join(folder, 'comity.yaml'), yaml)
    const checked = checkConfig(join(folder, 'comity.yaml'), {})
    expect('mistakes' in checked ? checked.mistakes : []).toEqual([])
    expect('config' in checked && checked.config.peers).toEqual(['files', 'tickets', 'research'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('every command in the README exists, and every command there is stands in it', async () => {
  const main = readFileSync(join(import.meta.dirname, '..', 'src', 'cli', 'main.ts'), 'utf8')
  const commands = [...main.matchAll(/(?:add\(\s*program,\s*|\.command\()'([a-z]+)/gu)].map(
    (found) => found[1] ?? '',
  )
  expect(commands.length).toBeGreaterThan(15)
  for (const command of commands)
    expect(README, command).toMatch(new RegExp(`\\b${command}\\b`, 'u'))
  for (const [, named] of README.matchAll(/`comity ([a-z]+)/gu)) expect(commands).toContain(named)
})
