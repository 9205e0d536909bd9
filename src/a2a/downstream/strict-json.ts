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
      return readString(scan).canonical
    default:
      return readLexeme(scan)
  }
}

function readObject(scan: Scan, depth: number): string {
  const members = new Map<string, string>()
  readItems(scan, '}', () => {
    const { value: key } = readString(scan)
    if (members.has(key)) throw new Offence(`the key ${quote(key)} is given twice`)
    if (key.includes('\0') || key.includes('\uFEFF')) {
      throw new Offence(`the key ${quote(key)} holds NUL or a byte order mark`)
    }
    skipSpace(scan)
    scan.at += 1
    members.set(key, readValue(scan, depth + 1))
  })
  const keys = [...members.keys()].toSorted()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${members.get(key)}`).join(',')}}`
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

function readString(scan: Scan): { readonly value: string; readonly canonical: string } {
  const start = scan.at
  let end = scan.text.indexOf('"', start + 1)
  while (isEscaped(scan.text, end)) end = scan.text.indexOf('"', end + 1)
  scan.at = end + 1
  const written = scan.text.slice(start, scan.at)
  // Only an escape can write one string in two ways, or bring half of a pair: the text was UTF-8.
  if (!written.includes('\\')) return { value: written.slice(1, -1), canonical: written }
  const value = JSON.parse(written) as string
  if (!value.isWellFormed()) throw new Offence('a string holds half of a surrogate pair')
  return { value, canonical: JSON.stringify(value) }
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text[at - 1 - slashes] === '\\') slashes += 1
  return slashes % 2 === 1
}

function readLexeme(scan: Scan): string {
  const start = scan.at
  while (scan.at < scan.text.length && !isDelimiter(scan.text.charCodeAt(scan.at))) scan.at += 1
  const lexeme = scan.text.slice(start, scan.at)
  if (/^[-\d]/u.test(lexeme) && !Number.isFinite(Number(lexeme))) {
    throw new Offence('a number is too large for a double')
  }
  return lexeme
}

function isDelimiter(code: number): boolean {
  return code === 0x2c || code === 0x5d || code === 0x7d || isSpace(code)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

function skipSpace(scan: Scan): void {
  while (isSpace(scan.text.charCodeAt(scan.at))) scan.at += 1
}

function quote(key: string): string {
  return JSON.stringify(key.slice(0, 80))
}
