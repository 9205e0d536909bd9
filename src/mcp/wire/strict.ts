/**
 * The stricter reading for arguments: refuses what two sound readers may understand differently,
 * so that policy sees exactly what the peer will get.
 *
 * Refused beyond the grammar: repeated keys, lone surrogates, NUL or a byte order mark in a key,
 * numbers that no double can hold. A byte order mark within a string value is content and passes.
 */
import {
  expectEnd,
  fail,
  firstKey,
  hasEscape,
  nextKey,
  openText,
  scanString,
  scanValue,
  skipSpace,
  typeAt,
  valueAfter,
  walkArray,
  type ScanOptions,
  type Span,
  type Text,
} from './scan.ts'
import { readString, textOf } from './spans.ts'

/**
 * Checks a value strictly, at every depth.
 *
 * @param at the value's span; all bytes when left out.
 * @param options of what was scanned before only that is looked at which the grammar allows.
 * @throws JsonFault for the first offence.
 */
export function checkStrict(bytes: Uint8Array, at?: Span, options?: ScanOptions): void {
  const text = openText(bytes, at, options)
  expectEnd(text, checkValue(text, skipSpace(text, text.start), 0))
}

function checkValue(text: Text, position: number, depth: number): number {
  switch (typeAt(text, position)) {
    case 'object':
      return checkObject(text, position, depth + 1)
    case 'array':
      return walkArray(text, position, depth + 1, (item) => checkValue(text, item, depth + 1))
    case 'string': {
      const end = scanString(text, position)
      checkSurrogates(text, { start: position, end })
      return end
    }
    case 'number': {
      const end = scanValue(text, position, depth)
      checkNumber(text, { start: position, end })
      return end
    }
    case 'boolean':
    case 'null':
      return scanValue(text, position, depth)
  }
}

/** Keys of one object that are compared with each other; a set finds repeated ones among more. */
const FEW_KEYS = 12

function checkObject(text: Text, position: number, depth: number): number {
  const keys: string[] = []
  let seen: Set<string> | undefined
  let start = firstKey(text, position, depth)
  while (start >= 0) {
    const end = scanString(text, start)
    const value = valueAfter(text, end)
    const key = readString(text.bytes, { start, end })
    if (seen?.has(key) ?? keys.includes(key))
      fail(text, 'duplicate_key', start, 'a key must not be repeated', end)
    if (key.includes('\0')) fail(text, 'nul_in_key', start, 'a key must not hold NUL', end)
    if (key.includes('\uFEFF')) {
      fail(text, 'bom', start, 'a key must not hold a byte order mark', end)
    }
    if (!key.isWellFormed())
      fail(text, 'lone_surrogate', start, 'a surrogate must come in a pair', end)
    if (seen !== undefined) seen.add(key)
    else if (keys.push(key) > FEW_KEYS) seen = new Set(keys)
    start = nextKey(text, checkValue(text, value, depth))
  }
  return -start
}

/** Only an exponent or some 300 digits can leave the range; most numbers are not even read. */
function checkNumber(text: Text, number: Span): void {
  const { bytes } = text
  let suspect = number.end - number.start > 300
  for (let at = number.start; at < number.end && !suspect; at += 1) {
    suspect = bytes[at] === 0x65 || bytes[at] === 0x45
  }
  if (suspect && !Number.isFinite(Number(textOf(bytes, number)))) {
    fail(text, 'number_range', number.start, 'a number must fit a double')
  }
}

/** UTF-8 was checked, so only an escape can bring half a pair. */
function checkSurrogates(text: Text, string: Span): void {
  if (!hasEscape(text.bytes, string)) return
  if (!readString(text.bytes, string).isWellFormed()) {
    fail(text, 'lone_surrogate', string.start, 'a surrogate must come in a pair', string.end)
  }
}
