/** Salts of payloads. */
import { randomBytes } from 'node:crypto'

import { SALT_BYTES } from './payload-limits.ts'

const STOCK = 256

/** Draws salts from a stock: one draw of random bytes costs as much as a hundred salts. */
export function createSalts(): () => Uint8Array {
  let stock: Uint8Array = new Uint8Array()
  return () => {
    if (stock.byteLength < SALT_BYTES) stock = randomBytes(SALT_BYTES * STOCK)
    // A copy of its own: what shares the stock's memory would carry all of it to another thread.
    const salt = new Uint8Array(stock.subarray(0, SALT_BYTES))
    stock = stock.subarray(SALT_BYTES)
    return salt
  }
}
