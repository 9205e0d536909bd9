import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { ComityError } from '../core/words/errors.ts'
import { createFolder } from './testing/make.ts'
import { runChild } from './testing/run-child.ts'
import { openTokenFile, tokenFileOf, type TokenFile, type TokenFileOptions } from './tokens.ts'
import { tokenKeyFileOf } from './tokens-seal.ts'

const ALICE = ['tokens', 'alice', 'docs'] as const
const BOB = ['tokens', 'bob', 'docs'] as const
const KEY = Buffer.alloc(32, 7).toString('base64')

let folder: ReturnType<typeof createFolder>
const opened: TokenFile[] = []

beforeEach(() => {
  folder = createFolder()
})
afterEach(() => {
  for (const file of opened.splice(0)) file.close()
  folder.remove()
})

function open(options: Partial<TokenFileOptions> = {}): TokenFile {
  const file = openTokenFile({ store: folder.file, ...options })
  opened.push(file)
  return file
}

function refusal(work: () => unknown): ComityError {
  try {
    work()
  } catch (error) {
    if (error instanceof ComityError) return error
    throw error
  }
  throw new Error('it was not refused')
}

/** Changes the file behind its users' backs. */
function tamper(sql: string): void {
  const db = new DatabaseSync(tokenFileOf(folder.file))
  db.exec(sql)
  db.close()
}

describe('texts by place and version', () => {
  test('what was saved is there, in another opening of the file too', () => {
    const file = open()
    expect(file.load(ALICE)).toBeUndefined()
    expect(file.save(ALICE, 'one', 0)).toBe(true)
    expect(open().load(ALICE)).toEqual({ version: 1, text: 'one' })
    expect(file.load(BOB)).toBeUndefined()
  })

  test('a newer text is neither overwritten nor removed by who knows an older one', () => {
    const file = open()
    file.save(ALICE, 'one', 0)
    expect(open().save(ALICE, 'two', 1)).toBe(true)
    expect(file.save(ALICE, 'stale', 1)).toBe(false)
    expect(file.save(ALICE, 'stale', 0)).toBe(false)
    expect(file.remove(ALICE, 1)).toBe(false)
    expect(file.load(ALICE)).toEqual({ version: 2, text: 'two' })
  })

  test('what was removed stays removed for who still holds its version, and never has that version again', () => {
    const file = open()
    file.save(ALICE, 'one', 0)
    expect(file.remove(ALICE, 1)).toBe(true)
    expect(file.load(ALICE)).toBeUndefined()
    expect(file.versionOf(ALICE)).toBe(0)
    expect(file.save(ALICE, 'from a renewal under way', 1)).toBe(false)
    expect(file.save(ALICE, 'logged in anew', 0)).toBe(true)
    expect(file.load(ALICE)).toEqual({ version: 3, text: 'logged in anew' })
    expect(file.remove(ALICE, 1)).toBe(false)
  })

  test('places are found by their beginning; removed ones are none', () => {
    const file = open()
    file.save(['tokens', 'alice', 'docs', 'https://a'], 'x', 0)
    file.save(['tokens', 'alice', 'docs', 'https://b'], 'x', 0)
    file.save(['tokens', 'alice', 'docs2', 'https://a'], 'x', 0)
    file.save(['tokens', 'alice', 'docs', 'https://gone'], 'x', 0)
    file.remove(['tokens', 'alice', 'docs', 'https://gone'], 1)
    expect(file.places(ALICE)).toEqual([
      ['tokens', 'alice', 'docs', 'https://a'],
      ['tokens', 'alice', 'docs', 'https://b'],
    ])
  })

  test('the revision moves with every write of anybody, and only then', () => {
    const [mine, other] = [open(), open()]
    const before = mine.revision()
    expect(mine.revision()).toBe(before)
    other.save(ALICE, 'one', 0)
    const after = mine.revision()
    expect(after).not.toBe(before)
    mine.save(ALICE, 'two', 1)
    expect(mine.revision()).not.toBe(after)
  })
})

