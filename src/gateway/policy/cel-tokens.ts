/**
 * The few tokens of a CEL text that we look at before the engine does: which variables it names, and calls of
 * `matches`, which the engine would hand to a backtracking regular expression.
 */

export interface CelToken {
  readonly kind: 'identifier' | 'text' | 'other'
  readonly text: string
  readonly start: number
}

const TOKEN =
  /(?<space>\s+|\/\/[^\n]*)|(?<text>[rR]?[bB]?[rR]?(?:"""[\s\S]*?"""|'''[\s\S]*?'''))|(?<raw>(?:[rR][bB]?|[bB][rR])(?:"[^"\n]*"|'[^'\n]*'))|(?<plain>[bB]?(?:"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'))|(?<identifier>[A-Za-z_][A-Za-z0-9_]*)|(?<other>[\s\S])/y

/** Splits a CEL text; white space and comments are left out. Never throws: what it does not know is `other`. */
export function celTokens(source: string): readonly CelToken[] {
  const tokens: CelToken[] = []
  TOKEN.lastIndex = 0
  for (let found = TOKEN.exec(source); found !== null; found = TOKEN.exec(source)) {
    const groups = found.groups ?? {}
    const start = found.index
    const text = found[0]
    if (groups['space'] !== undefined) continue
    const isText = groups['text'] ?? groups['raw'] ?? groups['plain']
    const kind =
      isText !== undefined ? 'text' : groups['identifier'] !== undefined ? 'identifier' : 'other'
    tokens.push({ kind, text, start })
  }
  return tokens
}

/** Names that stand alone, not after a dot: variables, functions and macro variables. */
export function celNames(tokens: readonly CelToken[]): ReadonlySet<string> {
  const names = tokens.filter(
    ({ kind }, index) => kind === 'identifier' && tokens[index - 1]?.text !== '.',
  )
  return new Set(names.map(({ text }) => text))
}

/** The same text with every `.matches(` calling `replacement` instead. */
export function renameMatches(
  source: string,
  tokens: readonly CelToken[],
  replacement: string,
): string {
  let text = source
  for (const [index, token] of [...tokens.entries()].toReversed()) {
    const isCall =
      token.text === 'matches' &&
      token.kind === 'identifier' &&
      tokens[index - 1]?.text === '.' &&
      tokens[index + 1]?.text === '('
    if (isCall) {
      text = text.slice(0, token.start) + replacement + text.slice(token.start + token.text.length)
    }
  }
  return text
}
