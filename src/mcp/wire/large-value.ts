/**
 * A large value, read by its parts: its long strings are taken from the bytes as they are, where a parser of the whole text
 * would look at every letter once more. Whatever is small or deep is parsed as ever.
 */
import { openText, scanValue, skipSpace, typeAt, walkArray, walkObject, type Text } from './scan.ts'
import { readString, readValue } from './spans.ts'

/** Less than this is parsed as it is, bytes. */
const LARGE_BYTES = 2048
/** Containers within containers that are looked into: each level passes over all that is in it once more. */
const MAX_DEPTH = 3
const VALIDATED = { validated: true }

/** As `readValue`. @param bytes one value that was scanned before. */
export function readLargeValue(bytes: Uint8Array): unknown {
  if (bytes.length < LARGE_BYTES) return readValue(bytes)
  const text = openText(bytes, undefined, VALIDATED)
  const start = skipSpace(text, 0)
  return valueAt(text, start, scanValue(text, start, 0), 0)
}

function valueAt(text: Text, start: number, end: number, depth: number): unknown {
  const { bytes } = text
  const type = typeAt(text, start)
  if (end - start >= LARGE_BYTES) {
    if (type === 'string') return readString(bytes, { start, end })
    if (depth < MAX_DEPTH && type === 'object') return objectAt(text, start, end, depth + 1)
    if (depth < MAX_DEPTH && type === 'array') return arrayAt(text, start, depth + 1)
  }
  return readValue(bytes, { start, end })
}

function objectAt(text: Text, start: number, end: number, depth: number): unknown {
  const { bytes } = text
  const object: Record<string, unknown> = {}
  let hasPrototype = false
  walkObject(text, start, depth, (keyStart, keyEnd, valueStart) => {
    const key = readString(bytes, { start: keyStart, end: keyEnd })
    const valueEnd = scanValue(text, valueStart, depth)
    // To set it would be to say what the object inherits.
    if (key === '__proto__') hasPrototype = true
    else object[key] = valueAt(text, valueStart, valueEnd, depth)
    return valueEnd
  })
  return hasPrototype ? readValue(bytes, { start, end }) : object
}

function arrayAt(text: Text, start: number, depth: number): unknown[] {
  const items: unknown[] = []
  walkArray(text, start, depth, (itemStart) => {
    const itemEnd = scanValue(text, itemStart, depth)
    items.push(valueAt(text, itemStart, itemEnd, depth))
    return itemEnd
  })
  return items
}
