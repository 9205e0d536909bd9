/**
 * One lexeme for all that name the same decimal: 1, 1.0, 10e-1 and 1e0 are `1`.
 *
 * Exact: digits are moved, never computed with, so that what no double can tell apart stays apart.
 */
import type { Span } from './scan.ts'

const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const EXPONENT = 0x45
/** Longer exponents are compared as written: adding to them costs more than such a number is worth. */
const MAX_EXPONENT_DIGITS = 1000

/**
 * The lexeme of a scanned number's value: its digits without zeros at either end, and the power of ten they are multiplied
 * with when that is not 0. Zero has no sign.
 *
 * @param at the span of one sound JSON number.
 */
export function canonicalNumber(bytes: Uint8Array, at: Span): Uint8Array {
  const { exponentAt, digits, fraction } = splitNumber(bytes, at)
  if (at.end - exponentAt > MAX_EXPONENT_DIGITS) return bytes.subarray(at.start, at.end)
  const first = digits.findIndex((digit) => digit !== ZERO)
  if (first < 0) return Uint8Array.of(ZERO)
  const last = digits.findLastIndex((digit) => digit !== ZERO)
  const shift = digits.length - 1 - last - fraction
  const power = addToExponent(Buffer.from(bytes.subarray(exponentAt + 1, at.end)), shift)
  return Buffer.concat([
    Buffer.from(bytes[at.start] === MINUS ? '-' : ''),
    digits.subarray(first, last + 1),
    Buffer.from(power === '0' ? '' : `e${power}`),
  ])
}

/** The digits without the point, how many of them stood behind it, and where the exponent begins. */
function splitNumber(
  bytes: Uint8Array,
  at: Span,
): { readonly exponentAt: number; readonly digits: Uint8Array; readonly fraction: number } {
  const start = bytes[at.start] === MINUS ? at.start + 1 : at.start
  let exponentAt = at.end
  let dot = -1
  for (let position = start; position < at.end; position += 1) {
    const byte = bytes[position] ?? 0
    if (byte === DOT) dot = position
    // 0x20 is what tells `e` from `E`.
    if ((byte & ~0x20) !== EXPONENT) continue
    exponentAt = position
    break
  }
  if (dot < 0) return { exponentAt, digits: bytes.subarray(start, exponentAt), fraction: 0 }
  const digits = new Uint8Array(exponentAt - start - 1)
  digits.set(bytes.subarray(start, dot))
  digits.set(bytes.subarray(dot + 1, exponentAt), dot - start)
  return { exponentAt, digits, fraction: exponentAt - dot - 1 }
}

function addToExponent(exponent: Buffer, shift: number): string {
  if (exponent.length === 0) return String(shift)
  const written = exponent.toString('latin1')
  const sign = written.startsWith('-') ? -1n : 1n
  return String(sign * BigInt(written.replace(/^[+-]/u, '')) + BigInt(shift))
}
