/**
 * The key that outlives the process: 32 random bytes in a file of this user alone.
 *
 * A file that others could have read or written is not used, and none is repaired: then the key is
 * this process's own, and what was sealed ends with it.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { linkSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const KEY_BYTES = 32

/**
 * Reads the key, or makes it.
 *
 * @param file undefined: a key of this process only.
 * @param log told why a file is not used.
 */
export function openStateKey(file: string | undefined, log: (line: string) => void): Uint8Array {
  if (file === undefined) return randomBytes(KEY_BYTES)
  try {
    const known = readKey(file)
    if (known !== undefined) return known
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const draft = `${file}.${randomUUID()}`
    writeFileSync(draft, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx' })
    try {
      // Whole or not at all; of two processes that begin at once one makes it.
      linkSync(draft, file)
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error
    } finally {
      rmSync(draft, { force: true })
    }
    const made = readKey(file)
    if (made !== undefined) return made
    throw new Error('it is gone again')
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it cannot be used'
    log(`${file} is not used as the key for ids of analyses (${why}); they end with this process`)
    return randomBytes(KEY_BYTES)
  }
}

/** @returns undefined when there is none. */
function readKey(file: string): Uint8Array | undefined {
  let bytes: Buffer
  try {
    const { mode } = lstatSync(file)
    // Windows has no such bits: there the folder of the user is what keeps it.
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new Error('expected a file of this user alone, mode 0600')
    }
    bytes = readFileSync(file)
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
  if (bytes.length !== KEY_BYTES) {
    throw new Error(
      `expected ${KEY_BYTES} bytes, it has ${bytes.length}; delete it to have it made anew`,
    )
  }
  return bytes
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
