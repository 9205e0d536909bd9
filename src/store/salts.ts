/** Salts of payloads, as texts of one byte in each character. */
import { randomBytes } from 'node:crypto'

import { SALT_BYTES } from './payload-limits.ts'

const STOCK = 256

/** Draws salts from a stock: one draw of random bytes costs as much as a hundred salts. */
export function createSalts(): () => string {
  let stock = Buffer.alloc(0)
  let used = 0
  return () => {
    if (used === stock.byteLength) {
      stock = randomBytes(SALT_BYTES * STOCK)
      used = 0
    }
    used += SALT_BYTES
    return stock.toString('latin1', used - SALT_BYTES, used)
  }
}
