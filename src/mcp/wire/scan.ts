/**
 * The grammar of JSON (RFC 8259) over bytes: walks objects and arrays, checks or skips values.
 *
 * Depth-limited recursion, so that a hostile text ends in a fault and not in a stack overflow.
 * What to do with the members (spans, strictness, canonical form) is decided by the callers.
 */
import { isAscii } from 'node:buffer'
import { JsonFault, pointerAt, type JsonFaultCode } from './json-fault.ts'

/** A half-open range of bytes. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The kind of a JSON value, told by its first byte. */
export type JsonType = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

/** How to scan. */
export interface ScanOptions {
  /** Containers within containers; default 512, never more than 1000 (the stack is finite). */
  readonly maxDepth?: number
  /** True when this very span was scanned before: values are skipped, no longer checked. */
  readonly validated?: boolean
}

/** One scan: the bytes, the span and the rules in force. */
export interface Text {
  readonly bytes: Uint8Array
  readonly start: number
  readonly end: number
  readonly maxDepth: number
  readonly validated: boolean
  /** The whole buffer behind the bytes, by words; made when a string is long. */
  words: Int32Array | undefined
  /** Long strings in it hold escapes or more than ASCII: looking far ahead for their end was of no use. */
  isDense: boolean
}

/** Told of each member of an object; returns where the member's value ends. */
export type MemberVisitor = (keyStart: number, keyEnd: number, valueStart: number) => number

/** Containers within containers, unless the caller says less. */
const DEFAULT_MAX_DEPTH = 512
const HIGHEST_MAX_DEPTH = 1000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d
const BRACKET_OPEN = 0x5b
const BRACKET_CLOSE = 0x5d

const TRUE = new TextEncoder().encode('true')
const FALSE = new TextEncoder().encode('false')
const NULL = new TextEncoder().encode('null')

/** Bytes that stand for themselves in a string and need no look: ASCII but control, `"` and `\`. */
const PLAIN = new Uint8Array(256).map((_, byte) =>
  byte >= 0x20 && byte < 0x80 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
)
/** So many plain bytes in a row, and words are looked at instead of bytes. */
const LONG_RUN = 48
/** So many bytes of a string, and its end is looked for first. */
const FAR = 1024
/** So far a byte is looked for by hand. */
const NEAR = 32
/** The high bit of each byte of a word. */
const HIGH_BITS = 0x80808080
/** Bytes that may follow a backslash, `u` apart. */
const SHORT_ESCAPE = new Uint8Array(256)
for (const letter of '"\\/bfnrt') SHORT_ESCAPE[letter.charCodeAt(0)] = 1

/** Prepares a scan of `span`, or of all bytes. */
export function openText(bytes: Uint8Array, span?: Span, options?: ScanOptions): Text {
  const start = span?.start ?? 0
  const end = Math.min(span?.end ?? bytes.length, bytes.length)
  const maxDepth = Math.min(options?.maxDepth ?? DEFAULT_MAX_DEPTH, HIGHEST_MAX_DEPTH)
  const validated = options?.validated ?? false
  const text: Text = { bytes, start, end, maxDepth, validated, words: undefined, isDense: false }
  if (bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) {
    fail(text, 'bom', start, 'JSON must not begin with a byte order mark')
  }
  return text
}

/** Throws the fault; the pointer is worked out only now, so that good texts do not pay for it. */
export function fail(
  text: Text,
  code: JsonFaultCode,
  offset: number,
  expected: string,
  pointerOffset = offset,
): never {
  throw new JsonFault(code, offset, pointerAt(text.bytes, text, pointerOffset), expected)
}

/** The first place from `position` on that is not white space. */
export function skipSpace(text: Text, position: number): number {
  const { bytes, end } = text
  let at = position
  while (at < end) {
    const byte = bytes[at]!
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
    at += 1
  }
  return end
}

/** The kind of the value that starts at `position`. @throws JsonFault when none can. */
export function typeAt(text: Text, position: number): JsonType {
  if (position >= text.end) fail(text, 'truncated', text.end, 'expected a value, got the end')
  const byte = text.bytes[position]!
  switch (byte) {
    case BRACE_OPEN:
      return 'object'
    case BRACKET_OPEN:
      return 'array'
    case QUOTE:
      return 'string'
    case 0x74:
    case 0x66:
      return 'boolean'
    case 0x6e:
      return 'null'
    default:
      if (byte === 0x2d || isDigit(byte)) return 'number'
      return fail(text, 'syntax', position, 'expected a JSON value')
  }
}

