import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ComityError } from '../core/words/errors.ts'
import { type Link, linkHash } from './chain.ts'
import type { Checkpoint } from './checkpoint.ts'
import { encodeCheckpoint, isSigned, parseCheckpoint } from './checkpoint.ts'
import { loadCheckpointKey, makeCheckpointKey } from './checkpoint-key.ts'
import { openReader, openStore } from './open-sqlite.ts'
import { expandText, textsOf } from './shared-texts.ts'
import type { Verification } from './store.ts'
import { completed, createFolder, createOpening, createTestClock } from './testing/make.ts'

type Folder = ReturnType<typeof createFolder>

const ENDS = ['', '.head', '.checkpoints', '.checkpoint-key']
const clock = createTestClock()
const faults: string[] = []
let made: Folder
let folder: Folder

/** Calls c1 to cN, two entries each; of them a checkpoint after every four entries and at the end. */
async function fill(file: string, calls: readonly number[], entries = 4): Promise<void> {
  const onFault = (fault: ComityError): void => void faults.push(fault.message)
  const store = await openStore({ file, clock, onFault, checkpoints: { entries } })
  for (const id of calls) {
    await store.ledger.open(createOpening(`c${id}`, { actKey: String(id) }))
    await store.ledger.settle(`c${id}`, completed(), { barrier: true })
  }
  await store.close()
}

beforeAll(async () => {
  made = createFolder()
  await fill(made.file, [1, 2, 3, 4, 5])
})
afterAll(() => made.remove())

beforeEach(() => {
  folder = createFolder()
  faults.length = 0
  copy(made, folder)
})
afterEach(() => folder.remove())

function copy(from: Folder, to: Folder, ends = ENDS): void {
  for (const end of ends) copyFileSync(`${from.file}${end}`, `${to.file}${end}`)
}

function change<T>(work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(folder.file)
  try {
    return work(db)
  } finally {
    db.close()
  }
}

async function verify(): Promise<Verification> {
  const reader = openReader(folder.file, clock)
  try {
    return await reader.verify()
  } finally {
    reader.close()
  }
}

