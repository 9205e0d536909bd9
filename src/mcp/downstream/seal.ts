/**
 * Seals: short texts that only we can make and read, handed to callers and taken back.
 *
 * AES-256-GCM; the purpose is authenticated too, so that a cursor is never taken for a question's state. What the content
 * is bound to (principal, expiry, call) is its maker's business.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** What a sealed text is for. */
export type SealPurpose = 'cursor' | 'question'

export interface Seal {
  /** @param content plain JSON. @returns base64url. */
  seal(purpose: SealPurpose, content: unknown): string
  /** The content; undefined for anything that was not sealed here for this purpose. */
  open(purpose: SealPurpose, sealed: string): unknown
}

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** @param key 32 bytes. */
export function createSeal(key: Uint8Array): Seal {
  return {
    seal: (purpose, content) => {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(CIPHER, key, iv)
      cipher.setAAD(Buffer.from(purpose))
      const sealed = Buffer.concat([cipher.update(JSON.stringify(content), 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
    },
    open: (purpose, sealed) => {
      const bytes = Buffer.from(sealed, 'base64url')
      // Re-encoding refuses the other spellings of the same bytes: one seal, one text.
      if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed)
        return undefined
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
        decipher.setAAD(Buffer.from(purpose))
        decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
        const content = Buffer.concat([
          decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)),
          decipher.final(),
        ])
        return JSON.parse(content.toString('utf8')) as unknown
      } catch {
        return undefined
      }
    },
  }
}
