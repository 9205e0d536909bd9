import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { ComityError } from '../core/words/errors.ts'
import { openReader, openStore } from './open-sqlite.ts'
import {
  completed,
  createFolder,
  createOpening,
  createTask,
  createTestClock,
  OPERATOR,
} from './testing/make.ts'

let made: ReturnType<typeof createFolder>
let folder: ReturnType<typeof createFolder>
const clock = createTestClock()

beforeAll(async () => {
  made = createFolder()
  const store = await openStore({ file: made.file, clock })
  for (const id of ['1', '2', '3', '4']) {
    await store.ledger.open(
      createOpening(`c${id}`, { actKey: id, task: createTask(`t${id}`, 'submitted') }),
    )
    await store.ledger.settle(`c${id}`, completed(), { barrier: true })
  }
  await store.close()
})
afterAll(() => made.remove())

beforeEach(() => {
  folder = createFolder()
  copyFileSync(made.file, folder.file)
  copyFileSync(`${made.file}.head`, `${folder.file}.head`)
})
afterEach(() => folder.remove())

function change(sql: string): void {
  const db = new DatabaseSync(folder.file)
  db.exec(sql)
  db.close()
}

async function openingSays(): Promise<string> {
  try {
    await (await openStore({ file: folder.file, clock })).close()
    return 'sound'
  } catch (error) {
    if (error instanceof ComityError) return `${error.code}: ${error.message}`
    throw error
  }
}

async function verify(): Promise<unknown> {
  const reader = openReader(folder.file, clock)
  try {
    return await reader.verify()
  } finally {
    reader.close()
  }
}

describe('T51: the chain shows', () => {
  test.each([
    [
      'an edited fact',
      `UPDATE entries SET facts = replace(facts, 'alice', 'mallo') WHERE seq = 3`,
      3,
    ],
    ['an edited time', `UPDATE entries SET at = '2020-01-01T00:00:00.000Z' WHERE seq = 4`, 4],
    ['an entry given to another call', `UPDATE entries SET call_id = 'c4' WHERE seq = 2`, 2],
    ['a deleted entry', `DELETE FROM entries WHERE seq = 5`, 5],
    [
      'two entries in another order',
      `UPDATE entries SET seq = -1 WHERE seq = 3; UPDATE entries SET seq = 3 WHERE seq = 4; UPDATE entries SET seq = 4 WHERE seq = -1`,
      3,
    ],
    [
      'an inserted entry',
      `UPDATE entries SET seq = -seq WHERE seq > 4; UPDATE entries SET seq = 1 - seq WHERE seq < 0;
       INSERT INTO entries SELECT 5, at, kind, call_id, task_id, facts, hash FROM entries WHERE seq = 4`,
      5,
    ],
    [
      'an appended entry',
      `INSERT INTO entries VALUES (9, '', 'settled', 'c1', NULL, '{}', 'x')`,
      9,
    ],
    ['a cut tail', `DELETE FROM entries WHERE seq > 6`, 7],
    ['an emptied chain', `DELETE FROM entries`, 1],
    ['the first entries cut off', `DELETE FROM entries WHERE seq < 3`, 1],
    ['another store’s id', `UPDATE store SET id = 'other'`, 1],
  ])('%s', async (_what, sql, seq) => {
    expect(await verify()).toMatchObject({ sound: true, entries: 8 })
    change(sql)
    expect(await verify()).toMatchObject({ sound: false, seq })
    expect(await openingSays()).toMatch(/^store_corrupt: .*entry \d+/)
  })

  test('an older copy put back', async () => {
    const store = await openStore({ file: folder.file, clock })
    await store.ledger.open(createOpening('c5', { actKey: '5' }))
    await store.close()
    copyFileSync(made.file, folder.file)
    expect(await openingSays()).toMatch(/store_corrupt.*acknowledged/)
  })

  test('the store deleted: an empty one does not take its place', async () => {
    rmSync(folder.file)
    expect(await openingSays()).toMatch(/store_corrupt.*8 entries were acknowledged/)
    expect(() => readFileSync(folder.file)).toThrow(/ENOENT/)
  })

  test('not shown, as STORAGE.md says: tail, head file and all checkpoints cut together', async () => {
    change('DELETE FROM entries WHERE seq > 6; DELETE FROM checkpoints')
    rmSync(`${folder.file}.head`)
    expect(await verify()).toMatchObject({ sound: true, entries: 6 })
  })

  test('deleted payloads leave the chain sound; an exchanged one is found', async () => {
    change(
      `UPDATE contents SET salted = CAST(substr(salted, 1, 16) || x'7b7d' AS BLOB)
       WHERE seq = (SELECT opened_seq FROM calls WHERE call_id = 'c1');
       DELETE FROM contents WHERE seq IN (SELECT seq FROM entries WHERE call_id = 'c2')`,
    )
    expect(await verify()).toMatchObject({ sound: true })
    const reader = openReader(folder.file, clock)
    expect(() => reader.call('c1')).toThrow(/does not fit its digest/)
    expect(reader.call('c2')).not.toHaveProperty('arguments')
    reader.close()
  })
})

describe('a file that is no store of ours', () => {
  test.each([
    ['text', () => writeFileSync(folder.file, 'not a database, but long enough to be read as one')],
    ['a half', () => writeFileSync(folder.file, readFileSync(folder.file).subarray(0, 10_000))],
  ])('%s is reported and not recreated', async (_what, damage) => {
    damage()
    const before = readFileSync(folder.file)
    expect(await openingSays()).toMatch(/^store_corrupt/)
    expect(readFileSync(folder.file).equals(before)).toBe(true)
  })

  test("another program's database is left alone", async () => {
    const file = join(folder.path, 'other.sqlite')
    const db = new DatabaseSync(file)
    db.exec('CREATE TABLE precious (x)')
    db.close()
    await expect(openStore({ file, clock })).rejects.toMatchObject({ code: 'store_corrupt' })
  })

  test('a store of a newer version is refused, not guessed at', async () => {
    change('PRAGMA user_version = 99')
    expect(await openingSays()).toMatch(/^not_in_this_version/)
  })
})

/** Everything that a reader can be told, as one text. */
async function view(file: string): Promise<string> {
  const reader = openReader(file, clock)
  try {
    const tasks = await reader.tasks.list(OPERATOR)
    const calls = ['c1', 'c2', 'c3', 'c4'].map((id) => reader.call(id))
    return JSON.stringify([reader.entries({ after: 0 }), tasks, calls, await reader.verify()])
  } finally {
    reader.close()
  }
}

test('C89: one byte flipped anywhere: the store says so, or what it tells is unchanged', async () => {
  const whole = readFileSync(folder.file)
  const expected = await view(folder.file)
  let reported = 0
  for (let index = 0; index < 400; index += 1) {
    // Spread over the file; 2654435761 is prime to every file size.
    const offset = (index * 2_654_435_761) % whole.length
    const file = join(folder.path, `flip-${index}.sqlite`)
    const bytes = Buffer.from(whole)
    bytes[offset] = (bytes[offset] ?? 0) ^ (1 << (index % 8))
    writeFileSync(file, bytes)
    copyFileSync(`${folder.file}.head`, `${file}.head`)
    const told = await view(file).catch((error: unknown) => {
      reported += 1
      return String(error)
    })
    const sound = told === expected || told.includes('"sound":false') || /Error/.test(told)
    expect([offset, sound]).toEqual([offset, true])
    for (const end of ['', '-wal', '-shm', '.head']) rmSync(`${file}${end}`, { force: true })
  }
  expect(reported).toBeGreaterThan(0)
})
