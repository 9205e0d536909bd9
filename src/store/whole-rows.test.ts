import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { linkHash, rowSum } from './chain.ts'
import { checkLinks } from './check-store.ts'
import { ENTRY_COLUMNS, type EntryRow, unfoldRow } from './entry-row.ts'
import { hashAt } from './load-head.ts'
import { openReader, openStore } from './open-sqlite.ts'
import type { Store } from './store.ts'
import {
  completed,
  createCall,
  createFolder,
  createOpening,
  createTestClock,
} from './testing/make.ts'

let folder: ReturnType<typeof createFolder>
const clock = createTestClock()
let store: Store
const faults: string[] = []

beforeEach(async () => {
  folder = createFolder()
  faults.length = 0
  store = await open()
})
afterEach(async () => {
  await store.close()
  folder.remove()
})

function open(): Promise<Store> {
  return openStore({ file: folder.file, clock, onFault: (fault) => faults.push(fault.message) })
}

const PEER = { ours: { roots: {} }, theirs: { tools: { listChanged: true, more: 'x'.repeat(40) } } }
const READ = { sideEffect: false, actKey: '' }
const ROUTE = createCall('').route

function read(callId: string): void {
  const { ledger } = store
  void ledger.open(createOpening(callId, { ...READ, call: createCall(callId, { route: ROUTE }) }))
  clock.move(5)
  ledger.note(callId, { kind: 'dispatched', facts: { ...PEER, revision: 'r', wireId: callId } })
  clock.move(5)
  void ledger.settle(callId, completed(`{"of":"${callId}"}`), { barrier: false })
}

/** Three reads, an act, three reads: 21 entries. */
async function fill(): Promise<void> {
  for (const id of ['r1', 'r2', 'r3']) read(id)
  await store.ledger.open(createOpening('a1'))
  store.ledger.note('a1', { kind: 'dispatched', facts: { ...PEER, revision: 'r', wireId: 'a1' } })
  await store.ledger.settle('a1', completed(), { barrier: true })
  for (const id of ['r4', 'r5', 'r6']) read(id)
  await store.flush()
}

function inside<T>(use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(folder.file)
  try {
    return use(db)
  } finally {
    db.close()
  }
}

function count(table: string): number {
  return inside((db) => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']))
}

describe('a read that is whole takes one row', () => {
  test('and reads back as all its entries, each with its number, time and hash', async () => {
    await fill()
    // The act: its opening, what is noted of it, its barrier.
    expect(count('entries')).toBe(6 + 3)
    expect(count('calls')).toBe(1)
    const entries = store.entries()
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 21 }, (_, at) => at + 1))
    let previous = inside((db) => hashAt(db, 0)) ?? ''
    for (const { at, callId = null, hash, kind, seq } of entries) {
      const facts = inside((db) => factsAt(db, seq))
      previous = linkHash(previous, { seq, at, kind, callId, taskId: null, facts })
      expect(hash).toBe(previous)
      expect(inside((db) => hashAt(db, seq))).toBe(hash)
    }
    const [opened, , settled] = store.entries({ callId: 'r2' })
    expect(Date.parse(settled?.at ?? '') - Date.parse(opened?.at ?? '')).toBe(10)
    expect(await store.verify()).toMatchObject({ sound: true, entries: 21 })
  })

  test('and is found as any other: by number, by kind, from within, up to a limit', async () => {
    await fill()
    const seqs = (query: Parameters<Store['entries']>[0]): number[] =>
      store.entries(query).map(({ seq }) => seq)
    expect(seqs({ after: 1, limit: 3 })).toEqual([2, 3, 4])
    expect(seqs({ after: 8, limit: 2 })).toEqual([9, 10])
    expect(seqs({ limit: 2 })).toEqual([20, 21])
    expect(seqs({ kind: 'dispatched' })).toEqual([2, 5, 8, 11, 14, 17, 20])
    expect(seqs({ kind: 'opened', limit: 2 })).toEqual([16, 19])
    expect(seqs({ kind: 'settled', after: 3, limit: 2 })).toEqual([6, 9])
    expect(seqs({ callId: 'r3', kind: 'opened' })).toEqual([7])
    expect(seqs({ callId: 'r9' })).toEqual([])
  })

  test('and explains itself, with its payloads until they are erased', async () => {
    await fill()
    expect(store.call('r5')).toMatchObject({
      callId: 'r5',
      state: 'settled',
      principal: 'alice',
      sideEffect: false,
      facts: { route: { peer: 'tickets' }, decision: { rule: 'preset personal' } },
      outcome: { state: 'completed', toolError: false },
      entries: [{ kind: 'opened' }, { kind: 'dispatched', facts: PEER }, { kind: 'settled' }],
    })
    const { arguments: args, result } = store.call('r5') ?? {}
    expect(Buffer.from(args?.bytes ?? []).toString()).toBe('{"id":9007199254740993}')
    expect(Buffer.from(result?.bytes ?? []).toString()).toBe('{"of":"r5"}')
    expect(store.payload(result?.digest ?? '')).toEqual(result)
    inside((db) => db.exec('DELETE FROM contents'))
    expect(store.call('r5')).not.toHaveProperty('result')
    expect(store.payload(result?.digest ?? '')).toBeUndefined()
    expect(await store.verify()).toMatchObject({ sound: true })
  })

  test('and takes no further word', async () => {
    await fill()
    const said = store.settleByHand('r1', { as: 'ran', by: 'alice', note: '' })
    await expect(said).rejects.toMatchObject({ code: 'conflict' })
    void store.ledger.settle('r1', completed(), { barrier: false })
    await store.flush()
    expect(faults).toEqual([expect.stringContaining('r1 is settled already')])
  })
})

