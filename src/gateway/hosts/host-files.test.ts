import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hostFiles, readHostFile } from './host-files.ts'

let home: string

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'comity-hosts-'))
})

afterEach(() => {
  rmSync(home, { recursive: true, force: true })
})

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

describe('where hosts keep their files', () => {
  test('by platform', () => {
    const claudeOn = (platform: NodeJS.Platform, env = {}): string | undefined =>
      hostFiles({ platform, home: '/h', env })[0]?.path
    expect(claudeOn('darwin')).toBe(
      '/h/Library/Application Support/Claude/claude_desktop_config.json',
    )
    expect(claudeOn('linux')).toBe('/h/.config/Claude/claude_desktop_config.json')
    expect(claudeOn('win32', { APPDATA: '/roaming' })).toBe(
      '/roaming/Claude/claude_desktop_config.json',
    )
    expect(hostFiles({ platform: 'linux', home: '/h', env: {} })[1]?.path).toBe(
      '/h/.cursor/mcp.json',
    )
  })

  test('what cannot be used is said without quoting it', () => {
    const [file] = hostFiles({ platform: 'linux', home, env: {} })
    if (file === undefined) throw new Error('expected a place')
    const problemOf = (text: string): unknown => {
      put(file.path, text)
      return readHostFile(file)
    }
    expect(readHostFile(file)).toBe(undefined)
    expect(problemOf('{"mcpServers": {"a": hunter2}}')).toEqual({
      problem: 'it is not JSON: line 1: expected a value, got something else',
    })
    expect(problemOf('{\n "a": 1')).toEqual({
      problem: 'it is not JSON: line 2: expected , or }, got the end',
    })
    expect(problemOf('[]')).toEqual({ problem: 'it is no JSON object' })
    expect(problemOf('{"mcpServers": []}')).toEqual({ problem: 'its mcpServers is no JSON object' })
    expect(problemOf('{"mcpServers": {}, "mcpServers": {}}')).toEqual({
      problem: 'it has mcpServers twice',
    })
    expect(problemOf('{ /* no end')).toEqual({
      problem: 'it is not JSON: line 1: expected the end of a comment (*/), got something else',
    })
    expect(problemOf(`{"a":${'['.repeat(200)}`)).toMatchObject({
      problem: expect.stringContaining('100 levels'),
    })
    expect(problemOf('')).not.toHaveProperty('problem')
    expect(problemOf('{}')).not.toHaveProperty('problem')
  })

  test('a text of megabytes beside the servers is no problem', () => {
    const file = hostFiles({ platform: 'linux', home, env: {} }).find(
      ({ host }) => host === 'claude-code',
    )
    if (file === undefined) throw new Error('expected a place')
    const history = 'pasted \\ "text"\n'.repeat(500_000)
    put(file.path, JSON.stringify({ history, mcpServers: { a: { command: 'x' } } }))
    expect(readHostFile(file)).toMatchObject({ servers: { servers: [{ name: 'a' }] } })
  })
})
