/**
 * Declarations of a `.d.ts` file: where each begins, its doc comment included.
 *
 * A tolerant scanner, not a parser: it knows comments, strings and brackets, and reads names after
 * the words that declare. What it cannot make out it passes over; the text is served in any case.
 */
import type { Heading } from './headings.ts'

const MAX_HEADING_LENGTH = 300
/** Modules and namespaces within each other. */
const MAX_LEVELS = 6

/** What was found. */
export interface Declarations {
  /** One for each declaration, at the line of its name; members have none. */
  readonly headings: readonly Heading[]
  /** Lines at which a passage begins: a declaration or a documented member, with its comment. */
  readonly starts: readonly number[]
}

const NAME = String.raw`[\p{ID_Start}$_][\p{ID_Continue}$]*`
const DECLARES = new RegExp(
  String.raw`^(?:(?:export|declare|default|async|abstract)\s+)*(?:` +
    String.raw`(?<kind>class|interface|type|enum|const\s+enum|function|const|let|var|namespace|module)\s*\*?\s+(?<name>${NAME}(?:\.${NAME})*|"[^"\n]*"|'[^'\n]*')` +
    String.raw`|(?<global>global)(?=\s*\{)|(?<kind2>default)\s+(?<name2>${NAME}))`,
  'u',
)
const CONTAINER = /^(?:namespace|module|global)$/u

interface Frame {
  /** Whether declarations, members or nothing of ours stand in these brackets. */
  readonly holds: 'declarations' | 'members' | 'nothing'
  readonly level: number
}

/** Finds the declarations of a text, whatever it is. */
export function findDeclarations(text: string): Declarations {
  const headings: Heading[] = []
  const starts: number[] = []
  const frames: Frame[] = [{ holds: 'declarations', level: 1 }]
  let line = 1
  let at = 0
  /** Line of a doc comment that the next statement may own. */
  let comment: number | undefined
  let fresh = true
  /** What the brackets of the present statement will hold. */
  let next: Frame['holds'] = 'nothing'
  /** Open `<` of the present statement: brackets within them are types. */
  let angles = 0

  const pass = (end: number): void => {
    for (let from = text.indexOf('\n', at); from !== -1 && from < end;) {
      line += 1
      from = text.indexOf('\n', from + 1)
    }
    at = end
  }
  const begin = (): void => {
    fresh = false
    next = 'nothing'
    angles = 0
    const frame = frames.at(-1)
    if (frame?.holds === 'members') {
      if (comment !== undefined) starts.push(comment)
    } else if (frame?.holds === 'declarations') {
      const found = readDeclaration(text, at)
      if (found !== undefined) {
        headings.push({ line, level: frame.level, text: found.words })
        next = found.holds
      }
      if (found !== undefined || comment !== undefined) starts.push(comment ?? line)
    }
    comment = undefined
  }
  const end = (): void => {
    fresh = true
    next = 'nothing'
  }
  while (at < text.length) {
    const piece = pieceAt(text, at)
    if (piece.kind === 'space') pass(piece.end)
    else if (piece.kind === 'comment') {
      // Between statements, also when the semicolon before it was left out.
      if (text.startsWith('/**', at) && frames.at(-1)?.holds !== 'nothing') {
        fresh = true
        comment = line
      }
      pass(piece.end)
    } else if (piece.kind === 'close') {
      if (frames.length > 1) frames.pop()
      pass(piece.end)
      if (text[piece.end - 1] === '}' && angles <= 0 && frames.at(-1)?.holds !== 'nothing') end()
    } else if (piece.kind === 'end') {
      pass(piece.end)
      if (frames.at(-1)?.holds !== 'nothing') end()
    } else {
      if (fresh || beginsAnew(text, at, frames.at(-1))) begin()
      if (text[at] === '<') angles += 1
      else if (text[at] === '>' && text[at - 1] !== '=') angles -= 1
      if (piece.kind === 'open') {
        const level = Math.min((frames.at(-1)?.level ?? 1) + 1, MAX_LEVELS)
        const holds = text[at] === '{' && angles <= 0 ? next : 'nothing'
        frames.push({ holds, level })
        pass(piece.end)
        if (holds !== 'nothing') end()
      } else pass(piece.end)
    }
  }
  return { headings, starts }
}

/** A line that declares begins a statement, also when the semicolon before it was left out. */
function beginsAnew(text: string, at: number, frame: Frame | undefined): boolean {
  if (frame?.holds !== 'declarations') return false
  const character = text[at]
  if (character !== 'e' && character !== 'd') return false
  const lineStart = text.lastIndexOf('\n', at) + 1
  return (
    text.slice(lineStart, at).trim() === '' && /^(?:export|declare)\s/u.test(text.slice(at, at + 9))
  )
}

interface Piece {
  readonly kind: 'space' | 'comment' | 'open' | 'close' | 'end' | 'other'
  readonly end: number
}

const SPACE = /\s+/uy
const WORD = /[\p{ID_Continue}$]+/uy

function pieceAt(text: string, at: number): Piece {
  const character = text[at] ?? ''
  switch (character) {
    case '/': {
      if (text.startsWith('/*', at)) {
        const close = text.indexOf('*/', at + 2)
        return { kind: 'comment', end: close === -1 ? text.length : close + 2 }
      }
      if (!text.startsWith('//', at)) return { kind: 'other', end: at + 1 }
      const end = text.indexOf('\n', at)
      return { kind: 'comment', end: end === -1 ? text.length : end }
    }
    case '"':
    case "'":
    case '`':
      return { kind: 'other', end: endOfString(text, at, character) }
    case '{':
    case '(':
    case '[':
      return { kind: 'open', end: at + 1 }
    case '}':
    case ')':
    case ']':
      return { kind: 'close', end: at + 1 }
    case ';':
      return { kind: 'end', end: at + 1 }
    default:
      for (const [pattern, kind] of [
        [SPACE, 'space'],
        [WORD, 'other'],
      ] as const) {
        pattern.lastIndex = at
        if (pattern.test(text)) return { kind, end: pattern.lastIndex }
      }
      return { kind: 'other', end: at + 1 }
  }
}

/** Quotes end with their line at the latest: a lone apostrophe must not swallow the file. */
function endOfString(text: string, at: number, quote: string): number {
  for (let index = at + 1; index < text.length; index++) {
    const character = text[index]
    if (character === '\\') index++
    else if (character === quote) return index + 1
    else if (character === '\n' && quote !== '`') return index
  }
  return text.length
}

function readDeclaration(
  text: string,
  at: number,
): { readonly words: string; readonly holds: Frame['holds'] } | undefined {
  const groups = DECLARES.exec(text.slice(at, at + 600))?.groups
  if (groups === undefined) return undefined
  const kind = (groups['kind'] ?? groups['global'] ?? groups['kind2'] ?? '').replaceAll(
    /\s+/gu,
    ' ',
  )
  const name = groups['name'] ?? groups['name2'] ?? ''
  const words = `${kind} ${name}`.trim().slice(0, MAX_HEADING_LENGTH)
  if (CONTAINER.test(kind)) return { words, holds: 'declarations' }
  const hasMembers = kind === 'interface' || kind === 'class' || kind.endsWith('enum')
  return { words, holds: hasMembers ? 'members' : 'nothing' }
}
