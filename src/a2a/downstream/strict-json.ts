/**
 * The stricter reading of a request: refuses what two sound readers may understand differently, so that policy sees exactly
 * what the peer will get. Gives the canonical form too, by which a repeated message is known for the same one.
 *
 * Works only on text that JSON.parse has accepted. Number lexemes are kept: 1 and 1.0 differ, digits beyond 2^53 count.
 */

/** The canonical text (sorted keys, no white space), or the first offence. */
export type Scanned = { readonly canonical: string } | { readonly offence: string }

const MAX_DEPTH = 128

interface Scan {
  readonly text: string
  at: number
}

class Offence extends Error {}

/** Reads a whole JSON text strictly, at every depth. */
export function scanStrictly(text: string): Scanned {
  try {
    return { canonical: readValue({ text, at: 0 }, 0) }
  } catch (error) {
    if (error instanceof Offence) return { offence: error.message }
    throw error
  }
}

function readValue(scan: Scan, depth: number): string {
  if (depth > MAX_DEPTH) throw new Offence(`nested deeper than ${MAX_DEPTH} levels`)
  skipSpace(scan)
  switch (scan.text.charAt(scan.at)) {
    case '{':
      return readObject(scan, depth)
    case '[':
      return readArray(scan, depth)
    case '"':
      return JSON.stringify(readString(scan))
    default:
      return readLexeme(scan)
  }
}

function readObject(scan: Scan, depth: number): string {
  const members = new Map<string, string>()
  readItems(scan, '}', () => {
    const key = readString(scan)
    if (members.has(key)) throw new Offence(`the key ${quote(key)} is given twice`)
    if (key.includes('\0') || key.includes('\uFEFF')) {
      throw new Offence(`the key ${quote(key)} holds NUL or a byte order mark`)
    }
    skipSpace(scan)
    scan.at += 1
    members.set(key, readValue(scan, depth + 1))
  })
  const sorted = [...members].toSorted(([left], [right]) => (left < right ? -1 : 1))
  return `{${sorted.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`
}

function readArray(scan: Scan, depth: number): string {
  const items: string[] = []
  readItems(scan, ']', () => items.push(readValue(scan, depth + 1)))
  return `[${items.join(',')}]`
}

function readItems(scan: Scan, close: string, readItem: () => void): void {
  scan.at += 1
  skipSpace(scan)
  while (scan.text[scan.at] !== close) {
    readItem()
    skipSpace(scan)
    if (scan.text[scan.at] === ',') scan.at += 1
    skipSpace(scan)
  }
  scan.at += 1
}

function readString(scan: Scan): string {
  const start = scan.at
  let end = scan.text.indexOf('"', start + 1)
  while (isEscaped(scan.text, end)) end = scan.text.indexOf('"', end + 1)
  scan.at = end + 1
  const value = JSON.parse(scan.text.slice(start, scan.at)) as string
  if (!value.isWellFormed()) throw new Offence('a string holds half of a surrogate pair')
  return value
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text[at - 1 - slashes] === '\\') slashes += 1
  return slashes % 2 === 1
}

function readLexeme(scan: Scan): string {
  const start = scan.at
  while (scan.at < scan.text.length && !',]} \t\n\r'.includes(scan.text.charAt(scan.at))) {
    scan.at += 1
  }
  const lexeme = scan.text.slice(start, scan.at)
  if (/^[-\d]/u.test(lexeme) && !Number.isFinite(Number(lexeme))) {
    throw new Offence('a number is too large for a double')
  }
  return lexeme
}

function skipSpace(scan: Scan): void {
  while (' \t\n\r'.includes(scan.text.charAt(scan.at)) && scan.at < scan.text.length) scan.at += 1
}

function quote(key: string): string {
  return JSON.stringify(key.slice(0, 80))
}
