/**
 * The few tokens of a CEL text that we look at before the engine does: which variables it names, and calls of
 * `matches`, which the engine would hand to a backtracking regular expression.
 */

export interface CelToken {
  readonly kind: 'identifier' | 'text' | 'other'
  readonly text: string
  readonly start: number
}

/** Strings end where the engine ends them: a backslash takes the next character along, in raw ones too. */
const STRING = [
  String.raw`"""(?:\\[^]|(?!""")[^\\])*"""`,
  String.raw`'''(?:\\[^]|(?!''')[^\\])*'''`,
  String.raw`"(?:\\[^]|[^"\\\r\n])*"`,
  String.raw`'(?:\\[^]|[^'\\\r\n])*'`,
].join('|')

const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+|//[^\n]*)`,
    `(?<text>[bBrR]?(?:${STRING}))`,
    String.raw`(?<identifier>[A-Za-z_][A-Za-z0-9_]*)`,
    String.raw`(?<other>[^])`,
  ].join('|'),
  'g',
)

/** Splits a CEL text; white space and comments are left out. Never throws: what it does not know is `other`. */
export function celTokens(source: string): readonly CelToken[] {
  const tokens: CelToken[] = []
  for (const found of source.matchAll(TOKEN)) {
    const groups = found.groups ?? {}
    if (groups['space'] !== undefined) continue
    const kind =
      groups['text'] !== undefined
        ? 'text'
        : groups['identifier'] !== undefined
          ? 'identifier'
          : 'other'
    tokens.push({ kind, text: found[0], start: found.index })
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
      token.kind === 'identifier' &&
      token.text === 'matches' &&
      tokens[index - 1]?.text === '.' &&
      tokens[index + 1]?.text === '('
    if (isCall) {
      text = text.slice(0, token.start) + replacement + text.slice(token.start + token.text.length)
    }
  }
  return text
}