/**
 * Walks the members of the object that opens at `position`, in order.
 *
 * @param visit told of each; when left out, values are checked and nobody is told.
 * @returns the place after the closing brace.
 */
export function walkObject(
  text: Text,
  position: number,
  depth: number,
  visit?: MemberVisitor,
): number {
  let key = firstKey(text, position, depth)
  while (key >= 0) {
    const keyEnd = scanString(text, key)
    const start = valueAfter(text, keyEnd)
    const end = visit === undefined ? scanValue(text, start, depth) : visit(key, keyEnd, start)
    key = nextKey(text, end)
  }
  return -key
}

/** Where the first key of the object that opens at `position` begins; when it has none, the place after it, negative. */
export function firstKey(text: Text, position: number, depth: number): number {
  checkDepth(text, position, depth)
  const at = skipSpace(text, position + 1)
  return text.bytes[at] === BRACE_CLOSE && at < text.end ? -(at + 1) : expectKey(text, at)
}

/** Where the value of the key begins that ends at `keyEnd`. */
export function valueAfter(text: Text, keyEnd: number): number {
  const at = skipSpace(text, keyEnd)
  expectByte(text, at, COLON, 'expected a colon after the key')
  return skipSpace(text, at + 1)
}

/** Where the next key begins after the value that ends at `valueEnd`; when none does, the place after the object, negative. */
export function nextKey(text: Text, valueEnd: number): number {
  const at = skipSpace(text, valueEnd)
  if (at >= text.end) fail(text, 'truncated', text.end, 'expected , or }, got the end')
  if (text.bytes[at] === BRACE_CLOSE) return -(at + 1)
  expectByte(text, at, COMMA, 'expected , or } after a member')
  return expectKey(text, skipSpace(text, at + 1))
}

function expectKey(text: Text, at: number): number {
  if (at >= text.end) fail(text, 'truncated', text.end, 'expected a key, got the end')
  if (text.bytes[at] !== QUOTE) fail(text, 'syntax', at, 'expected a key in double quotes')
  return at
}

/** Walks the items of the array that opens at `position`; as walkObject. */
export function walkArray(
  text: Text,
  position: number,
  depth: number,
  visit?: (itemStart: number) => number,
): number {
  checkDepth(text, position, depth)
  let at = skipSpace(text, position + 1)
  if (text.bytes[at] === BRACKET_CLOSE && at < text.end) return at + 1
  for (;;) {
    at = skipSpace(text, visit === undefined ? scanValue(text, at, depth) : visit(at))
    if (at >= text.end) fail(text, 'truncated', text.end, 'expected , or ], got the end')
    if (text.bytes[at] === BRACKET_CLOSE) return at + 1
    expectByte(text, at, COMMA, 'expected , or ] after an item')
    at = skipSpace(text, at + 1)
  }
}

/** Checks (or, in validated text, skips) the value at `position`. @returns the place after it. */
export function scanValue(text: Text, position: number, depth: number): number {
  const type = typeAt(text, position)
  if (text.validated && (type === 'object' || type === 'array')) return skim(text, position)
  switch (type) {
    case 'object':
      return walkObject(text, position, depth + 1)
    case 'array':
      return walkArray(text, position, depth + 1)
    case 'string':
      return scanString(text, position)
    case 'number':
      return scanNumber(text, position)
    case 'boolean':
      return scanLiteral(text, position, text.bytes[position] === 0x74 ? TRUE : FALSE)
    case 'null':
      return scanLiteral(text, position, NULL)
  }
}

/** Checks (or skips) the string whose opening quote is at `position`. @returns the place after. */
export function scanString(text: Text, position: number): number {
  if (text.validated) return skimString(text, position)
  const { bytes, end } = text
  let at = position + 1
  let patience = at + LONG_RUN
  while (at < end) {
    const byte = bytes[at]!
    if (PLAIN[byte] === 1) {
      at += 1
      if (at !== patience) continue
      at = skipPlain(text, at)
    } else if (byte === QUOTE) return at + 1
    else if (byte === BACKSLASH) at = scanEscape(text, at)
    else if (byte >= 0x80) at = scanUtf8(text, at)
    else fail(text, 'syntax', at, 'control characters in a string must be escaped')
    patience = at + LONG_RUN
  }
  return fail(text, 'truncated', end, 'expected the end of a string, got the end')
}

