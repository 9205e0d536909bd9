/**
 * How values of the token file are sealed, and the key they are sealed with: `<store>.token-key`, this user's alone.
 *
 * A value is bound to its place and version: moved to another row, or under another version, it does not open.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'

import { ComityError } from '../core/words/errors.ts'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const MAX_KEY_FILE = 1024
const ALGORITHM = 'aes-256-gcm'

/** Seals and opens texts. */
export interface Sealer {
  /** @param about what the text is bound to; only the same text opens it again. */
  seal(text: string, about: string): Uint8Array
  /** @returns undefined for what was not sealed with this key and for this `about`. */
  open(sealed: Uint8Array, about: string): string | undefined
}

/** @param key 32 bytes. */
export function createSealer(key: Uint8Array): Sealer {
  return {
    seal(text, about) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(about))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body])
    },
    open(sealed, about) {
      if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
      const bytes = Buffer.from(sealed)
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
      try {
        const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
          authTagLength: TAG_BYTES,
        })
        decipher.setAAD(Buffer.from(about)).setAuthTag(tag)
        const body = bytes.subarray(NONCE_BYTES + TAG_BYTES)
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
      } catch {
        return undefined
      }
    },
  }
}

/** Where the key of a store's tokens lies. */
export function tokenKeyFileOf(storeFile: string): string {
  return `${storeFile}.token-key`
}

/** A key as people hand it over: 32 bytes as base64, base64url or hexadecimal. @returns undefined for anything else. */
export function parseTokenKey(text: string): Uint8Array | undefined {
  const word = text.trim()
  const bytes = /^[0-9a-fA-F]{64}$/.test(word)
    ? Buffer.from(word, 'hex')
    : /^[A-Za-z0-9+/_-]{43}=?$/.test(word)
      ? Buffer.from(word, 'base64')
      : undefined
  return bytes?.length === KEY_BYTES ? bytes : undefined
}

/**
 * The key beside the store.
 *
 * @returns undefined when there is none.
 * @throws ComityError `not_allowed` when others can read it, `store_corrupt` when it is none.
 */
export function loadTokenKey(path: string): Uint8Array | undefined {
  let text: string
  try {
    const { mode } = statSync(path)
    // Windows has no such bits: there the user's own folder protects it.
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) throw sayOpenToOthers(path, mode)
    text = readFileSync(path, 'utf8').slice(0, MAX_KEY_FILE)
  } catch (error) {
    if (error instanceof ComityError) throw error
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new ComityError('store_corrupt', `${path} cannot be read`, { cause: error })
  }
  const key = parseTokenKey(text)
  if (key !== undefined) return key
  throw new ComityError(
    'store_corrupt',
    `${path} holds no key (expected 32 bytes as base64): restore it from a copy, or remove it and the tokens beside it and log in anew`,
  )
}

/** Makes the key of a store that has none. Only while nobody else can: two keys would be one too many. */
export function makeTokenKey(path: string): Uint8Array {
  const key = randomBytes(KEY_BYTES)
  const draft = `${path}.new`
  try {
    rmSync(draft, { force: true })
    const descriptor = openSync(draft, 'wx', 0o600)
    try {
      writeSync(descriptor, `${key.toString('base64url')}\n`)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    // Renamed into place: half a key would be a damaged one.
    renameSync(draft, path)
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    throw new ComityError(
      'store_unwritable',
      `${path} cannot be written (${words}): make its folder writable`,
      { cause: error },
    )
  }
  return key
}

function sayOpenToOthers(path: string, mode: number): ComityError {
  return new ComityError(
    'not_allowed',
    `${path} can be read or written by other users (mode ${(mode & 0o777).toString(8)}): whoever has it can open your tokens. ` +
      `Run chmod 600 ${path}; if somebody may have read it, remove it and the tokens beside it and log in anew`,
  )
}
