/**
 * One at a time, over all processes that share a token file: who works on a place holds its row until it is done or dead.
 *
 * A lease says until when, and is renewed while the work runs; what a killed process held is free when its time is over, by
 * the clock that processes of one machine share, or, should that have been set back, by watching. Whoever is stopped for longer than its lease may find another at work: that
 * no newer token is overwritten then is the versions' doing, not this file's.
 */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'

import { ComityError } from '../core/words/errors.ts'

export interface LeaseOptions {
  /** For how long a lease holds without being renewed, milliseconds. Default 10000. */
  readonly leaseMs?: number
  /** For how long others are waited for, milliseconds. Default 90000. */
  readonly patienceMs?: number
}

export const LEASE_SCHEMA =
  'CREATE TABLE lease (place TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID'

const FIRST_LOOK_MS = 15
const LONGEST_LOOK_MS = 250

export interface Leases {
  exclusively<T>(place: string, what: string, work: () => Promise<T>): Promise<T>
}

export function createLeases(db: DatabaseSync, options: LeaseOptions = {}): Leases {
  const leaseMs = options.leaseMs ?? 10_000
  const patienceMs = options.patienceMs ?? 90_000
  const owner = `${process.pid} ${randomBytes(8).toString('hex')}`
  const take = db.prepare(
    `INSERT INTO lease (place, owner, until) VALUES (:place, :owner, :until)
     ON CONFLICT (place) DO UPDATE SET owner = excluded.owner, until = excluded.until
     WHERE until <= :now OR (owner = :deadOwner AND until = :deadUntil)`,
  )
  const look = db.prepare('SELECT owner, until FROM lease WHERE place = ?')
  const renew = db.prepare(
    'UPDATE lease SET until = :until WHERE place = :place AND owner = :owner',
  )
  const give = db.prepare('DELETE FROM lease WHERE place = :place AND owner = :owner')
  /** By place: the last one in line within this process. */
  const line = new Map<string, Promise<void>>()

  const acquire = async (place: string, what: string): Promise<void> => {
    const before = performance.now()
    const dead = watchHolder(leaseMs)
    for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_LOOK_MS)) {
      const now = Date.now()
      const { deadOwner, deadUntil } = dead(look.get(place), now)
      const words = { place, owner, until: now + leaseMs, now, deadOwner, deadUntil }
      if (take.run(words).changes === 1) return
      if (performance.now() - before > patienceMs) {
        throw new ComityError(
          'conflict',
          `another process is at work on ${what} for more than ${Math.round(patienceMs / 1000)} s: try again, or end it`,
        )
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs + Math.random() * pauseMs))
    }
  }

  const hold = async <T>(place: string, what: string, work: () => Promise<T>): Promise<T> => {
    await acquire(place, what)
    const renewal = setInterval(() => {
      try {
        renew.run({ place, owner, until: Date.now() + leaseMs })
      } catch {
        // A full disk or a closed file: the lease runs out, the versions still hold.
      }
    }, leaseMs / 3)
    renewal.unref()
    try {
      return await work()
    } finally {
      clearInterval(renewal)
      try {
        give.run({ place, owner })
      } catch {
        // As above: it runs out by itself.
      }
    }
  }

  return {
    async exclusively(place, what, work) {
      const before = line.get(place)
      let leave: () => void = () => undefined
      const mine = new Promise<void>((resolve) => {
        leave = resolve
      })
      const last = (before ?? Promise.resolve()).then(() => mine)
      line.set(place, last)
      try {
        await before
        return await hold(place, what, work)
      } finally {
        leave()
        if (line.get(place) === last) line.delete(place)
      }
    },
  }
}

interface Dead {
  readonly deadOwner: string | null
  readonly deadUntil: number | null
}

const NOBODY: Dead = { deadOwner: null, deadUntil: null }

/** Tells of a holder whose lease ends later than any does, and that was not renewed for as long as one lasts: the clock was set back. */
function watchHolder(
  leaseMs: number,
): (row: Readonly<Record<string, unknown>> | undefined, now: number) => Dead {
  let seen: { readonly owner: string; readonly until: number; readonly since: number } | undefined
  return (row, now) => {
    const [owner, until] = [String(row?.['owner']), Number(row?.['until'])]
    if (row === undefined || until <= now + leaseMs) seen = undefined
    else if (seen?.owner !== owner || seen.until !== until)
      seen = { owner, until, since: performance.now() }
    const isDead = seen !== undefined && performance.now() - seen.since > leaseMs
    return isDead ? { deadOwner: owner, deadUntil: until } : NOBODY
  }
}
