import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkLayers } from './layers.ts'

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'comity-layers-'))
  write('package.json', '{ "name": "comity", "dependencies": { "undici": "1.0.0" } }')
})
afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

test('a tree in order has no faults, and is measured', () => {
  write('src/core/gate.ts', 'export function gate() {\n  return 1\n}\n')
  write(
    'src/mcp/client.ts',
    `import { Pool } from 'undici'\nimport { gate } from '../core/gate.ts'\n`,
  )
  write('src/store/migrations/0001.sql', 'select 1')
  expect(checkLayers(root)).toEqual({
    faults: [],
    notes: [
      'waiting  J1, a tool call relayed: not built until gateway/http is there',
      'waiting  J2, a delegation: not built until gateway/http is there',
      'waiting  what no door reaches: not told until src/index.ts and src/cli/main.ts are there',
      'lines    2 files: median 2, p90 3, largest 3 (src/core/gate.ts)',
      'lines    1 functions: median 3, p90 3, largest 3 (src/core/gate.ts:1)',
      'read     2 files, 0 of them tests',
    ],
  })
})

test('every fault of a tree is told with its place, imports and names alike', () => {
  write('src/core/gate.ts', `import { a } from '../mcp/a.ts'\n\nimport { b } from 'undici'\n`)
  write('src/mcp/utils.ts', '')
  write('src/mcp/Client.ts', '')
  write('src/mcp/old.js', '')
  write('src/mcp/.oxlintrc.json', '{}')
  write('src/lib/a.ts', '')
  write('examples/story/host.ts', `import { gate } from '../../src/core/gate.ts'`)
  expect(checkLayers(root).faults.toSorted()).toEqual([
    'examples/story/host.ts:1 an example imports comity by its name, not src/core/gate.ts',
    'src/core/gate.ts:1 core may not import from mcp/a.ts',
    'src/core/gate.ts:3 core may not import the package undici',
    'src/lib/a.ts:1 src/lib is not in the table of scripts/folders.ts',
    'src/mcp/.oxlintrc.json:1 the rules are in one place, at the root',
    'src/mcp/Client.ts:1 file names are kebab-case',
    'src/mcp/old.js:1 source is .ts, one kind of module',
    'src/mcp/utils.ts:1 a drawer, not a name',
  ])
})

test('a built journey without its files is a fault', () => {
  write('src/gateway/http.ts', '')
  expect(checkLayers(root).faults).toContain(
    'J1, a tool call relayed, call: src/mcp/downstream/modern.ts does not exist',
  )
})

test('what no published door reaches is told, once both doors are there', () => {
  write('src/index.ts', `export { open } from './gateway/open.ts'`)
  write('src/gateway/open.ts', `export const open = new URL(\`./work.\${form}\`, import.meta.url)`)
  write('src/gateway/work.ts', '')
  write('src/gateway/peer.fixture.ts', '')
  write('src/gateway/open.test.ts', `import { left } from './left.ts'`)
  write('src/gateway/left.ts', '')
  expect(checkLayers(root).faults).toEqual([])
  write('src/cli/main.ts', '')
  expect(checkLayers(root).faults).toEqual([
    expect.stringContaining('src/gateway/left.ts is reached by no'),
  ])
})
