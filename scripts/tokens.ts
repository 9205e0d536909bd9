/**
 * TypeScript as tokens: enough of the language to tell code from strings, comments and templates.
 *
 * The compiler exports no JavaScript API, so the import rules read tokens. Division and regular
 * expressions are told apart by what stands before; a wrong guess never runs past its line.
 */

/** One token. Template text is a token of its own; the code inside `${ }` is tokens like any other. */
export interface Token {
  readonly kind: 'word' | 'string' | 'template' | 'number' | 'regex' | 'punctuation'
  /** Source text; of a string or template the content, without its quotes and with escapes undone. */
  readonly text: string
  readonly line: number
  /** Of a template: true when it has no `${ }`, so that its text is its value. */
  readonly whole?: boolean
}

/** A comment, with its marks. */
export interface Comment {
  readonly text: string
  readonly line: number
}

/** A file as tokens and comments. */
export interface Tokens {
  readonly tokens: readonly Token[]
  readonly comments: readonly Comment[]
}

const WORD =
  /(?:[\p{ID_Start}$_#]|\\u\{[0-9a-fA-F]+\}|\\u[0-9a-fA-F]{4})(?:[\p{ID_Continue}$]|\\u\{[0-9a-fA-F]+\}|\\u[0-9a-fA-F]{4})*/uy
const NUMBER = /\.?\d(?:[\w.]|(?<=[eE])[+-])*/y
const PUNCTUATION = /=>|\.\.\.|\+\+|--|\?\.(?!\d)|[^\s\w]/uy
const STRING = /(['"])((?:\\[\s\S]|(?!\1)[^\\\n])*)\1/y
const REGEX = /\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y
const SPACE = /\s+/y
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y
const TEMPLATE_TEXT = /(?:\\[\s\S]|\$(?!\{)|[^\\$`])*/y

/** After these words a `/` begins a regular expression; after any other word it divides. */
const BEFORE_EXPRESSION = new Set(
  'return typeof instanceof in of new delete void throw case do else yield await'.split(' '),
)

interface Scan {
  readonly source: string
  readonly tokens: Token[]
  readonly comments: Comment[]
  /** Open braces: `${` of a template, or any other. */
  readonly braces: ('template' | 'block')[]
  at: number
  line: number
}

/**
 * Splits a TypeScript source.
 *
 * @param source a file that compiles; of a broken one the tokens are a best guess.
 */
export function tokenize(source: string): Tokens {
  const scan: Scan = { source, tokens: [], comments: [], braces: [], at: 0, line: 1 }
  if (source.startsWith('#!')) take(scan, /#![^\n]*/y)
  while (scan.at < source.length) step(scan)
  return { tokens: scan.tokens, comments: scan.comments }
}

function step(scan: Scan): void {
  if (take(scan, SPACE) !== undefined) return
  const line = scan.line
  const comment = take(scan, COMMENT)
  if (comment !== undefined) {
    scan.comments.push({ text: comment, line })
    return
  }
  const character = scan.source[scan.at]
  if (character === '`') {
    scan.at += 1
    readTemplate(scan, true)
  } else if (character === '}' && scan.braces.at(-1) === 'template') {
    scan.at += 1
    scan.braces.pop()
    scan.tokens.push({ kind: 'punctuation', text: '}', line })
    readTemplate(scan, false)
  } else {
    readPlain(scan, line)
  }
}

function readPlain(scan: Scan, line: number): void {
  const string = take(scan, STRING)
  if (string !== undefined) {
    scan.tokens.push({ kind: 'string', text: unescape(string.slice(1, -1)), line })
    return
  }
  const regex = mayBeginExpression(scan.tokens.at(-1)) ? take(scan, REGEX) : undefined
  if (regex !== undefined) {
    scan.tokens.push({ kind: 'regex', text: regex, line })
    return
  }
  const number = take(scan, NUMBER)
  if (number !== undefined) {
    scan.tokens.push({ kind: 'number', text: number, line })
    return
  }
  const word = take(scan, WORD)
  if (word !== undefined) {
    scan.tokens.push({ kind: 'word', text: unescape(word), line })
    return
  }
  const text = take(scan, PUNCTUATION) ?? scan.source[scan.at++] ?? ''
  if (text === '{') scan.braces.push('block')
  if (text === '}') scan.braces.pop()
  scan.tokens.push({ kind: 'punctuation', text, line })
}

function readTemplate(scan: Scan, first: boolean): void {
  const line = scan.line
  const text = unescape(take(scan, TEMPLATE_TEXT) ?? '')
  const closes = scan.source[scan.at] !== '$'
  scan.tokens.push({ kind: 'template', text, line, whole: first && closes })
  scan.at += closes ? 1 : 2
  if (closes) return
  scan.braces.push('template')
  scan.tokens.push({ kind: 'punctuation', text: '${', line: scan.line })
}

function take(scan: Scan, pattern: RegExp): string | undefined {
  pattern.lastIndex = scan.at
  const found = pattern.exec(scan.source)?.[0]
  if (found === undefined || found === '') return undefined
  scan.at += found.length
  for (const character of found) if (character === '\n') scan.line += 1
  return found
}

function mayBeginExpression(before: Token | undefined): boolean {
  if (before === undefined) return true
  if (before.kind === 'word') return BEFORE_EXPRESSION.has(before.text)
  if (before.kind !== 'punctuation') return false
  return ![')', ']', '++', '--'].includes(before.text)
}

/** Undoes the escapes that could hide a name: `\x70`, `\u0070`, `\u{70}` and a backslash before a plain character. */
function unescape(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(
    /\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r?\n)|([\s\S]))/g,
    (_, braced?: string, four?: string, two?: string, newline?: string, plain?: string) => {
      const code = braced ?? four ?? two
      if (code !== undefined) return String.fromCodePoint(Math.min(0x10ffff, parseInt(code, 16)))
      return newline === undefined ? (plain ?? '') : ''
    },
  )
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}', '${': '}' }

/**
 * Where the bracket at `open` closes.
 *
 * @returns the index of the closing token, or of the last token when it never closes.
 */
export function closingOf(tokens: readonly Token[], open: number): number {
  let depth = 0
  for (let at = open; at < tokens.length; at += 1) {
    const token = tokens[at]
    if (token?.kind !== 'punctuation') continue
    if (token.text in CLOSING) depth += 1
    else if (token.text === ')' || token.text === ']' || token.text === '}') depth -= 1
    if (depth === 0) return at
  }
  return tokens.length - 1
}
