/**
 * The one text of a plain JSON value: keys sorted, no white space. What the chain hashes is what is stored.
 *
 * Bounded, because facts come from everywhere: long texts are clipped, large facts are replaced by their size and keys.
 */

/** Longest facts of one entry, in characters of their canonical text. */
export const MAX_FACTS = 16_384
const MAX_DEPTH = 32

/** Canonical JSON. What JSON cannot say (undefined, functions) is left out, as JSON.stringify does. */
export function canonicalText(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) return '"(nested too deep)"'
  if (typeof value === 'bigint') return JSON.stringify(value.toString())
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) {
    return `[${value.map((item) => canonicalText(item, depth + 1)).join(',')}]`
  }
  let text = ''
  for (const key of sortedKeys(value)) {
    const member: unknown = (value as Record<string, unknown>)[key]
    if (member === undefined || typeof member === 'function') continue
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalText(member, depth + 1)}`
  }
  return `{${text}}`
}

/** By UTF-16 code unit. Facts are mostly made in that order, and then nothing is moved. */
function sortedKeys(value: object): readonly string[] {
  const keys = Object.keys(value)
  for (let index = 1; index < keys.length; index += 1)
    if (keys[index - 1]! > keys[index]!) return keys.sort()
  return keys
}

/** The facts of an entry as they are stored. */
export function factsText(facts: Readonly<Record<string, unknown>>): string {
  return boundedText(canonicalText(facts), facts)
}

/** Canonical text of facts as it is stored: what is too long is replaced. @param facts default: what the text says. */
export function boundedText(text: string, facts?: object): string {
  if (text.length <= MAX_FACTS) return text
  const keys = Object.keys(facts ?? (JSON.parse(text) as object))
    .slice(0, 50)
    .map((key) => clip(key, 100))
  return canonicalText({ tooLong: { characters: text.length, limit: MAX_FACTS, keys } })
}

/** A text cut to a limit, saying so. */
export function clip(text: string, limit = 1024): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}… (${text.length} characters)`
}
