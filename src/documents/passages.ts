/**
 * Passages: which lines make one answer to a search.
 *
 * A passage is a paragraph, or several short ones, or a window of a long one. It always consists
 * of whole lines, because a hit is quoted by them.
 */
import type { LineRange } from './lines.ts'
import { textOfLines } from './lines.ts'

const MAX_LINES = 20
const MAX_CHARACTERS = 1_600
const ENOUGH_CHARACTERS = 400
const HEADING = /^#{1,6}\s/u

/**
 * Cuts a text into passages.
 *
 * @param begins `markdown`: a line beginning with `#` is a heading, which begins a passage; else the
 *   lines that do.
 * @returns ranges in order that do not overlap; blank lines at their ends are left out.
 */
export function findPassages(
  text: string,
  starts: Uint32Array,
  begins: 'markdown' | readonly number[],
): LineRange[] {
  const passages: LineRange[] = []
  const beginnings = new Set(begins === 'markdown' ? [] : begins)
  const isBeginning = (line: number, content: string): boolean =>
    begins === 'markdown' ? HEADING.test(content) : beginnings.has(line)
  let start = 0
  let end = 0
  let characters = 0
  const finish = (): void => {
    if (start > 0) passages.push({ start, end })
    start = 0
    characters = 0
  }
  for (let line = 1; line <= starts.length; line++) {
    const content = textOfLines(text, starts, { start: line, end: line })
    if (content.trim() === '') {
      if (characters >= ENOUGH_CHARACTERS) finish()
      continue
    }
    const full = line - start >= MAX_LINES || characters + content.length > MAX_CHARACTERS
    if (start > 0 && (full || isBeginning(line, content))) finish()
    if (start === 0) start = line
    end = line
    characters += content.length + 1
  }
  finish()
  return passages
}
