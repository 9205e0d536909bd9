/**
 * The analysis of two versions of a document: which lines and headings went, came and changed.
 *
 * Pure, and the same for the same two texts: a later question about an analysis is answered by
 * making it again, so nothing of it has to be kept.
 */
import type { Document } from './document.ts'
import { findHeadings } from './headings.ts'
import type { Heading } from './headings.ts'
import type { LineChange } from './line-diff.ts'
import { compareLines } from './line-diff.ts'
import type { LineRange } from './lines.ts'
import { textOfLines } from './lines.ts'

/** Longer documents are not compared. */
const MAX_COMPARED_LINES = 200_000

/** One change, with the heading it stands under. */
export interface VersionChange extends LineChange {
  readonly kind: 'added' | 'removed' | 'changed'
  /** Of the newer side; of the older one when the lines went. */
  readonly heading?: string
}

/** What two versions have in common and what not. */
export interface VersionAnalysis {
  readonly changes: readonly VersionChange[]
  readonly addedLines: number
  readonly removedLines: number
  readonly sameLines: number
  readonly addedHeadings: readonly string[]
  readonly removedHeadings: readonly string[]
}

/** @returns what is wrong when the two cannot be compared. */
export function analyzeVersions(
  from: Document,
  to: Document,
): VersionAnalysis | { readonly tooLarge: string } {
  const large = [from, to].find(({ lineStarts }) => lineStarts.length > MAX_COMPARED_LINES)
  if (large !== undefined) {
    return {
      tooLarge: `${large.id} has ${large.lineStarts.length} lines; at most ${MAX_COMPARED_LINES} can be compared`,
    }
  }
  const oldHeadings = findHeadings(from)
  const newHeadings = findHeadings(to)
  const changes = compareLines(linesOf(from), linesOf(to)).map((change): VersionChange => {
    const kind = isEmpty(change.from) ? 'added' : isEmpty(change.to) ? 'removed' : 'changed'
    const heading =
      kind === 'removed'
        ? headingAbove(oldHeadings, change.from.start)
        : headingAbove(newHeadings, change.to.start)
    return { ...change, kind, ...(heading === undefined ? {} : { heading }) }
  })
  const removedLines = changes.reduce((sum, change) => sum + countOf(change.from), 0)
  return {
    changes,
    addedLines: changes.reduce((sum, change) => sum + countOf(change.to), 0),
    removedLines,
    sameLines: from.lineStarts.length - removedLines,
    addedHeadings: without(newHeadings, oldHeadings),
    removedHeadings: without(oldHeadings, newHeadings),
  }
}

/** Line ends are no change: a file saved elsewhere has the same words. */
function linesOf({ text, lineStarts }: Document): string[] {
  const lines: string[] = []
  for (let line = 1; line <= lineStarts.length; line++) {
    const content = textOfLines(text, lineStarts, { start: line, end: line })
    lines.push(content.endsWith('\r') ? content.slice(0, -1) : content)
  }
  return lines
}

function isEmpty(range: LineRange): boolean {
  return range.end < range.start
}

function countOf({ start, end }: LineRange): number {
  return end - start + 1
}

/** Headings stand in order: the last one that is not below the line. */
function headingAbove(headings: readonly Heading[], line: number): string | undefined {
  let low = 0
  let high = headings.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((headings[middle]?.line ?? 0) <= line) low = middle + 1
    else high = middle
  }
  return headings[low - 1]?.text
}

function without(headings: readonly Heading[], others: readonly Heading[]): string[] {
  const known = new Set(others.map(({ text }) => text))
  return [...new Set(headings.map(({ text }) => text))].filter((text) => !known.has(text))
}
