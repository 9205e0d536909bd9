import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../config/load-config.ts'
import { quickStore } from './quick-store.ts'

let folder: string
const ENV = { HOME: '/home/somebody', XDG_STATE_HOME: '/state' }

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'comity-quick-')))
})
afterEach(() => rmSync(folder, { recursive: true }))

const PEER = 'mcpServers:\n  a: { command: node }\n'

test.each([
  ['no store', PEER],
  ['the default', `${PEER}store: sqlite\n`],
  ['a file', `store: sqlite:./comity.db\n${PEER}`],
  ['quoted', `${PEER}store: "sqlite:./my store.db"\n`],
  ['single quotes and a comment', `${PEER}"store" : 'sqlite:../x.db' # here\n`],
  ['plain with a comment', `${PEER}store: sqlite:x.db   # here\n`],
  ['a store of somebody else’s', `mcpServers:\n  store: { command: node }\n`],
  ['JSON', JSON.stringify({ store: 'sqlite:./j.db', mcpServers: { a: { command: 'node' } } })],
  ['an absolute path', `${PEER}store: sqlite:/var/lib/c.db\n`],
])('tells the same as the whole configuration: %s', (_name, text) => {
  const file = join(folder, 'comity.yaml')
  writeFileSync(file, text)
  const whole = loadConfig(file, ENV)
  expect(quickStore(file, ENV)).toEqual({ file: whole.file, store: whole.store })
})

test.each([
  ['an anchor', `store: &s sqlite:./a.db\n`],
  ['a block', `store: >-\n  sqlite:./a.db\n`],
  ['an escape', `store: "sqlite:\\x2fa.db"\n`],
  ['twice', `store: sqlite:a.db\nstore: sqlite:b.db\n`],
  ['documents', `---\nstore: sqlite:a.db\n`],
  ['a complex key', `? store\n: sqlite:a.db\n`],
  ['no text', 'store:\n'],
])('leaves to the parser what is not plain: %s', (_name, text) => {
  const file = join(folder, 'comity.yaml')
  writeFileSync(file, text)
  expect(quickStore(file, ENV)).toBeUndefined()
})

test('a link names the file that it points to; one that is not there is no guess', () => {
  writeFileSync(join(folder, 'real.yaml'), PEER)
  symlinkSync(join(folder, 'real.yaml'), join(folder, 'comity.yaml'))
  expect(quickStore(join(folder, 'comity.yaml'), ENV)?.file).toBe(join(folder, 'real.yaml'))
  expect(quickStore(join(folder, 'none.yaml'), ENV)).toBeUndefined()
})
