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
  hasEscape,
  openText,
  scanString,
  scanValue,
  skipSpace,
  typeAt,
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
  const numbers = options?.numbers ?? 'lexeme'
  const text = { ...openText(bytes, at, { ...options, validated: false }), numbers }
  const parts: Part[] = []
  expectEnd(text, writeValue(text, skipSpace(text, text.start), 0, parts))
  const flat: Uint8Array[] = []
  flatten(parts, flat)
  return concat(flat)
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
