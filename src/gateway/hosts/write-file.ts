/** Files written whole or not at all. */
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Readable and writable by the user alone. */
export const PRIVATE = 0o600

/** Makes a folder that only the user can look into; one that is there stays as it is. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
}

/** Writes a file that must not be there yet. @throws with code EEXIST when it is. */
export function writeNew(path: string, content: string | Uint8Array): void {
  write(path, content, PRIVATE, 'wx')
}

/** Replaces a file by rename, on disk before the old one is gone; readers see the old one or the new one. */
export function replaceFile(path: string, content: string | Uint8Array, mode: number): void {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    write(temporary, content, mode, 'wx')
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

function write(path: string, content: string | Uint8Array, mode: number, flag: 'wx'): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const handle = openSync(path, flag, mode)
  try {
    for (let written = 0; written < bytes.length;) {
      written += writeSync(handle, bytes, written, bytes.length - written)
    }
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
