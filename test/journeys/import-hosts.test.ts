/** `comity import` from the command line: what is shown is what is done, and `--undo` gives every byte back. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { comity, createHome, type Home, scripted } from './comity-process.fixture.ts'

let home: Home

beforeEach(() => {
  home = createHome()
})

afterEach(() => home.remove())

function put(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

test('servers of Codex and of a project are taken, run through comity, and given back', async () => {
  const peer = scripted({ folder: home.path('bank'), tools: [{ name: 'look' }] })
  const args = peer.args.map((word) => JSON.stringify(word)).join(', ')
  const codexText = `model = "o" # mine\n\n[mcp_servers.bank]\ncommand = ${JSON.stringify(peer.command)}\nargs = [${args}]\n`
  const codex = put(home.path('.codex/config.toml'), codexText)
  const teamText = '{ "mcpServers": { "asks": { "command": "${TEAM_BIN}/x" } } }\n'
  const team = put(home.path('.mcp.json'), teamText)
  const config = home.path('own', 'comity.yaml')

  const shown = await comity(home, 'import', '--dry-run', '-c', config)
  expect(shown.stdout).toContain('bank (bank in codex)')
  expect(shown.stdout).toContain('stays in Claude Code in this project: asks: it needs TEAM_BIN')
  expect(shown.stdout).toContain('--dry-run: nothing was written')
  expect(readFileSync(codex, 'utf8')).toBe(codexText)

  expect((await comity(home, 'import', '--yes', '-c', config)).code).toBe(0)
  const pointed = readFileSync(codex, 'utf8')
  expect(pointed).toMatch(/^model = "o" # mine\n\n\n\[mcp_servers\.comity\]\ncommand = /u)
  expect(pointed).not.toContain('--standalone')
  expect(readFileSync(team, 'utf8')).toBe(teamText)
  expect((await comity(home, 'ls', '-c', config)).stdout).toContain('look')

  const undone = await comity(home, 'import', '--undo', '-c', config)
  expect(undone).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('restored byte for byte'),
  })
  expect(readFileSync(codex, 'utf8')).toBe(codexText)
}, 60_000)
