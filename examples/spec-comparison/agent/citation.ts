/**
 * Readings and citations: the only way a statement of this agent points at its source.
 *
 * A citation is made from a reading and nothing else, so its quote is always the bytes that the
 * documents server handed over, under the digest it gave for the whole file.
 */

/** One document as it was read, whole, at one moment. */
export interface Reading {
  readonly document: string
  readonly version: string
  /** `sha256:` and the hex digest of the whole file, as the documents server gave it. */
  readonly digest: string
  /** All lines joined by a line feed; a last line feed of the file leaves an empty last line. */
  readonly text: string
}

/** A range of lines, first and last included, counted from 1. */
export interface LineRange {
  readonly start: number
  readonly end: number
}

/** Where a statement comes from, exactly enough for a stranger to check it. */
export interface Citation {
  readonly document: string
  readonly version: string
  readonly lines: LineRange
  /** The exact text of those lines. */
  readonly quote: string
  readonly digest: string
}

/** The exact text of some lines of a reading; empty when the range lies outside it. */
export function quoteLines(reading: Reading, lines: LineRange): string {
  return reading.text
    .split('\n')
    .slice(lines.start - 1, lines.end)
    .join('\n')
}

/** A citation of these lines of this reading. */
export function citeLines(reading: Reading, lines: LineRange): Citation {
  const { document, version, digest } = reading
  return {
    document,
    version,
    lines: { start: lines.start, end: lines.end },
    quote: quoteLines(reading, lines),
    digest,
  }
}

/** What a reader calls this document: its file name without folder and extension. */
export function labelDocument(document: string): string {
  const name = document.slice(document.lastIndexOf('/') + 1)
  const dot = name.lastIndexOf('.')
  return dot > 0 ? name.slice(0, dot) : name
}
