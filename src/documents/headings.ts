/**
 * Headings: the outline of a document, with line numbers.
 *
 * Markdown's `#` headings outside front matter and fenced code; of YAML the top-level keys; of HTML
 * and declarations what their readers found. JSON and plain text have none.
 */
import type { Format } from './header.ts'
import { textOfLines } from './lines.ts'

const MAX_HEADING_LENGTH = 300

/** A heading and where it stands. */
export interface Heading {
  readonly line: number
  readonly level: number
  readonly text: string
}

/** What headings are found in. */
export interface Outlined {
  readonly format: Format
  readonly text: string
  readonly lineStarts: Uint32Array
  /** Found while the file was read, where the text alone does not show them. */
  readonly outline?: Outline
}

/** Headings, and the lines at which a passage begins. */
export interface Outline {
  readonly headings: readonly Heading[]
  readonly starts: readonly number[]
}

/** Finds a document's headings in order. */
export function findHeadings({ format, text, lineStarts, outline }: Outlined): readonly Heading[] {
  if (outline !== undefined) return outline.headings
  switch (format) {
    case 'markdown':
      return markdownHeadings(text, lineStarts)
    case 'yaml':
      return yamlKeys(text, lineStarts)
    case 'html':
    case 'typescript':
    case 'text':
    case 'json':
      return []
  }
}

/** @source CommonMark 0.31, 4.2 ATX headings and 4.5 fenced code blocks */
function markdownHeadings(text: string, starts: Uint32Array): Heading[] {
  const headings: Heading[] = []
  let fence: string | undefined
  let inFrontMatter = false
  for (let line = 1; line <= starts.length; line++) {
    const content = lineAt(text, starts, line)
    const isRuler = /^(?:---|\.\.\.)[ \t]*$/u.test(content)
    if (line === 1 && isRuler && /\n(?:---|\.\.\.)[ \t]*\r?(?:\n|$)/u.test(text))
      inFrontMatter = true
    else if (inFrontMatter) inFrontMatter = !isRuler
    else if (fence !== undefined) {
      if (new RegExp(`^ {0,3}${fence}+[ \\t]*$`, 'u').test(content)) fence = undefined
    } else {
      fence = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/u.exec(content)?.[1]
      const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/u.exec(content)
      const words = (heading?.[2] ?? '').replace(/(?:^|[ \t]+)#+[ \t]*$/u, '').trim()
      if (words !== '') headings.push({ line, level: heading?.[1]?.length ?? 1, text: cut(words) })
    }
  }
  return headings
}

function yamlKeys(text: string, starts: Uint32Array): Heading[] {
  const headings: Heading[] = []
  for (let line = 1; line <= starts.length; line++) {
    const key = /^(?:"([^"]+)"|'([^']+)'|([^\s#"'[\]{}&*!|>%@`-][^:#]*?))\s*:(?:\s|$)/u.exec(
      lineAt(text, starts, line),
    )
    const words = key?.[1] ?? key?.[2] ?? key?.[3]
    if (words !== undefined) headings.push({ line, level: 1, text: cut(words) })
  }
  return headings
}

function lineAt(text: string, starts: Uint32Array, line: number): string {
  const content = textOfLines(text, starts, { start: line, end: line })
  const bare = content.endsWith('\r') ? content.slice(0, -1) : content
  return line === 1 && bare.startsWith('\uFEFF') ? bare.slice(1) : bare
}

function cut(words: string): string {
  return words.length > MAX_HEADING_LENGTH ? `${words.slice(0, MAX_HEADING_LENGTH - 1)}…` : words
}