async function openingSays(): Promise<string> {
  try {
    await (await openStore({ file: folder.file, clock })).close()
    return 'sound'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function outside(): Checkpoint[] {
  const lines = readFileSync(`${folder.file}.checkpoints`, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => parseCheckpoint(line) ?? expect.fail('a line is no checkpoint'))
}

function writeOutside(lines: readonly Checkpoint[]): void {
  writeFileSync(
    `${folder.file}.checkpoints`,
    lines.map((line) => `${encodeCheckpoint(line)}\n`).join(''),
  )
}

/** The chain from an entry on as one would have it who knows how it is made, and the head file with it. */
function rewrite(from: number, edit: (facts: string) => string): void {
  change((db) => {
    let previous = String(
      db.prepare('SELECT hash FROM entries WHERE seq = ?').get(from - 1)?.['hash'],
    )
    const rows = db
      .prepare(
        `SELECT seq, at, kind, call_id AS callId, task_id AS taskId, facts FROM entries WHERE seq >= ? ORDER BY seq`,
      )
      .all(from)
    for (const row of rows) {
      const facts = edit(expandText(String(row['facts']), textsOf(db)))
      const link = { ...(row as unknown as Link), facts }
      previous = linkHash(previous, link)
      db.prepare('UPDATE entries SET facts = ?, hash = ? WHERE seq = ?').run(
        link.facts,
        previous,
        link.seq,
      )
    }
    const seq = Number(rows.at(-1)?.['seq'])
    writeFileSync(`${folder.file}.head`, `${String(seq).padStart(16)} ${previous}\n`)
  })
}

/** The tail gone from the database and from the head file, and from the database's checkpoints. */
function cutTail(after: number): void {
  change((db) => {
    db.exec(
      `DELETE FROM entries WHERE seq > ${after}; DELETE FROM checkpoints WHERE seq > ${after}`,
    )
  })
  rmSync(`${folder.file}.head`)
}

describe('making them', () => {
  test('after so many entries and at a clean end, in the database and outside, under a key of this user alone', async () => {
    expect(outside().map(({ seq }) => seq)).toEqual([4, 8, 10])
    expect(outside().every(isSigned)).toBe(true)
    for (const end of ['.checkpoints', '.checkpoint-key']) {
      expect(statSync(`${folder.file}${end}`).mode & 0o777).toBe(0o600)
    }
    const key = loadCheckpointKey(folder.file)?.publicKey
    expect(await verify()).toEqual({
      sound: true,
      entries: 10,
      head: outside().at(-1)?.hash,
      checkpoints: {
        state: 'proven',
        count: 3,
        newest: { seq: 10, at: '2026-11-30T00:00:00.000Z' },
        key,
        notes: [],
      },
    })
    const bytes = change((db) => db.prepare('SELECT count(*) AS n FROM checkpoints').get()?.['n'])
    expect(bytes).toBe(3)
    expect(faults).toEqual([])
  })

  test('a store that is opened and closed without a new entry makes none; the next goes on', async () => {
    await fill(folder.file, [])
    expect(outside()).toHaveLength(3)
    await fill(folder.file, [6], 1000)
    expect(outside().map(({ seq }) => seq)).toEqual([4, 8, 10, 12])
    expect(await verify()).toMatchObject({
      sound: true,
      checkpoints: { state: 'proven', count: 4 },
    })
  })

  test('after a while with new entries, without waiting for the next', async () => {
    const store = await openStore({
      file: folder.file,
      clock,
      checkpoints: { entries: 1000, everyMs: 20 },
    })
    await store.ledger.open(createOpening('c6', { actKey: '6' }))
    await expect.poll(() => outside().at(-1)?.seq, { timeout: 20_000 }).toBe(11)
    await store.close()
  })

  test('what a checkpoint does not cover yet is said', async () => {
    const store = await openStore({ file: folder.file, clock })
    await store.ledger.open(createOpening('c6', { actKey: '6' }))
    expect(await store.verify()).toMatchObject({
      sound: true,
      entries: 11,
      checkpoints: { state: 'proven', notes: ['1 entries are newer than the newest checkpoint'] },
    })
    await store.close()
  })

  test('a file that cannot be written refuses no act; it is told once', async () => {
    const fresh = createFolder()
    const store = await openStore({
      file: fresh.file,
      clock,
      onFault: (fault) => void faults.push(fault.message),
      checkpoints: { entries: 1 },
    })
    mkdirSync(`${fresh.file}.checkpoints`)
    for (const id of ['1', '2', '3']) {
      await store.ledger.open(createOpening(`c${id}`, { actKey: id }))
    }
    await store.close()
    expect(faults).toEqual([
      expect.stringMatching(/^no checkpoint could be written .*\.checkpoints/u),
    ])
    fresh.remove()
  })

  test('a last line that a crash cut is no checkpoint and gives way to the next', async () => {
    const whole = readFileSync(`${folder.file}.checkpoints`)
    appendFileSync(`${folder.file}.checkpoints`, whole.subarray(0, 60))
    expect(await verify()).toMatchObject({ sound: true, checkpoints: { count: 3 } })
    await fill(folder.file, [6], 1000)
    expect(outside().map(({ seq }) => seq)).toEqual([4, 8, 10, 12])
  })
})

describe('what they find, though chain and head file agree', () => {
  test('a cut tail', async () => {
    cutTail(9)
    expect(await verify()).toEqual({
      sound: false,
      seq: 10,
      reason: expect.stringMatching(
        /^the chain was cut: it ends at entry 9, though entry 10 was signed on 2026-11-30T.*line 3/u,
      ),
    })
    expect(await openingSays()).toMatch(/the chain was cut: it ends at entry 9/u)
  })

  test('an entry that was changed, and every hash after it made anew', async () => {
    rewrite(3, (facts) => facts.replaceAll('alice', 'mallory'))
    expect(await verify()).toEqual({
      sound: false,
      seq: 4,
      reason: expect.stringContaining('is not the entry that was signed'),
    })
    expect(await openingSays()).toMatch(/entry 10: is not the entry that was signed/u)
  })

  test('another store in its place, with its own head', async () => {
    const other = createFolder()
    await fill(other.file, [1, 2, 3, 4, 5])
    copy(other, folder, ['', '.head'])
    expect(await verify()).toMatchObject({
      sound: false,
      reason: expect.stringContaining('this database took the place of its own'),
    })
    expect(await openingSays()).toContain('is of another store')
    other.remove()
  })

  test('an empty store in its place', async () => {
    for (const end of ['', '.head']) rmSync(`${folder.file}${end}`)
    expect(await openingSays()).toMatch(/gone or empty, though 10 entries were acknowledged/u)
    expect(existsSync(folder.file)).toBe(false)
  })

  test.each([
    ['its hash', (line: Checkpoint) => ({ ...line, hash: 'f'.repeat(64) })],
    ['its entry', (line: Checkpoint) => ({ ...line, seq: line.seq - 1 })],
    ['its time', (line: Checkpoint) => ({ ...line, at: '2020-01-01T00:00:00.000Z' })],
    ['its signature', (line: Checkpoint) => ({ ...line, signature: 'AAAA' })],
  ])('a checkpoint outside with another word for %s', async (_what, edit) => {
    const [first, ...others] = outside()
    if (first === undefined) return expect.fail('there is no checkpoint')
    writeOutside([edit(first), ...others])
    expect(await verify()).toMatchObject({
      sound: false,
      reason: expect.stringMatching(/line 1 of .* was changed: its signature does not fit/u),
    })
  })

  test('a checkpoint in the database that was changed, and a line that is none', async () => {
    change((db) => db.exec(`UPDATE checkpoints SET at = '2020' WHERE seq = 8`))
    expect(await verify()).toMatchObject({
      sound: false,
      seq: 8,
      reason: expect.stringContaining('entry 8 in the database was changed'),
    })
    copy(made, folder)
    appendFileSync(`${folder.file}.checkpoints`, 'nonsense\n')
    expect(await verify()).toMatchObject({
      sound: false,
      reason: expect.stringMatching(/line 4 of .* is no checkpoint/u),
    })
    expect(await openingSays()).toContain('is no checkpoint')
  })

  test('a tail cut and signed anew with a foreign key', async () => {
    cutTail(9)
    const foreign = createFolder()
    const key = makeCheckpointKey(foreign.file, 0)
    const head = change((db) => db.prepare('SELECT seq, hash FROM entries WHERE seq = 9').get())
    const [line] = outside()
    const forged = key.sign(
      { seq: Number(head?.['seq']), hash: String(head?.['hash']) },
      line?.store ?? '',
      '2026-11-30T00:00:00.000Z',
    )
    writeOutside([...outside().slice(0, 2), forged])
    expect(isSigned(forged)).toBe(true)
    expect(await verify()).toMatchObject({
      sound: false,
      seq: 9,
      reason: expect.stringContaining('signed with a foreign key'),
    })
    expect(await openingSays()).toContain('foreign key')
    foreign.remove()
  })
})

describe('what is missing is said', () => {
  test('no checkpoint was ever made', async () => {
    change((db) => db.exec('DELETE FROM checkpoints'))
    for (const end of ['.checkpoints', '.checkpoint-key']) rmSync(`${folder.file}${end}`)
    expect(await verify()).toMatchObject({
      sound: true,
      checkpoints: {
        state: 'none',
        count: 0,
        notes: [expect.stringContaining('no checkpoint yet')],
      },
    })
  })

  test('the key: nothing is proven; opening makes another and puts that on record', async () => {
    const before = loadCheckpointKey(folder.file)?.publicKey
    rmSync(`${folder.file}.checkpoint-key`)
    expect(await verify()).toMatchObject({
      sound: true,
      checkpoints: {
        state: 'unproven',
        notes: [expect.stringMatching(/\.checkpoint-key is missing: anybody could have signed/u)],
      },
    })
    await fill(folder.file, [6])
    expect(faults).toEqual([expect.stringMatching(/\.checkpoint-key was missing .* made anew/u)])
    const verified = await verify()
    expect(verified).toMatchObject({
      sound: true,
      entries: 13,
      checkpoints: {
        state: 'proven',
        notes: [expect.stringMatching(/^3 checkpoints up to entry 10 are of an earlier key/u)],
      },
    })
    expect(verified.sound && verified.checkpoints.key).not.toBe(before)
    const reader = openReader(folder.file, clock)
    expect(reader.entries({ kind: 'recovered' })).toMatchObject([
      { at: '2026-11-30T00:00:00.000Z', facts: { checkpointsLost: ['key'] } },
    ])
    reader.close()
  })

  test('the file outside: nothing is proven; the next checkpoint begins it anew, on record', async () => {
    rmSync(`${folder.file}.checkpoints`)
    expect(await verify()).toMatchObject({
      sound: true,
      checkpoints: {
        state: 'unproven',
        count: 3,
        notes: [
          expect.stringMatching(/\.checkpoints is missing or empty, though the database has 3/u),
        ],
      },
    })
    await fill(folder.file, [6], 1000)
    expect(faults).toEqual([expect.stringMatching(/\.checkpoints was missing .* made anew/u)])
    expect(outside().map(({ seq }) => seq)).toEqual([13])
    expect(await verify()).toMatchObject({
      sound: true,
      checkpoints: { state: 'proven', count: 4 },
    })
  })

  test('a key file that is damaged is said and not replaced', async () => {
    writeFileSync(`${folder.file}.checkpoint-key`, '{"version":1}\n')
    await expect(verify()).rejects.toThrow(/checkpoint-key is damaged/u)
    expect(await openingSays()).toContain('checkpoint-key is damaged')
    expect(readFileSync(`${folder.file}.checkpoint-key`, 'utf8')).toBe('{"version":1}\n')
  })
})