test('what many entries share is stored once, from its second time on, and known again after a restart', async () => {
  await fill()
  const texts = count('texts')
  expect(texts).toBeGreaterThanOrEqual(2)
  await store.close()
  store = await open()
  read('again')
  await store.flush()
  expect(count('texts')).toBe(texts)
  const newest = inside((db) => rowsOf(db).at(-1))
  expect(newest?.facts).not.toContain(ROUTE.exposed)
  expect(newest?.facts).not.toContain('listChanged')
  expect(store.call('again')?.facts).toMatchObject({ route: { peer: 'tickets' } })
  expect(await store.verify()).toMatchObject({ sound: true })
})

test('facts that hold shared texts keep to their bound when they are in full', async () => {
  const declared = { theirs: { text: 't'.repeat(15_000) }, ours: { text: 'o'.repeat(1990) } }
  for (const id of ['r1', 'r2', 'r3']) {
    void store.ledger.open(createOpening(id, READ))
    store.ledger.note(id, { kind: 'dispatched', facts: { ...declared, revision: 'r', wireId: id } })
    void store.ledger.settle(id, completed(), { barrier: false })
  }
  await store.flush()
  expect(store.entries({ kind: 'dispatched' }).map(({ facts }) => Object.keys(facts))).toEqual([
    ['tooLong'],
    ['tooLong'],
    ['tooLong'],
  ])
  expect(await store.verify()).toMatchObject({ sound: true })
})

test.each([
  [
    'a fact',
    `UPDATE entries SET facts = replace(facts, '"ran":"yes"', '"ran":"no"') WHERE seq = 6`,
  ],
  [
    'a time inside',
    `UPDATE entries SET facts = replace(facts, 'opened 17', 'opened 16') WHERE seq = 6`,
  ],
  [
    'no time inside',
    `UPDATE entries SET facts = replace(facts, 'opened 17', 'opened x') WHERE seq = 6`,
  ],
  ['its time', `UPDATE entries SET at = '2020-01-01T00:00:00.000Z' WHERE seq = 6`],
  ['its call', `UPDATE entries SET call_id = 'r1' WHERE seq = 6`],
  [
    'a kind inside',
    `UPDATE entries SET facts = replace(facts, 'dispatched', 'answered') WHERE seq = 6`,
  ],
  ['its kind', `UPDATE entries SET kind = 'settled' WHERE seq = 6`],
  [
    'an entry left out',
    `UPDATE entries SET facts = substr(facts, instr(facts, 'dispatched')) WHERE seq = 6`,
  ],
  ['a shared text', `UPDATE texts SET text = replace(text, 'tickets', 'tockets')`],
  ['a shared text gone', `DELETE FROM texts`],
  ['the row gone', `DELETE FROM entries WHERE seq = 6`],
])('the chain shows what was changed in such a row: %s', async (_what, sql) => {
  await fill()
  await store.close()
  inside((db) => db.exec(sql))
  const reader = openReader(folder.file, clock)
  expect(await reader.verify()).toMatchObject({ sound: false })
  reader.close()
  await expect(open()).rejects.toMatchObject({ code: 'store_corrupt' })
  inside((db) => {
    expect(checkLinks(db, 0, 100).fault).toBeDefined()
  })
})

