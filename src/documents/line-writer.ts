/**
 * Writes running text as lines: folds white space, ends lines at blocks, keeps preformatted text.
 *
 * Blocks have at most one empty line between them; none stands at the beginning or the end.
 */

/** Lines that are being written. */
export interface LineWriter {
  write(text: string): void
  /** Ends the line if it has anything. @param apart an empty line follows before the next words. */
  endLine(apart: boolean): void
  /** Ends the line in any case. */
  breakLine(): void
  /** Begins a line with this; kept until words follow; the empty text takes it away. */
  begin(marker: string): void
  /** Stands between this and the words before it on the same line. */
  separate(separator: string): void
  /** From here on white space is kept, until it is switched off as often. */
  preformatted(on: boolean): void
  /** Remembers that the words from here on are wanted by `takeMark`. */
  mark(): void
  /** The words since the mark, and their first line; undefined without any. */
  takeMark(): { readonly line: number; readonly text: string } | undefined
  finish(): { readonly text: string }
}

const MAX_MARKED = 300

export function createLineWriter(): LineWriter {
  const lines: string[] = []
  let line = ''
  let prefix = ''
  let spaceDue = false
  let apartDue = false
  let keeping = 0
  let marked: { line: number | undefined; text: string } | undefined

  const finishLine = (): void => {
    lines.push(line.trimEnd())
    line = ''
    spaceDue = false
  }
  const put = (words: string): void => {
    if (line === '') {
      if (apartDue && lines.length > 0 && lines.at(-1) !== '') lines.push('')
      apartDue = false
      line = prefix
      prefix = ''
    } else if (spaceDue) line += ' '
    if (marked !== undefined) {
      if (marked.line === undefined) marked.line = lines.length + 1
      if (marked.text.length < MAX_MARKED)
        marked.text += (spaceDue && marked.text !== '' ? ' ' : '') + words
    }
    spaceDue = false
    line += words
  }
  const writeFolded = (text: string): void => {
    for (const piece of text.split(/([ \t\n\f\r]+)/u)) {
      if (piece === '') continue
      if (/^[ \t\n\f\r]/u.test(piece)) spaceDue = line !== ''
      else put(piece)
    }
  }
  const writeKept = (text: string): void => {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0 && (line !== '' || lines.length > 0)) finishLine()
      if (piece !== '') put(piece)
    }
  }
  return {
    // A carriage return left over would be a line's end to some readers and not to others.
    write: (text) => (keeping > 0 ? writeKept(text.replaceAll('\r', '\n')) : writeFolded(text)),
    endLine(apart) {
      if (line !== '') finishLine()
      apartDue ||= apart
    },
    breakLine() {
      if (line !== '') finishLine()
      else if (lines.length > 0 && lines.at(-1) !== '') lines.push('')
    },
    begin: (marker) => {
      prefix = marker
    },
    separate(separator) {
      if (line === '') return
      line = `${line.trimEnd()}${separator}`
      spaceDue = false
    },
    preformatted: (on) => {
      keeping += on ? 1 : -1
    },
    mark() {
      marked = { line: undefined, text: '' }
    },
    takeMark() {
      const taken = marked
      marked = undefined
      if (taken?.line === undefined) return undefined
      const words = taken.text.trim()
      const text = words.length > MAX_MARKED ? `${words.slice(0, MAX_MARKED - 1)}…` : words
      return { line: taken.line, text }
    },
    finish() {
      if (line !== '') finishLine()
      while (lines.at(-1) === '') lines.pop()
      return { text: lines.length === 0 ? '' : `${lines.join('\n')}\n` }
    },
  }
}