describe('sealing', () => {
  test('no text lies in the file as it is, and file and key are this user alone', () => {
    const file = open()
    file.save(ALICE, 'a very secret token', 0)
    for (const suffix of ['', '-wal']) {
      const bytes = readFileSync(`${tokenFileOf(folder.file)}${suffix}`)
      expect(bytes.includes('a very secret token')).toBe(false)
    }
    const modes = [tokenFileOf(folder.file), tokenKeyFileOf(folder.file)].map(
      (path) => statSync(path).mode & 0o777,
    )
    expect(modes).toEqual([0o600, 0o600])
  })

  test('a changed value is told, and can be removed', () => {
    const file = open()
    file.save(ALICE, 'a very secret token', 0)
    tamper('UPDATE sealed SET value = zeroblob(60)')
    const { code, message } = refusal(() => file.load(ALICE))
    expect([code, message]).toEqual([
      'store_corrupt',
      expect.stringMatching(/the tokens of alice, docs do not open.*Log out and in again/),
    ])
    expect(message).not.toContain('secret')
    expect(file.remove(ALICE, file.versionOf(ALICE))).toBe(true)
    expect(file.load(ALICE)).toBeUndefined()
  })

  test("another's row put in one's place does not open", () => {
    const file = open()
    file.save(ALICE, 'of alice', 0)
    file.save(BOB, 'of bob', 0)
    tamper(
      `UPDATE sealed SET value = (SELECT value FROM sealed WHERE place LIKE '%bob%') WHERE place LIKE '%alice%'`,
    )
    expect(refusal(() => file.load(ALICE)).code).toBe('store_corrupt')
    expect(file.load(BOB)?.text).toBe('of bob')
  })

  test('a text under another version than its own does not open', () => {
    const file = open()
    file.save(ALICE, 'of alice', 0)
    tamper('UPDATE sealed SET version = 9')
    expect(refusal(() => file.load(ALICE)).code).toBe('store_corrupt')
  })

  test('a key from outside is used instead of a file, and none is made', () => {
    open({ key: KEY }).save(ALICE, 'one', 0)
    expect(() => statSync(tokenKeyFileOf(folder.file))).toThrow('ENOENT')
    expect(open({ key: Buffer.alloc(32, 7).toString('hex') }).load(ALICE)?.text).toBe('one')
  })

  test('another key is told from damage, and does not show the key', () => {
    open({ key: KEY }).save(ALICE, 'one', 0)
    const other = Buffer.alloc(32, 8).toString('base64')
    const { code, message } = refusal(() => open({ key: other }))
    expect([code, message]).toEqual([
      'store_corrupt',
      expect.stringContaining('COMITY_TOKEN_KEY is not the key that'),
    ])
    expect(message).not.toContain(other)
  })

  test('a key that is none is a mistake of the configuration', () => {
    const { code, message } = refusal(() => open({ key: 'hunter2' }))
    expect(code).toBe('config_invalid')
    expect(message).not.toContain('hunter2')
  })

  test('a key file that others can read is refused', () => {
    open()
    chmodSync(tokenKeyFileOf(folder.file), 0o640)
    const { code, message } = refusal(() => open())
    expect(code).toBe('not_allowed')
    expect(message).toContain(`chmod 600 ${tokenKeyFileOf(folder.file)}`)
  })

  test('a lost or damaged key file is told, and not replaced while there are tokens', () => {
    open().save(ALICE, 'one', 0)
    writeFileSync(tokenKeyFileOf(folder.file), 'half a k')
    expect(refusal(() => open()).message).toContain('holds no key')
    rmSync(tokenKeyFileOf(folder.file))
    expect(refusal(() => open()).message).toContain('is missing')
  })

  test('what is no token file is left alone', () => {
    writeFileSync(tokenFileOf(folder.file), 'something else entirely, and long enough to be read')
    expect(refusal(() => open()).code).toBe('store_corrupt')
    rmSync(tokenFileOf(folder.file))
    tamper('CREATE TABLE other (x)')
    expect(refusal(() => open()).message).toContain('holds no tokens of comity')
  })
})

