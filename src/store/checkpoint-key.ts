/**
 * The key that checkpoints are signed with: `<file>.checkpoint-key`, mode 0600, outside the database.
 *
 * It says from which entry on it signs: what an earlier key signed, before it was lost, is no forgery.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'

import { ComityError } from '../core/words/errors.ts'
import type { ChainHead } from './commands.ts'
import { type Checkpoint, signedBytes } from './checkpoint.ts'

const MAX_KEY_FILE = 4096

export interface CheckpointKey {
  /** Raw, base64url: what a checkpoint names. */
  readonly publicKey: string
  /** Entries up to this one were signed by an earlier key. */
  readonly since: number
  sign(head: ChainHead, store: string, at: string): Checkpoint
}

/** Where the key of a store lies. */
export function checkpointKeyOf(file: string): string {
  return `${file}.checkpoint-key`
}

/** @returns undefined when there is none. @throws ComityError `store_corrupt` when it cannot be read as one. */
export function loadCheckpointKey(file: string): CheckpointKey | undefined {
  const path = checkpointKeyOf(file)
  let text: string
  try {
    text = readFileSync(path, 'utf8').slice(0, MAX_KEY_FILE)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw new ComityError('store_corrupt', `${path} cannot be read`, { cause: error })
  }
  const key = parseKey(text)
  if (key !== undefined) return key
  throw new ComityError(
    'store_corrupt',
    `${path} is damaged: restore it, or delete it to go on with a new key; what the old one signed cannot be proven then`,
  )
}

/** Makes the key of a store that has none. @param since the newest entry. */
export function makeCheckpointKey(file: string, since: number): CheckpointKey {
  const { privateKey } = generateKeyPairSync('ed25519')
  const key = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
  const text = `${JSON.stringify({ version: 1, since, key })}\n`
  const path = checkpointKeyOf(file)
  writeWhole(path, text)
  return parseKey(text) ?? refuseOwn(path)
}

function parseKey(text: string): CheckpointKey | undefined {
  try {
    const said: unknown = JSON.parse(text)
    if (typeof said !== 'object' || said === null) return undefined
    const { version, since, key } = said as Record<string, unknown>
    if (version !== 1 || typeof key !== 'string' || typeof since !== 'number') return undefined
    const der = Buffer.from(key, 'base64')
    const secret = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const publicKey = createPublicKey(secret).export({ format: 'jwk' })['x']
    if (secret.asymmetricKeyType !== 'ed25519' || publicKey === undefined) return undefined
    return {
      publicKey,
      since,
      sign: ({ seq, hash }, store, at) => {
        const unsigned = { store, seq, hash, at, key: publicKey }
        const signature = sign(null, signedBytes(unsigned), secret).toString('base64url')
        return { ...unsigned, signature }
      },
    }
  } catch {
    return undefined
  }
}

/** Renamed into place: half a key would be a damaged one. */
function writeWhole(path: string, text: string): void {
  const draft = `${path}.new`
  rmSync(draft, { force: true })
  const descriptor = openSync(draft, 'wx', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(draft, path)
}

function refuseOwn(path: string): never {
  throw new ComityError('internal', `the key that was made at ${path} cannot be read back`)
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
