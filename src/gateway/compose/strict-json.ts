/**
 * JSON read strictly, whole or wherever it stands in another text. Pure.
 *
 * Only what every reader takes for the same value is a value: a key that is there twice is a fault, since one reader sees the
 * first and another the last. Linear in the text, whatever is in it: after a fault the search goes on where the fault is.
 *
 * @source RFC 8259, 2 JSON Grammar and 4 Objects
 */

/** An object keeps its keys as they were read: `__proto__` is a key like any other. */
export type JsonObject = ReadonlyMap<string, JsonValue>
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject

/** An object and the part of the text that it fills, `end` excluded. */
export interface FoundObject {
  readonly start: number
  readonly end: number
  readonly value: JsonObject
}

/** Deeper than this nothing honest is nested. */
const MAX_DEPTH = 200
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const BEGIN = /\{[ \t\n\r]*["}]/g
const SPACE = /[ \t\n\r]*/y

/** The whole text as one value, a byte order mark before it left out; or in words why it is none. */
export function readJson(text: string): { readonly value: JsonValue } | { readonly fault: string } {
  const cursor = cursorOn(text, text.startsWith('\uFEFF') ? 1 : 0)
  try {
    const value = readValue(cursor, 0)
    skipSpace(cursor)
    if (cursor.at < text.length) fail(cursor, 'the end')
    return { value }
  } catch (error) {
    return { fault: faultOf(error) }
  }
}

/** Every object that stands in a text, each within no other, also in what breaks off later; and why others could not be read. */
export function findObjects(text: string): {
  readonly objects: readonly FoundObject[]
  readonly fault: string | undefined
} {
  const objects: FoundObject[] = []
  let fault: string | undefined
  // Prose and code are full of braces: what does not begin as an object is not tried.
  for (let start = findBegin(text, 0); start >= 0;) {
    const cursor = cursorOn(text, start)
    try {
      readValue(cursor, 0)
    } catch (error) {
      fault ??= faultOf(error)
    }
    for (const object of cursor.done) objects.push(object)
    start = findBegin(text, Math.max(cursor.at, start + 1))
  }
  return { objects, fault }
}

function findBegin(text: string, from: number): number {
  BEGIN.lastIndex = from
  return BEGIN.exec(text)?.index ?? -1
}

interface Cursor {
  readonly text: string
  at: number
  /** Objects read to their end, the outermost of each. */
  readonly done: FoundObject[]
}

class JsonFault extends Error {}

function cursorOn(text: string, at: number): Cursor {
  return { text, at, done: [] }
}

function faultOf(error: unknown): string {
  if (error instanceof JsonFault) return error.message
  throw error
}

function fail(cursor: Cursor, expected: string): never {
  const came = cursor.text.slice(cursor.at, cursor.at + 1)
  const got = came === '' ? 'the end' : JSON.stringify(came)
  throw new JsonFault(`expected ${expected} at character ${cursor.at}, got ${got}`)
}

function skipSpace(cursor: Cursor): void {
  SPACE.lastIndex = cursor.at
  SPACE.test(cursor.text)
  cursor.at = SPACE.lastIndex
}

function take(cursor: Cursor, character: string): boolean {
  skipSpace(cursor)
  if (cursor.text[cursor.at] !== character) return false
  cursor.at += 1
  return true
}

function readValue(cursor: Cursor, depth: number): JsonValue {
  skipSpace(cursor)
  const first = cursor.text[cursor.at]
  if (first === '{' || first === '[') {
    if (depth >= MAX_DEPTH) fail(cursor, `at most ${MAX_DEPTH} levels`)
    return first === '{' ? readObject(cursor, depth) : readArray(cursor, depth)
  }
  if (first === '"') return readString(cursor)
  for (const [word, value] of WORDS) {
    if (!cursor.text.startsWith(word, cursor.at)) continue
    cursor.at += word.length
    return value
  }
  NUMBER.lastIndex = cursor.at
  const lexeme = NUMBER.exec(cursor.text)?.[0] ?? fail(cursor, 'a value')
  cursor.at += lexeme.length
  return Number(lexeme)
}

const WORDS = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const

function readObject(cursor: Cursor, depth: number): JsonObject {
  const start = cursor.at
  const value = new Map<string, JsonValue>()
  cursor.at += 1
  if (!take(cursor, '}')) {
    do {
      skipSpace(cursor)
      const key = readString(cursor)
      if (value.has(key)) throw new JsonFault(`the key ${sayKey(key)} is there twice`)
      if (!take(cursor, ':')) fail(cursor, '":"')
      value.set(key, readValue(cursor, depth + 1))
    } while (take(cursor, ','))
    if (!take(cursor, '}')) fail(cursor, '"," or "}"')
  }
  while ((cursor.done.at(-1)?.start ?? -1) > start) cursor.done.pop()
  cursor.done.push({ start, end: cursor.at, value })
  return value
}

function readArray(cursor: Cursor, depth: number): readonly JsonValue[] {
  const value: JsonValue[] = []
  cursor.at += 1
  if (take(cursor, ']')) return value
  do value.push(readValue(cursor, depth + 1))
  while (take(cursor, ','))
  if (!take(cursor, ']')) fail(cursor, '"," or "]"')
  return value
}

function readString(cursor: Cursor): string {
  const { text, at: start } = cursor
  if (text[start] !== '"') fail(cursor, 'a string')
  for (cursor.at += 1; text[cursor.at] !== '"'; cursor.at += 1) {
    if (cursor.at >= text.length || text.charCodeAt(cursor.at) < 0x20)
      fail(cursor, 'the end of a string')
    if (text[cursor.at] === '\\') cursor.at += 1
  }
  cursor.at += 1
  try {
    return JSON.parse(text.slice(start, cursor.at)) as string
  } catch {
    throw new JsonFault(`a string with an escape that JSON does not have at character ${start}`)
  }
}

function sayKey(key: string): string {
  return JSON.stringify(key.slice(0, 40))
}
