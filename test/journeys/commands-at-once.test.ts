/** Commands without `comity up`: one owns the store for a moment, the others wait for it or go through it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  comity,
  comityJson,
  createHome,
  type Home,
  linesOf,
  type Running,
  scripted,
  start,
  until,
} from './comity-process.fixture.ts'
import { writeFileSync } from 'node:fs'

let home: Home

beforeAll(() => {
  home = createHome()
  const tools = ['write', 'slow'].map((name) => ({ name, inputSchema: { type: 'object' } }))
  home.configure({
    mcpServers: {
      peer: scripted({ folder: home.path('peer'), tools }),
      other: scripted({ folder: home.path('other'), tools }),
    },
    store: 'sqlite:./own.db',
  })
})
const started: Running[] = []
afterAll(async () => {
  for (const running of started) await running.stop('SIGKILL')
  home?.remove()
})

function begin(...args: string[]): Running {
  const running = start(home, args)
  started.push(running)
  return running
}

const runs = (peer: string): readonly string[] => linesOf(home.path(peer, 'runs'))

test('six at once all run, each once, and the record is whole', async () => {
  const ended = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((n) => comity(home, 'call', 'peer/write', `{"n":${n}}`)),
  )

  for (const { code, stderr } of ended)
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^completed \(c-\w+\)\n$/u)])
  expect(runs('peer').toSorted()).toEqual([1, 2, 3, 4, 5, 6].map((n) => `write {"n":${n}}`))
  expect(await comityJson(home, 'ledger', '--verify')).toMatchObject({ verified: { ok: true } })
}, 120_000)

test('the one that owns the store stays until those that go through it are done', async () => {
  const owner = begin('call', 'peer/slow', '{"who":"owner"}')
  await until('the owner runs', () => runs('peer').includes('slow {"who":"owner"}') || undefined)
  const guest = begin('call', 'peer/slow', '{"who":"guest"}')
  await until('the guest runs', () => runs('peer').includes('slow {"who":"guest"}') || undefined)
  owner.signal('SIGINT')
  await until('the owner has its answer', () => owner.stderr().includes('settle c-') || undefined)
  writeFileSync(home.path('peer', 'release'), '')

  expect(await guest.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('slow ran') })
  await owner.ended
}, 120_000)

test('one that needs a peer which the owner has not started waits for the store, and says who has it', async () => {
  const owner = begin('call', 'other/slow', '{}')
  await until('the owner runs', () => runs('other').includes('slow {}') || undefined)
  const seen = await comity(home, 'ledger', '--limit', '1')
  const late = await comity(home, 'call', 'peer/write', '{"n":7}')
  writeFileSync(home.path('other', 'release'), '')

  expect(seen.code).toBe(0)
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining(`process ${owner.pid}`) })
  expect((await owner.ended).code).toBe(0)
  expect((await comity(home, 'call', 'peer/write', '{"n":7}')).code).toBe(0)
}, 120_000)
