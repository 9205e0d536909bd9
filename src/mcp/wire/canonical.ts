/**
 * One form for texts that mean the same, to be digested: keys sorted, no white space, strings
 * escaped as little as JSON allows.
 *
 * Numbers keep their lexeme, unless values are asked for: 9007199254740993 and 9007199254740992 are different arguments even
 * though a double cannot tell them apart. `1` and `1.0` are two texts and one value. Both are why
 * this is not RFC 8785. Texts of which readers may disagree (repeated keys) have no canonical form.
 */
import { canonicalNumber } from './canonical-number.ts'
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
  walkObject,
  type ScanOptions,
  type Span,
  type Text,
} from './scan.ts'
import { concat, encodeJson, readString } from './spans.ts'

const encoder = new TextEncoder()
const COMMA = encoder.encode(',')
const COLON = encoder.encode(':')
const OPEN_OBJECT = encoder.encode('{')
const CLOSE_OBJECT = encoder.encode('}')
const OPEN_ARRAY = encoder.encode('[')
const CLOSE_ARRAY = encoder.encode(']')
const BACKSLASH = 0x5c
const BRACKET_CLOSE = 0x5d
const COMMA_BYTE = 0x2c

/** How to write the canonical form. */
export interface CanonicalOptions extends ScanOptions {
  /** `lexeme` (default): as written. `value`: one lexeme for equal decimals, so that 1, 1.0 and 1e0 are one. */
  readonly numbers?: 'lexeme' | 'value'
}

interface Source extends Text {
  readonly numbers: 'lexeme' | 'value'
}

/**
 * The canonical bytes of a value.
 *
 * Keys are ordered by UTF-16 code unit. Applying it twice changes nothing.
 *
 * @param at the value's span; all bytes when left out.
 * @throws JsonFault when the text is unsound or a key is repeated.
 */
export function canonicalJson(
  bytes: Uint8Array,
  at?: Span,
  options?: CanonicalOptions,
): Uint8Array {
  const [first = OPEN_OBJECT, ...others] = canonicalParts(bytes, at, options)
  return others.length === 0 ? first : concat([first, ...others])
}

/**
 * As `canonicalJson`, in parts to be joined: what is written in that form already is one, none is a copy of a large text.
 *
 * @param options `validated` leaves unchecked what the grammar says of strings; keys are compared in any case.
 */
export function canonicalParts(
  bytes: Uint8Array,
  at?: Span,
  options?: CanonicalOptions,
): readonly Uint8Array[] {
  const numbers = options?.numbers ?? 'lexeme'
  const text: Source = { ...openText(bytes, at, options), numbers }
  const start = skipSpace(text, text.start)
  const end = canonicalEnd(text, start, 0)
  if (end >= 0) {
    expectEnd(text, end)
    return [bytes.subarray(start, end)]
  }
  const parts: Part[] = []
  expectEnd(text, writeValue(text, start, 0, parts))
  const flat: Uint8Array[] = []
  flatten(parts, flat)
  return flat
}

/**
 * Where the value ends that begins there, when it is canonical as it stands; -1 for any other. What is unsound is a fault here
 * or left to whoever writes it anew: both read from the front, so that it is the same one.
 */
function canonicalEnd(text: Source, position: number, depth: number): number {
  const { bytes } = text
  // White space, or the end.
  if (position >= text.end || skipSpace(text, position) !== position) return -1
  const type = typeAt(text, position)
  if (type === 'object') return canonicalObjectEnd(text, position, depth + 1)
  if (type === 'array') return canonicalArrayEnd(text, position, depth + 1)
  const end = scanValue(text, position, depth)
  if (type === 'string') return hasEscape(bytes, { start: position, end }) ? -1 : end
  const isLexeme = type !== 'number' || text.numbers === 'lexeme'
  return isLexeme || isPlainNumber(bytes, position, end) ? end : -1
}

function canonicalObjectEnd(text: Source, position: number, depth: number): number {
  const { bytes } = text
  let before = -1
  let beforeEnd = -1
  let at = position + 1
  let key = firstKey(text, position, depth)
  while (key >= 0) {
    // White space stands before it, or behind it, or it is not the next one in order.
    if (key !== at) return -1
    const keyEnd = scanString(text, key)
    if (!isAscending(bytes, before, beforeEnd, key, keyEnd)) return -1
    const value = valueAfter(text, keyEnd)
    if (value !== keyEnd + 1) return -1
    const end = canonicalEnd(text, value, depth)
    if (end < 0) return -1
    before = key
    beforeEnd = keyEnd
    key = nextKey(text, end)
    at = end + 1
  }
  return -key === (before < 0 ? at + 1 : at) ? -key : -1
}

