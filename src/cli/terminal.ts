/**
 * What commands print with: text for people on a terminal, JSON for machines, never a control character of a peer's.
 *
 * Peers' words are shown with hidden characters made visible, so that no text of theirs can pass for one of ours.
 */
import type { Writable } from 'node:stream'
import { visibleText } from '../gateway/checks/visible-text.ts'

export interface Terminal {
  readonly json: boolean
  /** A person can be asked: input and output are a terminal. */
  readonly interactive: boolean
  line(text?: string): void
  /** To standard error: what is not the answer. */
  note(text: string): void
  /** The answer for machines, one JSON document. */
  answer(value: unknown): void
  table(head: readonly string[], rows: readonly (readonly string[])[]): void
}

export interface TerminalOptions {
  readonly json: boolean
  readonly interactive: boolean
  readonly output: Writable & { readonly columns?: number }
  readonly error: Writable
}

// Control, format (zero-width, bidirectional, tags) and separator characters; tabs and new lines stay.
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** A peer's text as part of one line of ours: whatever shows nothing, breaks the line or changes it is spelled out. */
export function visible(text: string): string {
  return visibleText(text)
}

/**
 * A peer's text as a block of its own: its lines stay lines, what hides is spelled out.
 *
 * @param mark stands before each line where lines of ours are around, so that none of theirs can pass for one.
 */
export function visibleLines(text: string, mark = ''): string {
  const spelled = text.replace(
    HIDDEN,
    (hidden) => `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`,
  )
  return mark === ''
    ? spelled
    : spelled
        .split('\n')
        .map((line) => `${mark}${line}`)
        .join('\n')
}

/** JSON that means the same, with what hides written as its escapes. */
function visibleJson(text: string): string {
  return text.replace(HIDDEN, (hidden) =>
    Array.from(
      { length: hidden.length },
      (_, unit) => `\\u${hidden.charCodeAt(unit).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}

/** A peer's text on one line, at most `limit` characters. */
export function brief(text: string, limit = 100): string {
  const line = visible(text.replace(/\s+/gu, ' ').trim())
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line
}

export function createTerminal({ json, interactive, output, error }: TerminalOptions): Terminal {
  const shown = json ? visibleJson : visibleLines
  const line = (text = ''): void => void output.write(`${shown(text)}\n`)
  return {
    json,
    interactive,
    line,
    note: (text) => void error.write(`${visibleLines(text)}\n`),
    answer: (value) => line(JSON.stringify(value, undefined, 2)),
    table(head, rows) {
      if (rows.length === 0) return
      const widths = head.map((title, column) =>
        Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
      )
      const rowOf = (row: readonly string[]): string =>
        row
          .map((cell, column) =>
            column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0),
          )
          .join('  ')
          .trimEnd()
      line(rowOf(head.map((title) => title.toUpperCase())))
      for (const row of rows) line(rowOf(row))
    },
  }
}
