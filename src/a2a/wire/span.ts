/**
 * Where the members of a JSON text lie, so that a part of a message can be kept as it was received.
 *
 * Works only on text that JSON.parse has accepted: it finds ends, it judges nothing. A value cut out
 * this way keeps what parsing loses: digits of large integers and the sender's own writing.
 */

/** A piece of a text: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The span of the whole value in a text. */
export function wholeSpan(text: string): Span {
  const start = skipSpace(text, 0)
  return { start, end: valueEnd(text, start) }
}

/** The members of an object; of a name given twice the last, as JSON.parse has it. */
export function membersOf(text: string, span: Span): Map<string, Span> {
  const members = new Map<string, Span>()
  if (text[span.start] !== '{') return members
  let at = skipSpace(text, span.start + 1)
  while (text[at] === '"') {
    const keyEnd = stringEnd(text, at)
    const key = JSON.parse(text.slice(at, keyEnd)) as string
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = valueEnd(text, start)
    members.set(key, { start, end })
    at = skipSpace(text, end)
    if (text[at] !== ',') break
    at = skipSpace(text, at + 1)
  }
  return members
}

/** The elements of an array, in order. */
export function elementsOf(text: string, span: Span): Span[] {
  const elements: Span[] = []
  if (text[span.start] !== '[') return elements
  let at = skipSpace(text, span.start + 1)
  while (at < span.end && text[at] !== ']') {
    const end = valueEnd(text, at)
    elements.push({ start: at, end })
    at = skipSpace(text, end)
    if (text[at] !== ',') break
    at = skipSpace(text, at + 1)
  }
  return elements
}

/** Follows names and indexes down; each step may name several spellings of one member. */
export function spanAt(
  text: string,
  path: readonly (number | readonly string[])[],
): Span | undefined {
  let span: Span | undefined = wholeSpan(text)
  for (const step of path) {
    if (span === undefined) return undefined
    if (typeof step === 'number') {
      span = elementsOf(text, span)[step]
    } else {
      const members: Map<string, Span> = membersOf(text, span)
      const name = step.find((spelling) => members.has(spelling))
      span = name === undefined ? undefined : members.get(name)
    }
  }
  return span
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at += 1
  return at
}

/** The index after the closing quote of the string that opens at `at`. */
function stringEnd(text: string, at: number): number {
  let index = at + 1
  while (true) {
    const quote = text.indexOf('"', index)
    if (quote === -1) return text.length
    let slashes = 0
    while (text[quote - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return quote + 1
    index = quote + 1
  }
}

function valueEnd(text: string, at: number): number {
  const first = text[at]
  if (first === '"') return stringEnd(text, at)
  if (first === '{' || first === '[') return containerEnd(text, at)
  let index = at
  while (index < text.length && !',]} \t\n\r'.includes(text.charAt(index))) index += 1
  return index
}

function containerEnd(text: string, at: number): number {
  let depth = 0
  for (let index = at; index < text.length; index += 1) {
    const char = text[index]
    if (char === '"') index = stringEnd(text, index) - 1
    else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') {
      depth -= 1
      if (depth === 0) return index + 1
    }
  }
  return text.length
}
