/** The key that question states and cursors are sealed with: 32 bytes beside the store, 0600, so that a restart reads its own seals. */
import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { ComityError } from '../../core/words/errors.ts'

const KEY_BYTES = 32

/** @throws ComityError `store_corrupt` when the file is there and is no key. */
export function loadSealingKey(storeFile: string): Uint8Array {
  const file = `${storeFile}.key`
  const known = read(file)
  if (known !== undefined) return known
  // Written whole beside, then linked into place: nobody ever reads half of a key.
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'w' })
  try {
    linkSync(fresh, file)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  } finally {
    rmSync(fresh, { force: true })
  }
  const made = read(file)
  if (made === undefined)
    throw new ComityError('store_unwritable', `the sealing key ${file} cannot be written`)
  return made
}

function read(file: string): Uint8Array | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined
    throw new ComityError(
      'store_unwritable',
      `the sealing key ${file} cannot be read: ${(error as Error).message}`,
    )
  }
  if (bytes.length !== KEY_BYTES) {
    throw new ComityError(
      'store_corrupt',
      `${file} must hold ${KEY_BYTES} bytes, it holds ${bytes.length}. Remove it: questions under way are then asked anew`,
    )
  }
  return bytes
}
