/**
 * JSON with comments and trailing commas, as desktop hosts accept it, with the place of every value: a host's file is
 * changed by replacing one value's text, and every other byte stays.
 */

export interface JsoncNode {
  readonly value: unknown
  /** Offsets into the text, without surrounding space. */
  readonly start: number
  readonly end: number
  /** Of an object, in the order of the text; a key that stands twice is here twice. */
  readonly members?: readonly JsoncMember[]
}

export interface JsoncMember {
  readonly key: string
  readonly node: JsoncNode
}

const MAX_DEPTH = 100

/** What is wrong with a text, by line. */
export class JsoncFault extends Error {
  override readonly name = 'JsoncFault'
}

/** @throws JsoncFault with the line. The text around it is not quoted: it may be a secret. */
export function parseJsonc(text: string): JsoncNode {
  const reader = createReader(text)
  const node = reader.value(0)
  reader.end()
  return node
}

interface Reader {
  value(depth: number): JsoncNode
  end(): void
}

function createReader(text: string): Reader {
  let at = text.startsWith('\ufeff') ? 1 : 0

  const fail = (expected: string): never => {
    throw faultAt(text, at, expected)
  }
  const matchAt = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  const matchString = (): string | undefined => {
    const start = at
    at = endOfString(text, start) ?? start
    return at === start ? undefined : text.slice(start, at)
  }
  const skip = (): void => {
    matchAt(SPACE)
    if (text.startsWith('/*', at)) fail('the end of a comment (*/)')
  }
  const take = (character: string): boolean => {
    skip()
    if (text[at] !== character) return false
    at += 1
    return true
  }
  const string = (expected: string): string => {
    return unquote(matchString() ?? fail(expected))
  }
  const unquote = (source: string): string => {
    const parsed = parseString(source)
    return parsed ?? fail('text without control characters and with JSON escapes')
  }

  const object = (start: number, depth: number): JsoncNode => {
    const members: JsoncMember[] = []
    while (!take('}')) {
      skip()
      const key = string('a key in quotes or }')
      if (!take(':')) fail(':')
      members.push({ key, node: value(depth + 1) })
      if (!take(',')) {
        if (!take('}')) fail(', or }')
        break
      }
    }
    const entries = members.map(({ key, node }) => [key, node.value] as const)
    return { value: Object.fromEntries(entries), start, end: at, members }
  }

  const array = (start: number, depth: number): JsoncNode => {
    const items: unknown[] = []
    while (!take(']')) {
      items.push(value(depth + 1).value)
      if (!take(',')) {
        if (!take(']')) fail(', or ]')
        break
      }
    }
    return { value: items, start, end: at }
  }

  const value = (depth: number): JsoncNode => {
    if (depth > MAX_DEPTH) fail(`at most ${MAX_DEPTH} levels`)
    skip()
    const start = at
    if (take('{')) return object(start, depth)
    if (take('[')) return array(start, depth)
    const quoted = matchString()
    if (quoted !== undefined) return { value: unquote(quoted), start, end: at }
    const source = matchAt(LITERAL) ?? fail('a value')
    return { value: JSON.parse(source), start, end: at }
  }

  return {
    value,
    end: () => {
      skip()
      if (at < text.length) fail('nothing more')
    },
  }
}

function faultAt(text: string, at: number, expected: string): JsoncFault {
  const line = text.slice(0, at).split('\n').length
  const got = at >= text.length ? 'the end' : 'something else'
  return new JsoncFault(`line ${line}: expected ${expected}, got ${got}`)
}

function parseString(source: string): string | undefined {
  try {
    return JSON.parse(source) as string
  } catch {
    return undefined
  }
}

/** Without a pattern: one would need room for every character of a long text. */
function endOfString(text: string, start: number): number | undefined {
  if (text[start] !== '"') return undefined
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text[before - 1] === '\\') before -= 1
    if ((end - before) % 2 === 0) return end + 1
  }
  return undefined
}

const SPACE = /(?:[ \t\r\n]+|\/\/[^\n]*|\/\*[^]*?\*\/)*/y
const LITERAL =
  /(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_.])/y
