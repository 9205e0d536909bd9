/**
 * Spans and splices: finds the members of a JSON object or array as byte ranges and changes them
 * without touching any other byte.
 *
 * The relay path reads and rewrites messages only through this file, so that unknown fields,
 * number lexemes, white space and escapes arrive as they were sent.
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
  type JsonType,
  type ScanOptions,
  type Span,
  type Text,
} from './scan.ts'

export type { JsonType, ScanOptions, Span } from './scan.ts'

/** One member of an object. */
export interface Member {
  /** The key, unescaped. */
  readonly key: string
  /** The key with its quotes. */
  readonly keySpan: Span
  readonly value: Span
  readonly type: JsonType
}

/** One item of an array. */
export interface Item extends Span {
  readonly type: JsonType
}

/** Replaces `span` by `bytes`; an empty span inserts, no bytes remove. */
export interface Edit {
  readonly span: Span
  readonly bytes: Uint8Array
}

/** How to scan an object. */
export interface ObjectOptions extends ScanOptions {
  /** True keeps repeated keys in the answer instead of refusing them. Default false. */
  readonly allowDuplicates?: boolean
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const encoder = new TextEncoder()
const NOTHING = new Uint8Array(0)
const BACKSLASH = 0x5c
const BRACE_OPEN = 0x7b
/** From so many members on, a set finds repeated keys faster than looking at each pair. */
const MANY_MEMBERS = 12
/** From so many bytes on memory is not cleared first. */
const LARGE_BYTES = 4096

/** A member as it was found; its value's span is itself, since there is one for every member of every message. */
export class Found implements Member {
  readonly key: string
  readonly type: JsonType
  readonly start: number
  readonly end: number
  readonly keyStart: number
  readonly keyEnd: number

  constructor(
    key: string,
    type: JsonType,
    keyStart: number,
    keyEnd: number,
    start: number,
    end: number,
  ) {
    this.key = key
    this.type = type
    this.start = start
    this.end = end
    this.keyStart = keyStart
    this.keyEnd = keyEnd
  }

  get keySpan(): Span {
    return { start: this.keyStart, end: this.keyEnd }
  }

  get value(): Span {
    return this
  }
}

/** An object among the members of another one, whose own members are told on the way. */
export class Within {
  readonly key: string
  /** One among its members in turn. */
  readonly within: Within | undefined
  /**
   * Spans count from where the outermost of such objects begins. Undefined when there is none, or when keys in it repeat:
   * whoever scans it is told so.
   */
  members: readonly Member[] | undefined

