/**
 * A checkpoint: a position of the chain, signed. Whoever has no key cannot make one, so an end of the chain that was signed
 * cannot be cut off and signed anew.
 *
 * Pure. Where the key lies is checkpoint-key.ts's, when one is made checkpoint-keeper.ts's, what it proves checkpoint-check.ts's.
 */
import { createPublicKey, verify } from 'node:crypto'

import type { ChainHead } from './commands.ts'

export interface Checkpoint extends ChainHead {
  /** The store's id. */
  readonly store: string
  /** ISO string. */
  readonly at: string
  /** The Ed25519 public key, raw, base64url. */
  readonly key: string
  /** Over everything above, base64url. */
  readonly signature: string
}

export type Unsigned = Omit<Checkpoint, 'signature'>

/** What is signed. */
export function signedBytes({ store, seq, hash, at, key }: Unsigned): Uint8Array {
  return Buffer.from(`comity checkpoint 1\n${store}\n${seq}\n${hash}\n${at}\n${key}\n`)
}

/** Whether the signature is of the key that the checkpoint names; whose key that is, is another question. */
export function isSigned(checkpoint: Checkpoint): boolean {
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: checkpoint.key }
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    const signature = Buffer.from(checkpoint.signature, 'base64url')
    return verify(null, signedBytes(checkpoint), key, signature)
  } catch {
    return false
  }
}

/** One line of the file outside, without its end. */
export function encodeCheckpoint({ store, seq, hash, at, key, signature }: Checkpoint): string {
  return JSON.stringify({ version: 1, store, seq, hash, at, key, signature })
}

/** @returns undefined for what is no line of ours. */
export function parseCheckpoint(line: string): Checkpoint | undefined {
  let said: unknown
  try {
    said = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof said !== 'object' || said === null || Array.isArray(said)) return undefined
  const { version, store, seq, hash, at, key, signature } = said as Record<string, unknown>
  if (version !== 1 || typeof seq !== 'number' || !Number.isSafeInteger(seq)) return undefined
  if (typeof store !== 'string' || typeof hash !== 'string' || typeof at !== 'string')
    return undefined
  if (typeof key !== 'string' || typeof signature !== 'string') return undefined
  return { store, seq, hash, at, key, signature }
}