function canonicalArrayEnd(text: Source, position: number, depth: number): number {
  const { bytes } = text
  if (depth > text.maxDepth) return -1
  let at = position + 1
  if (bytes[at] === BRACKET_CLOSE && at < text.end) return at + 1
  while (at < text.end) {
    const end = canonicalEnd(text, at, depth)
    if (end < 0 || end >= text.end) return -1
    if (bytes[end] === BRACKET_CLOSE) return end + 1
    if (bytes[end] !== COMMA_BYTE) return -1
    at = end + 1
  }
  return -1
}

/** Of two keys with their quotes: both of plain ASCII, whose order is that of its bytes, and the first is the lesser. */
function isAscending(
  bytes: Uint8Array,
  one: number,
  oneEnd: number,
  other: number,
  otherEnd: number,
): boolean {
  for (let at = other; at < otherEnd; at += 1)
    if (bytes[at]! >= 0x80 || bytes[at] === BACKSLASH) return false
  if (one < 0) return true
  const length = Math.min(oneEnd - one, otherEnd - other) - 1
  for (let index = 1; index < length; index += 1) {
    const difference = bytes[other + index]! - bytes[one + index]!
    if (difference !== 0) return difference > 0
  }
  return oneEnd - one < otherEnd - other
}

/** Digits alone, the last of them no zero: nothing is left to be shortened. */
function isPlainNumber(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === 0x2d ? start + 1 : start
  for (let at = first; at < end; at += 1) if (bytes[at]! < 0x30 || bytes[at]! > 0x39) return false
  return bytes[end - 1] !== 0x30 || end - start === 1
}

/** Nested, since members move when sorted; copying them at every level would be quadratic. */
type Part = Uint8Array | readonly Part[]

function flatten(parts: readonly Part[], flat: Uint8Array[]): void {
  for (const part of parts) {
    if (part instanceof Uint8Array) flat.push(part)
    else flatten(part, flat)
  }
}

function writeValue(text: Source, position: number, depth: number, parts: Part[]): number {
  switch (typeAt(text, position)) {
    case 'object':
      return writeObject(text, position, depth + 1, parts)
    case 'array':
      return writeArray(text, position, depth + 1, parts)
    case 'string': {
      const end = scanString(text, position)
      parts.push(canonicalString(text.bytes, { start: position, end }))
      return end
    }
    case 'number': {
      const end = scanValue(text, position, depth)
      const at = { start: position, end }
      parts.push(
        text.numbers === 'value'
          ? canonicalNumber(text.bytes, at)
          : text.bytes.subarray(position, end),
      )
      return end
    }
    case 'boolean':
    case 'null': {
      const end = scanValue(text, position, depth)
      parts.push(text.bytes.subarray(position, end))
      return end
    }
  }
}

function writeObject(text: Source, position: number, depth: number, parts: Part[]): number {
  const members = new Map<string, Part[]>()
  const close = walkObject(text, position, depth, (start, end, value) => {
    const key = readString(text.bytes, { start, end })
    if (members.has(key)) fail(text, 'duplicate_key', start, 'a key must not be repeated', end)
    const member: Part[] = [canonicalString(text.bytes, { start, end }), COLON]
    members.set(key, member)
    return writeValue(text, value, depth, member)
  })
  parts.push(OPEN_OBJECT)
  // The default order of strings is by UTF-16 code unit.
  const keys = [...members.keys()].toSorted((one, other) => (one < other ? -1 : 1))
  keys.forEach((key, index) => {
    if (index > 0) parts.push(COMMA)
    parts.push(members.get(key)!)
  })
  parts.push(CLOSE_OBJECT)
  return close
}

function writeArray(text: Source, position: number, depth: number, parts: Part[]): number {
  parts.push(OPEN_ARRAY)
  let first = true
  const close = walkArray(text, position, depth, (item) => {
    if (!first) parts.push(COMMA)
    first = false
    return writeValue(text, item, depth, parts)
  })
  parts.push(CLOSE_ARRAY)
  return close
}

/** A string without escapes is canonical as it stands: what must be escaped cannot be in it. */
function canonicalString(bytes: Uint8Array, span: Span): Uint8Array {
  if (!hasEscape(bytes, span)) return bytes.subarray(span.start, span.end)
  return encodeJson(readString(bytes, span))
}