  constructor(key: string, within?: Within) {
    this.key = key
    this.within = within
  }
}

/**
 * Reads one object: checks the whole text (or span) strictly and tells its own members.
 *
 * @param at the span to read; all bytes when left out.
 * @param within filled on the way.
 * @returns members in the order of the text. Keys are unique unless `allowDuplicates`.
 * @throws JsonFault for anything but one sound object.
 */
export function scanObject(
  bytes: Uint8Array,
  at?: Span,
  options?: ObjectOptions,
  within?: Within,
): readonly Member[] {
  const text = openText(bytes, at, options)
  const open = skipSpace(text, text.start)
  if (typeAt(text, open) !== 'object') fail(text, 'not_object', open, 'expected a JSON object')
  const members: Member[] = []
  expectEnd(text, collectMembers(text, open, 1, members, within, 0))
  if (options?.allowDuplicates !== true) refuseDuplicates(text, members)
  return members
}

/** @param from where spans count from. @returns the place after the object. */
function collectMembers(
  text: Text,
  open: number,
  depth: number,
  members: Member[],
  within: Within | undefined,
  from: number,
): number {
  const { bytes } = text
  let keyStart = firstKey(text, open, depth)
  while (keyStart >= 0) {
    const keyEnd = scanString(text, keyStart)
    const start = valueAfter(text, keyEnd)
    const type = typeAt(text, start)
    const key = readText(bytes, keyStart, keyEnd)
    const end =
      within !== undefined && type === 'object' && key === within.key
        ? collectWithin(text, start, depth + 1, within, from)
        : scanValue(text, start, depth)
    members.push(new Found(key, type, keyStart - from, keyEnd - from, start - from, end - from))
    keyStart = nextKey(text, end)
  }
  return -keyStart
}

function collectWithin(
  text: Text,
  open: number,
  depth: number,
  within: Within,
  from: number,
): number {
  const members: Member[] = []
  const end = collectMembers(text, open, depth, members, within.within, from === 0 ? open : from)
  within.members = repeatedMember(members) === undefined ? members : undefined
  return end
}

/** Reads one array; as scanObject. */
export function scanArray(bytes: Uint8Array, at?: Span, options?: ScanOptions): readonly Item[] {
  const text = openText(bytes, at, options)
  const open = skipSpace(text, text.start)
  if (typeAt(text, open) !== 'array') fail(text, 'not_array', open, 'expected a JSON array')
  const items: Item[] = []
  const close = walkArray(text, open, 1, (start) => {
    const type = typeAt(text, start)
    const end = scanValue(text, start, 1)
    items.push({ start, end, type })
    return end
  })
  expectEnd(text, close)
  return items
}

/** Checks that the bytes (or span) are one sound JSON value. @throws JsonFault otherwise. */
export function scanJson(bytes: Uint8Array, at?: Span, options?: ScanOptions): JsonType {
  const text = openText(bytes, at, options)
  const start = skipSpace(text, text.start)
  const type = typeAt(text, start)
  expectEnd(text, scanValue(text, start, 0))
  return type
}

/** The member of that key, if there is one. */
export function findMember(members: readonly Member[], key: string): Member | undefined {
  for (const member of members) if (member.key === key) return member
  return undefined
}

/** The bytes of a span, not copied. */
export function sliceOf(bytes: Uint8Array, span: Span): Uint8Array {
  return bytes.subarray(span.start, span.end)
}

/** The text of a span as it stands. */
export function textOf(bytes: Uint8Array, span: Span): string {
  return decoder.decode(bytes.subarray(span.start, span.end))
}

/** The unescaped text of a string. @param span a scanned string with its quotes. */
export function readString(bytes: Uint8Array, span: Span): string {
  return readText(bytes, span.start, span.end)
}

/** As `readString`, of a string between these places. */
export function readText(bytes: Uint8Array, from: number, to: number): string {
  const start = from + 1
  const end = to - 1
  // Keys and names are short, plain and mostly the same; a decoder call costs more than this loop.
  if (end - start <= MAX_KNOWN) {
    const known = readKnown(bytes, start, end)
    if (known !== undefined) return known
  }
  const span = { start: from, end: to }
  if (!hasEscape(bytes, span)) return decoder.decode(bytes.subarray(start, end))
  return JSON.parse(textOf(bytes, span)) as string
}

/** Longest text that is looked up among those read before, in bytes. */
const MAX_KNOWN = 64
const KNOWN_PLACES = 1024
/** Texts that were read lately, each at one of two places that its length and some of its bytes give it. */
const knownTexts: string[] = Array.from({ length: KNOWN_PLACES }, () => '')

/** A short plain text, the very string that it was last time; undefined when it holds an escape or is not ASCII. */
function readKnown(bytes: Uint8Array, start: number, end: number): string | undefined {
  const length = end - start
  if (length === 0) return ''
  // Looked at in five places: keys of one prefix and one end are many.
  const place =
    (length * 97 +
      bytes[start]! * 31 +
      bytes[start + (length >> 2)]! * 13 +
      bytes[start + (length >> 1)]! * 53 +
      bytes[end - 1 - (length >> 2)]! * 19 +
      bytes[end - 1]! * 7) %
    KNOWN_PLACES
  const known = knownTexts[place]!
  if (isText(known, bytes, start, length)) return known
  const other = knownTexts[place ^ 1]!
  if (isText(other, bytes, start, length)) return other
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]!
    if (byte >= 0x80 || byte === BACKSLASH) return undefined
  }
  const text = Buffer.prototype.latin1Slice.call(bytes, start, end)
  // Two that would stand at one place have one each.
  knownTexts[place ^ 1] = known
  knownTexts[place] = text
  return text
}

function isText(text: string, bytes: Uint8Array, start: number, length: number): boolean {
  if (text.length !== length) return false
  let at = 0
  while (at < length && text.charCodeAt(at) === bytes[start + at]) at += 1
  return at === length
}

/** The value of a span that was scanned before, parsed. Numbers beyond 2^53 lose digits here. */
export function readValue(bytes: Uint8Array, span?: Span): unknown {
  return JSON.parse(span === undefined ? decoder.decode(bytes) : textOf(bytes, span))
}

/** The JSON text of a value, as bytes. */
export function encodeJson(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value))
}

/**
 * Applies edits in one copy; every byte outside of them stays.
 *
 * @param edits in any order; those at one place apply in the order given.
 * @throws RangeError when two overlap: our own mistake, never the text's.
 */