describe('one at a time', () => {
  test('within a process each waits for the one before, also after one that fails', async () => {
    const file = open()
    const order: string[] = []
    const step = (name: string, fails = false) =>
      file.exclusively(ALICE, async () => {
        order.push(`${name} begins`)
        await new Promise((resolve) => setImmediate(resolve))
        order.push(`${name} ends`)
        if (fails) throw new Error('as it happens')
        return name
      })
    const done = await Promise.allSettled([step('a'), step('b', true), step('c')])
    expect(done.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(order).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]))
  })

  test('different places do not wait for each other', async () => {
    const file = open()
    const { promise: release, resolve } = Promise.withResolvers<string>()
    const waits = file.exclusively(ALICE, () => release)
    resolve(await file.exclusively(BOB, async () => 'bob is done'))
    expect(await waits).toBe('bob is done')
  })

  test('two files of one process are two users', async () => {
    const { promise: release, resolve } = Promise.withResolvers<void>()
    const order: string[] = []
    const first = open().exclusively(ALICE, async () => {
      await release
      order.push('first')
    })
    const second = open().exclusively(ALICE, async () => void order.push('second'))
    resolve()
    await Promise.all([first, second])
    expect(order).toEqual(['first', 'second'])
  })

  test('whoever waits too long is told so', async () => {
    const { promise: release, resolve } = Promise.withResolvers<void>()
    const held = open().exclusively(ALICE, () => release)
    const waits = open({ patienceMs: 50 }).exclusively(ALICE, async () => 'ran')
    await expect(waits).rejects.toMatchObject({ name: 'ComityError', code: 'conflict' })
    resolve()
    await held
  })

  test('two processes that find the same text renew it once', async () => {
    open().save(ALICE, 'old', 0)
    const children = [1, 2].map(() =>
      runChild(folder.file, 'renew', { name: 'token-child', given: ['old'] }),
    )
    await Promise.all(children.map((child) => child.line((line) => /^(renewed|found)/.test(line))))
    const said = children.flatMap(({ lines }) => lines)
    expect(said.filter((line) => line === 'renews')).toHaveLength(1)
    expect(said.filter((line) => line === 'renewed')).toHaveLength(1)
    expect(said.filter((line) => line.startsWith('found renewed by'))).toHaveLength(1)
    await Promise.all(children.map((child) => child.kill()))
  }, 30_000)

  test('what a killed process held is free after a while', async () => {
    const child = runChild(folder.file, 'hold', { name: 'token-child' })
    await child.line((line) => line === 'holds')
    await child.kill()
    expect(await open().exclusively(ALICE, async () => 'ran')).toBe('ran')
  }, 30_000)

  test('what a dead process held is free after a while, also when the clock was set back since', async () => {
    const file = open({ leaseMs: 200, patienceMs: 5000 })
    const place = JSON.stringify(ALICE)
    tamper(
      `INSERT INTO lease (place, owner, until) VALUES ('${place}', 'dead', ${Date.now() + 3_600_000})`,
    )
    expect(await file.exclusively(ALICE, async () => 'ran')).toBe('ran')
  })

  test('whoever is at work keeps its place, also where clocks say otherwise', async () => {
    const { promise: release, resolve } = Promise.withResolvers<void>()
    let holds = true
    const held = open({ leaseMs: 300 }).exclusively(ALICE, async () => {
      await release
      holds = false
    })
    const place = JSON.stringify(ALICE)
    tamper(`UPDATE lease SET until = ${Date.now() + 3_600_000} WHERE place = '${place}'`)
    const waits = open({ leaseMs: 300, patienceMs: 1200 }).exclusively(ALICE, async () => holds)
    await expect(waits).rejects.toMatchObject({ code: 'conflict' })
    resolve()
    await held
  })

  test('a process at work for longer than a lease keeps it', async () => {
    const child = runChild(folder.file, 'hold', { name: 'token-child' })
    await child.line((line) => line === 'holds')
    // Four times the child's lease.
    const waits = open({ patienceMs: 2400 }).exclusively(ALICE, async () => 'ran')
    await expect(waits).rejects.toMatchObject({ code: 'conflict' })
    await child.kill()
  }, 30_000)

  test('three processes that open a new file and count at once lose nothing', async () => {
    const children = [1, 2, 3].map(() =>
      runChild(folder.file, 'count', { name: 'token-child', given: ['15'] }),
    )
    await Promise.all(children.map((child) => child.line((line) => line === 'counted')))
    expect(open().load(ALICE)?.text).toBe('45')
    await Promise.all(children.map((child) => child.kill()))
  }, 60_000)
})
