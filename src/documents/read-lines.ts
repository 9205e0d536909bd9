/**
 * Reading: which lines of a document come back in one answer, and where it is cut.
 */
import { MAX_READ_BYTES, MAX_READ_LINES } from './contracts.ts'
import type { Document } from './document.ts'
import type { LineRange } from './lines.ts'
import { textOfLines } from './lines.ts'

/** A piece of a document. */
export interface Piece {
  /** What came, not what was asked for. */
  readonly lines: LineRange
  readonly text: string
  /** The limit cut it. */
  readonly truncated: boolean
}

/**
 * Takes a range of lines, at most 2,000 lines or 512 KiB of it.
 *
 * @param range an end beyond the document is its last line; absent is the whole document.
 * @returns what is wrong with the range when nothing can be read.
 */
export function readLines(
  document: Document,
  range: { readonly start: number; readonly end?: number | undefined } | undefined,
): Piece | { readonly path: string; readonly expected: string } {
  const total = document.lineStarts.length
  const start = range?.start ?? 1
  const wantedEnd = range?.end ?? total
  if (range !== undefined && start > total) {
    return {
      path: 'lines.start',
      expected: `expected at most ${total}, the number of lines, got ${start}`,
    }
  }
  if (range !== undefined && wantedEnd < start) {
    return {
      path: 'lines.end',
      expected: `expected at least lines.start (${start}), got ${wantedEnd}`,
    }
  }
  const lastEnd = Math.min(wantedEnd, total)
  const end = lastLineWithin(document, start, Math.min(lastEnd, start + MAX_READ_LINES - 1))
  if (end < start && lastEnd >= start) {
    const line = { start, end: start }
    const whole = textOfLines(document.text, document.lineStarts, line)
    return { lines: line, text: cutBytes(whole), truncated: true }
  }
  const lines = { start, end }
  const text = textOfLines(document.text, document.lineStarts, lines)
  return { lines, text, truncated: end < lastEnd }
}

/** The last line up to which the text fits; below `start` when the first alone does not. */
function lastLineWithin(document: Document, start: number, last: number): number {
  let bytes = -1
  for (let line = start; line <= last; line++) {
    const text = textOfLines(document.text, document.lineStarts, { start: line, end: line })
    bytes += Buffer.byteLength(text) + 1
    if (bytes > MAX_READ_BYTES) return line - 1
  }
  return last
}

/** A single line above the limit: as many whole characters of it as fit. */
function cutBytes(text: string): string {
  const bytes = Buffer.from(text).subarray(0, MAX_READ_BYTES)
  // With `stream` an incomplete character at the end is held back instead of replaced.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
}