export function splice(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array {
  if (edits.length === 0) return bytes
  const ordered = isOrdered(edits)
    ? edits
    : edits.toSorted(
        (one, other) => one.span.start - other.span.start || one.span.end - other.span.end,
      )
  let { length } = bytes
  let last = 0
  for (const { span, bytes: insert } of ordered) {
    if (span.start < last || span.end < span.start || span.end > bytes.length) {
      throw new RangeError(`edits must not overlap: ${span.start}-${span.end} after ${last}`)
    }
    length += insert.length - (span.end - span.start)
    last = span.end
  }
  const result = unclearedBytes(length)
  let from = 0
  let to = 0
  for (const { span, bytes: insert } of ordered) {
    result.set(bytes.subarray(from, span.start), to)
    to += span.start - from
    result.set(insert, to)
    to += insert.length
    from = span.end
  }
  result.set(bytes.subarray(from), to)
  return result
}

function isOrdered(edits: readonly Edit[]): boolean {
  for (let index = 1; index < edits.length; index += 1) {
    const before = edits[index - 1]!.span
    const { start, end } = edits[index]!.span
    if (before.start > start || (before.start === start && before.end > end)) return false
  }
  return true
}

/** Sets (bytes) or removes (undefined) members, by key. */
export type Changes = Readonly<Record<string, Uint8Array | undefined>>

/**
 * The edits that bring an object's members to `changes`: a member that exists keeps its place and
 * key, a new one goes to the end, commas are kept right.
 *
 * @param members of this object, as scanned: all of them.
 * @param object the object's span; only its opening brace is looked at.
 */
export function memberEdits(members: readonly Member[], object: Span, changes: Changes): Edit[] {
  const edits: Edit[] = []
  let lastKept: Member | undefined
  for (let index = 0; index < members.length; index += 1) {
    const member = members[index]!
    if (!Object.hasOwn(changes, member.key)) lastKept = member
    else if (changes[member.key] !== undefined) {
      edits.push({ span: member.value, bytes: changes[member.key]! })
      lastKept = member
    } else edits.push({ span: removalSpan(members, index, lastKept !== undefined), bytes: NOTHING })
  }
  const parts: Uint8Array[] = []
  for (const key of Object.keys(changes)) {
    const value = changes[key]
    if (value === undefined || findMember(members, key) !== undefined) continue
    const comma = parts.length > 0 || lastKept !== undefined
    parts.push(Buffer.from(`${comma ? ',' : ''}${JSON.stringify(key)}:`), value)
  }
  if (parts.length > 0) {
    const place = lastKept?.value.end ?? object.start + 1
    edits.push({ span: { start: place, end: place }, bytes: concat(parts) })
  }
  return edits
}

/** The bytes with the members of one object changed. @throws JsonFault when it is no object. */
export function setMembers(bytes: Uint8Array, object: Span | undefined, changes: Changes) {
  const start = skipSpace(openText(bytes, object), object?.start ?? 0)
  const members = scanObject(bytes, object)
  return splice(bytes, memberEdits(members, { start, end: object?.end ?? bytes.length }, changes))
}

/**
 * The bytes of one object with its members changed.
 *
 * @param members of these bytes, as scanned: all of them, so that they are not scanned once more.
 */
export function changeMembers(
  bytes: Uint8Array,
  members: readonly Member[],
  changes: Changes,
): Uint8Array {
  const object = { start: bytes.indexOf(BRACE_OPEN), end: bytes.length }
  return splice(bytes, memberEdits(members, object, changes))
}

/** The bytes with one member set, in its place or at the end. */
export function setMember(bytes: Uint8Array, object: Span, key: string, value: Uint8Array) {
  return setMembers(bytes, object, { [key]: value })
}

/** Memory of its own that is to be written whole: clearing a large one costs as much as filling it. */
function unclearedBytes(length: number): Uint8Array {
  if (length < LARGE_BYTES) return new Uint8Array(length)
  const { buffer, byteOffset } = Buffer.allocUnsafeSlow(length)
  return new Uint8Array(buffer, byteOffset, length)
}

/** One buffer of all parts. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const result = unclearedBytes(length)
  let at = 0
  for (const part of parts) {
    result.set(part, at)
    at += part.length
  }
  return result
}

/** Takes the comma before it when something kept stands before, else the comma after it. */
function removalSpan(members: readonly Member[], index: number, keptBefore: boolean): Span {
  const member = members[index]!
  const before = members[index - 1]
  const after = members[index + 1]
  if (keptBefore && before) return { start: before.value.end, end: member.value.end }
  return { start: member.keySpan.start, end: after?.keySpan.start ?? member.value.end }
}

function refuseDuplicates(text: Text, members: readonly Member[]): void {
  const repeated = repeatedMember(members)
  if (repeated === undefined) return
  const { keySpan } = repeated
  fail(text, 'duplicate_key', keySpan.start, 'a key must not be repeated', keySpan.end)
}

/** The first member whose key stood before. */
export function repeatedMember(members: readonly Member[]): Member | undefined {
  const { length } = members
  if (length >= MANY_MEMBERS) {
    const seen = new Set<string>()
    for (const member of members) {
      if (seen.has(member.key)) return member
      seen.add(member.key)
    }
    return undefined
  }
  for (let index = 1; index < length; index += 1)
    for (let before = 0; before < index; before += 1)
      if (members[before]!.key === members[index]!.key) return members[index]
  return undefined
}