test('what is said of an act after its opening is one row, in the commit that it comes with', async () => {
  await store.ledger.open(createOpening('a1'))
  store.ledger.note('a1', { kind: 'dispatched', facts: { ...PEER, revision: 'r', wireId: 'a1' } })
  clock.move(5)
  void store.ledger.settle('a1', completed('{"x":1}'), { barrier: false })
  await store.flush()
  expect(count('entries')).toBe(2)
  expect(store.call('a1')).toMatchObject({
    state: 'settled',
    sideEffect: true,
    entries: [{ kind: 'opened' }, { kind: 'dispatched' }, { kind: 'settled', seq: 3 }],
  })
  expect(Buffer.from(store.call('a1')?.result?.bytes ?? []).toString()).toBe('{"x":1}')
  expect(await store.verify()).toMatchObject({ sound: true, entries: 3 })
})

test('facts whose shared texts are gone are told as damage', async () => {
  await fill()
  inside((db) => db.exec('DELETE FROM texts'))
  const reader = openReader(folder.file, clock)
  expect(() => reader.entries()).toThrow(/cannot be read.*ledger --verify/)
  expect(() => reader.call('r5')).toThrow(/cannot be read/)
  reader.close()
})

test('links are checked from an entry within a row on', async () => {
  await fill()
  inside((db) => {
    for (let after = 0; after < 21; after += 1)
      expect(checkLinks(db, after, 100)).toEqual({ reached: 21 })
  })
})

test('a store of before is read as it was and goes on', async () => {
  await fill()
  const before = { entries: store.entries(), call: store.call('r2'), act: store.call('a1') }
  await store.close()
  inside(toFormOfBefore)
  const reader = openReader(folder.file, clock)
  expect(reader.entries()).toEqual(before.entries)
  expect(reader.call('r2')).toEqual(before.call)
  reader.close()
  store = await open()
  expect(store.call('a1')).toEqual(before.act)
  expect(store.payload(before.call?.result?.digest ?? '')).toEqual(before.call?.result)
  read('new')
  await store.flush()
  expect(store.entries()).toHaveLength(24)
  expect(await store.verify()).toMatchObject({ sound: true, entries: 24 })
})

/** The facts of one entry in full. */
function factsAt(db: DatabaseSync, seq: number): string {
  const links = rowsOf(db).flatMap((row) => unfoldRow(db, row))
  return links.find((link) => link.seq === seq)?.facts ?? ''
}

function rowsOf(db: DatabaseSync): EntryRow[] {
  const rows = db.prepare(`SELECT ${ENTRY_COLUMNS} FROM entries ORDER BY seq`).all()
  return rows.map((row) => row as unknown as EntryRow)
}

/** One row an entry with its facts in full, one a call, payloads by their calls. */
function toFormOfBefore(db: DatabaseSync): void {
  const links = rowsOf(db).flatMap((row) => unfoldRow(db, row))
  let hash = hashAt(db, 0) ?? ''
  db.exec('DELETE FROM entries')
  for (const link of links) {
    hash = linkHash(hash, link)
    const { seq, at, kind, callId, taskId, facts } = link
    db.prepare('INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)').run(
      seq,
      at,
      kind,
      callId,
      taskId,
      facts,
      hash,
    )
    const said = JSON.parse(facts) as Record<string, { bytes: number; digest: string } | undefined>
    const name = kind === 'opened' ? 'arguments' : 'result'
    const salted = db.prepare('SELECT salted FROM contents WHERE seq = ?').get(seq)?.['salted']
    if (!(salted instanceof Uint8Array)) continue
    db.prepare('INSERT INTO payloads VALUES (?, ?, ?, ?, ?, ?)').run(
      said[name]?.digest ?? '',
      callId,
      name,
      said[name]?.bytes ?? 0,
      salted.subarray(0, 16),
      salted.subarray(16),
    )
    if (kind !== 'settled' || callId === 'a1') continue
    const opened = links.find((one) => one.callId === callId)
    const columns = [
      callId,
      opened?.seq ?? 0,
      Date.UTC(2026, 10, 30),
      'settled',
      0,
      null,
      'alice',
      null,
      facts,
      Date.parse(at),
      null,
      null,
    ]
    db.prepare('INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(
      ...columns,
      rowSum(...columns),
    )
  }
  db.exec('DROP TABLE contents; DROP TABLE texts; PRAGMA user_version = 8')
}
