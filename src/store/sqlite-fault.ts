/** What SQLite's faults mean to us: the disk refuses (try again later), the file is damaged, or the fault is ours. */
import { ComityError } from '../core/words/errors.ts'
import type { Applied } from './commands.ts'

/** Primary result codes of SQLite, https://www.sqlite.org/rescode.html */
const BUSY = 5
const LOCKED = 6
const NOMEM = 7
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const NOTADB = 26

const DISK_CODES: readonly number[] = [BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN]
const DAMAGE_CODES: readonly number[] = [CORRUPT, NOTADB]

/** SQLite's primary result code; undefined when the error is not SQLite's. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined
}

/** Whether the file itself is damaged. */
export function isDamage(error: unknown): boolean {
  return DAMAGE_CODES.includes(sqliteCode(error) ?? -1)
}

/** Whether a lock stood in the way. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error)
  return code === BUSY || code === LOCKED
}

/** The answer to a command that failed. */
export function judgeFault(error: unknown): Applied & { readonly ok: false } {
  if (error instanceof ComityError) {
    return {
      ok: false,
      unwritable: error.code === 'store_unwritable',
      code: error.code,
      message: error.message,
    }
  }
  const words = error instanceof Error ? error.message : String(error)
  if (DISK_CODES.includes(sqliteCode(error) ?? -1)) {
    return {
      ok: false,
      unwritable: true,
      code: 'store_unwritable',
      message: `the record cannot be written (${words}): free space or make the store writable, then try again`,
    }
  }
  if (isDamage(error)) {
    return {
      ok: false,
      unwritable: true,
      code: 'store_corrupt',
      message: `the store is damaged (${words}): stop, keep the file, restore it from a copy`,
    }
  }
  return { ok: false, unwritable: false, code: 'internal', message: `the store failed: ${words}` }
}