/**
 * Skips bytes that stand for themselves four at a time: large contents are mostly long plain strings.
 *
 * A word is let through only when none of its bytes is below 0x20, `"`, `\\` or beyond ASCII; a borrow between its bytes may
 * stop too early, never too late.
 */
function skipPlain(text: Text, position: number): number {
  const { bytes } = text
  const far = text.isDense || text.end - position < FAR ? position : skipFar(text, position)
  if (far !== position) return far
  const { buffer, byteOffset } = bytes
  text.words ??= new Int32Array(buffer, 0, buffer.byteLength >> 2)
  const { words } = text
  let at = position
  for (; ((byteOffset + at) & 3) !== 0 && at < text.end; at += 1)
    if (PLAIN[bytes[at]!] !== 1) return at
  const first = (byteOffset + at) >> 2
  const last = (byteOffset + text.end) >> 2
  let index = first
  for (; index < last; index += 1) {
    const word = words[index]!
    const quotes = word ^ 0x22222222
    const slashes = word ^ 0x5c5c5c5c
    const odd =
      word |
      (word - 0x20202020) |
      ((quotes - 0x01010101) & ~quotes) |
      ((slashes - 0x01010101) & ~slashes)
    if ((odd & HIGH_BITS) !== 0) break
  }
  return index === first ? at : at + (index - first) * 4
}

/**
 * Skips to the end of a large string in one step when all of it is plain: its quote, backslashes and what is beyond ASCII are
 * looked for by the platform, which leaves control characters to words. Once it was in vain it is not tried again: a text of
 * many such strings would be read far ahead for each.
 */
function skipFar(text: Text, position: number): number {
  const { bytes } = text
  const quote = indexOfByte(bytes, QUOTE, position)
  const isInside = quote >= 0 && quote < text.end
  if (isInside && quote - position < FAR) return position
  const run = bytes.subarray(position, isInside ? quote : position)
  text.isDense =
    !isInside || !isAscii(run) || indexOfByte(run, BACKSLASH, 0) >= 0 || hasControl(run)
  return text.isDense ? position : quote
}

/** Of ASCII alone: then only what is below 0x20 borrows from the byte above it. */
function hasControl(run: Uint8Array): boolean {
  const { buffer, byteOffset, length } = run
  let at = 0
  for (; ((byteOffset + at) & 3) !== 0 && at < length; at += 1) if (run[at]! < 0x20) return true
  const words = new Int32Array(buffer, byteOffset + at, (length - at) >> 2)
  let odd = 0
  const whole = words.length & ~3
  for (let index = 0; index < whole; index += 4) {
    odd |=
      (words[index]! - 0x20202020) |
      (words[index + 1]! - 0x20202020) |
      (words[index + 2]! - 0x20202020) |
      (words[index + 3]! - 0x20202020)
  }
  if ((odd & HIGH_BITS) !== 0) return true
  for (at += whole * 4; at < length; at += 1) if (run[at]! < 0x20) return true
  return false
}

/** Whether a scanned string holds an escape. Never looks past its end: that would be quadratic. */
export function hasEscape(bytes: Uint8Array, string: Span): boolean {
  if (string.end - string.start > 64) {
    return indexOfByte(bytes.subarray(string.start, string.end), BACKSLASH, 0) >= 0
  }
  for (let at = string.start; at < string.end; at += 1) if (bytes[at] === BACKSLASH) return true
  return false
}

/** Demands that nothing but white space follows `position`. */
export function expectEnd(text: Text, position: number): void {
  const at = skipSpace(text, position)
  if (at < text.end) fail(text, 'trailing', at, 'expected the end of the JSON text')
}

function checkDepth(text: Text, position: number, depth: number): void {
  if (depth > text.maxDepth) {
    fail(text, 'too_deep', position, `nested deeper than the limit of ${text.maxDepth}`)
  }
}

function expectByte(text: Text, at: number, byte: number, expected: string): void {
  if (at >= text.end) fail(text, 'truncated', text.end, `${expected}, got the end`)
  if (text.bytes[at] !== byte) fail(text, 'syntax', at, expected)
}

