/** `comity ledger --verify` as a person uses it: what was done to a store while nobody owned it is named, by exit code too. */
import { appendFileSync, copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  comity,
  comityJson,
  createHome,
  type Home,
  scripted,
  startUp,
} from './comity-process.fixture.ts'

let home: Home

beforeEach(async () => {
  home = createHome()
  home.configure({
    mcpServers: { bank: scripted({ folder: home.path('bank'), tools: TOOLS }) },
    store: 'sqlite:./comity.db',
  })
  expect((await comity(home, 'call', 'bank/look', '{}')).code).toBe(0)
})

afterEach(() => home.remove())

const TOOLS = [
  { name: 'look', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
]
const store = (end = ''): string => home.path(`comity.db${end}`)

test('a sound store: the chain, its checkpoints and the key, with or without an owner', async () => {
  const { code, stdout } = await comity(home, 'ledger', '--verify')
  expect(stdout).toMatch(/^chain verified: \d+ entries$/mu)
  expect(stdout).toMatch(/^checkpoints verified: 1, the newest of entry \d+, \S+; key [\w-]{43}$/mu)
  expect(code).toBe(0)
  const up = await startUp(home)
  expect(await comityJson(home, 'ledger', '--verify')).toMatchObject({
    exit: 0,
    verified: { ok: true, checkpoints: { state: 'proven', count: 1 } },
  })
  await up.stop()
}, 60_000)

test('a tail that was cut together with the head file is found, and comity does not go on from there', async () => {
  const db = new DatabaseSync(store())
  const newest = (): number =>
    Number(db.prepare('SELECT max(seq) AS seq FROM entries').get()?.['seq'])
  // The newest row: what was said of a call at a time is one.
  db.exec(`DELETE FROM entries WHERE seq = ${newest()}; DELETE FROM checkpoints`)
  const end = newest()
  db.close()
  rmSync(store('.head'))
  const { code, stdout } = await comity(home, 'ledger', '--verify')
  expect(stdout).toMatch(
    new RegExp(`CHAIN BROKEN at entry ${end + 1}: the chain was cut: it ends at entry ${end}`, 'u'),
  )
  expect(code).toBe(1)
  const refused = await comity(home, 'call', 'bank/look', '{}')
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('the chain was cut')
}, 60_000)

test('a checkpoint that was changed, a line that is none, and a missing key are each named', async () => {
  const lines = readFileSync(store('.checkpoints'), 'utf8')
  writeFileSync(store('.checkpoints'), lines.replace(/"seq":(\d+)/u, '"seq":1'))
  expect((await comity(home, 'ledger', '--verify')).stdout).toContain('was changed: its signature')
  writeFileSync(store('.checkpoints'), lines)
  appendFileSync(store('.checkpoints'), 'x\n')
  expect((await comity(home, 'ledger', '--verify')).stdout).toContain('is no checkpoint')
  writeFileSync(store('.checkpoints'), lines)
  copyFileSync(store('.checkpoint-key'), store('.saved'))
  rmSync(store('.checkpoint-key'))
  const { code, stdout } = await comity(home, 'ledger', '--verify')
  expect(stdout).toMatch(/CHECKPOINTS NOT PROVEN:\n.*\.checkpoint-key is missing/u)
  expect(code).toBe(1)
  copyFileSync(store('.saved'), store('.checkpoint-key'))
  expect((await comity(home, 'ledger', '--verify')).code).toBe(0)
}, 60_000)
