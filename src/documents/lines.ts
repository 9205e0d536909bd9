/**
 * Lines: where they begin, and the exact text of a range of them.
 *
 * Only "\n" ends a line; a "\r" before it belongs to the line, so a quote is the bytes of the
 * file and not a tidied copy. A terminator at the very end begins no further line.
 */

/** A range of lines, both ends included, counted from 1. An empty document is 1..0. */
export interface LineRange {
  readonly start: number
  readonly end: number
}

/**
 * Finds where each line begins.
 *
 * @returns offsets into `text` in UTF-16 units, one a line; empty for an empty text.
 */
export function findLineStarts(text: string): Uint32Array {
  const starts: number[] = []
  let at = 0
  while (at < text.length) {
    starts.push(at)
    const terminator = text.indexOf('\n', at)
    if (terminator === -1) break
    at = terminator + 1
  }
  return Uint32Array.from(starts)
}

/**
 * The text of a range: its lines joined by "\n", without the terminator of the last one.
 *
 * @param range must lie within the text; an end below its start gives the empty text.
 */
export function textOfLines(text: string, starts: Uint32Array, range: LineRange): string {
  const from = starts[range.start - 1]
  if (from === undefined || range.end < range.start) return ''
  const next = starts[range.end]
  if (next !== undefined) return text.slice(from, next - 1)
  return text.endsWith('\n') ? text.slice(from, -1) : text.slice(from)
}