function scanEscape(text: Text, position: number): number {
  const { bytes, end } = text
  if (position + 1 >= end) fail(text, 'truncated', end, 'expected an escape, got the end')
  const letter = bytes[position + 1]!
  if (SHORT_ESCAPE[letter] === 1) return position + 2
  if (letter !== 0x75) fail(text, 'syntax', position, 'unknown escape in a string')
  for (let at = position + 2; at < position + 6; at += 1) {
    if (at >= end) fail(text, 'truncated', end, 'expected four hex digits, got the end')
    if (!isHex(bytes[at]!)) fail(text, 'syntax', at, 'expected four hex digits after \\u')
  }
  return position + 6
}

/** One character of two to four bytes, shortest form, no surrogate (RFC 3629 section 4). */
function scanUtf8(text: Text, position: number): number {
  const { bytes, end } = text
  const lead = bytes[position]!
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2
  let lowest = 0x80
  let highest = 0xbf
  if (lead === 0xe0) lowest = 0xa0
  else if (lead === 0xed) highest = 0x9f
  else if (lead === 0xf0) lowest = 0x90
  else if (lead === 0xf4) highest = 0x8f
  if (lead < 0xc2 || lead > 0xf4) fail(text, 'utf8', position, 'not valid UTF-8')
  for (let at = position + 1; at < position + length; at += 1) {
    if (at >= end) fail(text, 'truncated', end, 'expected the rest of a UTF-8 character')
    const byte = bytes[at]!
    if (byte < lowest || byte > highest) fail(text, 'utf8', position, 'not valid UTF-8')
    lowest = 0x80
    highest = 0xbf
  }
  return position + length
}

function scanNumber(text: Text, position: number): number {
  const { bytes } = text
  let at = bytes[position] === 0x2d ? position + 1 : position
  at = bytes[at] === 0x30 && at < text.end ? at + 1 : scanDigits(text, at)
  if (bytes[at] === 0x2e && at < text.end) at = scanDigits(text, at + 1)
  if ((bytes[at] === 0x65 || bytes[at] === 0x45) && at < text.end) {
    const sign = bytes[at + 1]
    at = scanDigits(text, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1)
  }
  return at
}

function scanDigits(text: Text, position: number): number {
  if (position >= text.end) fail(text, 'truncated', text.end, 'expected a digit, got the end')
  let at = position
  while (at < text.end && isDigit(text.bytes[at]!)) at += 1
  if (at === position) fail(text, 'syntax', at, 'expected a digit')
  return at
}

function scanLiteral(text: Text, position: number, word: Uint8Array): number {
  for (let index = 0; index < word.length; index += 1) {
    if (position + index >= text.end) fail(text, 'truncated', text.end, 'a word is cut short')
    if (text.bytes[position + index] !== word[index]) {
      fail(text, 'syntax', position, 'expected true, false or null')
    }
  }
  return position + word.length
}

/** Skips a container of text that was checked before: only quotes and brackets matter. */
function skim(text: Text, position: number): number {
  const { bytes, end } = text
  let depth = 0
  let at = position
  while (at < end) {
    const byte = bytes[at]!
    if (byte === QUOTE) {
      at = skimString(text, at)
      continue
    }
    if (byte === BRACE_OPEN || byte === BRACKET_OPEN) depth += 1
    else if (byte === BRACE_CLOSE || byte === BRACKET_CLOSE) {
      depth -= 1
      if (depth === 0) return at + 1
    }
    at += 1
  }
  return fail(text, 'truncated', end, 'expected the end of a container, got the end')
}

/** Short strings are the most: the call out of JavaScript pays only behind them. */
function indexOfQuote(bytes: Uint8Array, from: number): number {
  const near = Math.min(bytes.length, from + NEAR)
  for (let at = from; at < near; at += 1) if (bytes[at] === QUOTE) return at
  return near === bytes.length ? -1 : indexOfByte(bytes, QUOTE, near)
}

/** Buffer's search is many times that of Uint8Array. */
function indexOfByte(bytes: Uint8Array, byte: number, from: number): number {
  return Buffer.prototype.indexOf.call(bytes, byte, from)
}

function skimString(text: Text, position: number): number {
  const { bytes, end } = text
  let from = position + 1
  for (;;) {
    const quote = indexOfQuote(bytes, from)
    if (quote < 0 || quote >= end) {
      fail(text, 'truncated', end, 'expected the end of a string, got the end', position)
    }
    let before = quote - 1
    while (before > position && bytes[before] === BACKSLASH) before -= 1
    // An even number of backslashes escapes itself and leaves the quote alone.
    if ((quote - 1 - before) % 2 === 0) return quote + 1
    from = quote + 1
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

function isHex(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
}
