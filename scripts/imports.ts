/**
 * What a file asks of other files, read from its tokens.
 *
 * Covers static and dynamic imports, re-exports, `require`, and files named for a worker by
 * `new URL('./x.ts', import.meta.url)`. Whether it may ask is decided in folders.ts and layers.ts.
 */
import { closingOf, type Token } from './tokens.ts'

/** One request for another file or package. */
export interface ImportFound {
  /** Undefined when it is computed, so that nobody can say what it will be. */
  readonly specifier: string | undefined
  readonly kind: 'static' | 'dynamic' | 'reexport' | 'url' | 'require'
  /** True when nothing of it is left after compilation. */
  readonly typeOnly: boolean
  /** Names taken, as their own file calls them. Empty for `*`, side effects, dynamic and url. */
  readonly names: readonly string[]
  readonly line: number
}

/** Finds every request of a file, in order. */
export function findImports(tokens: readonly Token[]): ImportFound[] {
  const found: ImportFound[] = []
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at]
    if (token?.kind !== 'word' || is(tokens[at - 1], '.') || is(tokens[at - 1], '?.')) continue
    if (token.text === 'import') found.push(...readImport(tokens, at))
    if (token.text === 'export') found.push(...readReexport(tokens, at))
    if (token.text === 'require') found.push(...readCall(tokens, at, 'require', false))
    if (token.text === 'URL') found.push(...readUrl(tokens, at, token.line))
  }
  return found
}

function readImport(tokens: readonly Token[], at: number): ImportFound[] {
  const next = tokens[at + 1]
  if (next === undefined) return []
  if (is(next, '(')) return readCall(tokens, at, 'dynamic', tokens[at - 1]?.text === 'typeof')
  if (is(next, '.')) return readMeta(tokens, at)
  if (next.kind === 'string') {
    return [{ specifier: next.text, kind: 'static', typeOnly: false, names: [], line: next.line }]
  }
  if (next.kind === 'word' || is(next, '{') || is(next, '*')) {
    return readClause(tokens, at + 1, 'static')
  }
  return []
}

function readReexport(tokens: readonly Token[], at: number): ImportFound[] {
  const begin = tokens[at + 1]?.text === 'type' ? at + 2 : at + 1
  const first = tokens[begin]
  return is(first, '{') || is(first, '*') ? readClause(tokens, at + 1, 'reexport') : []
}

/** From after `import` or `export` to the specifier after `from`; nothing when there is no `from`. */
function readClause(
  tokens: readonly Token[],
  begin: number,
  kind: 'static' | 'reexport',
): ImportFound[] {
  const after = tokens[begin + 1]
  const typeOnly =
    tokens[begin]?.text === 'type' &&
    !is(after, ',') &&
    !(after?.text === 'from' && isText(tokens[begin + 2]))
  const names: string[] = []
  for (let at = typeOnly ? begin + 1 : begin; at < tokens.length; at += 1) {
    const token = tokens[at]
    if (is(token, '{')) {
      const close = closingOf(tokens, at)
      names.push(...readNames(tokens.slice(at + 1, close)))
      at = close
    } else if (token?.text === 'from' && isText(tokens[at + 1])) {
      const specifier = tokens[at + 1]?.text
      return [{ specifier, kind, typeOnly, names, line: token.line }]
    } else if (token?.kind !== 'word' && !is(token, '*') && !is(token, ',')) {
      return []
    }
  }
  return []
}

function readNames(inside: readonly Token[]): string[] {
  const names: string[] = []
  for (let at = 0; at < inside.length; at += 1) {
    // `type Name` is marked, `type as other` and a lone `type` are a name.
    const next = inside[at + 1]
    const marked =
      inside[at]?.text === 'type' && next !== undefined && !is(next, ',') && next.text !== 'as'
    names.push(inside[marked ? at + 1 : at]?.text ?? '')
    while (at < inside.length && !is(inside[at], ',')) at += 1
  }
  return names
}

function readCall(
  tokens: readonly Token[],
  at: number,
  kind: 'dynamic' | 'require',
  typeOnly: boolean,
): ImportFound[] {
  if (!is(tokens[at + 1], '(')) return []
  const first = tokens[at + 2]
  const ends = is(tokens[at + 3], ')') || is(tokens[at + 3], ',')
  const literal = ends && (first?.kind === 'string' || first?.whole === true)
  const line = tokens[at]?.line ?? 0
  return [{ specifier: literal ? first?.text : undefined, kind, typeOnly, names: [], line }]
}

/** `import.meta.resolve('./x.ts')`; the rest of `import.meta` asks for nothing by itself. */
function readMeta(tokens: readonly Token[], at: number): ImportFound[] {
  if (tokens[at + 4]?.text !== 'resolve' || !is(tokens[at + 5], '(')) return []
  return readCall(tokens, at + 4, 'dynamic', false).map((found) => ({ ...found, kind: 'url' }))
}

/**
 * Every relative path inside `URL(…)` that names `import.meta`: the extension may be chosen there.
 * One that is chosen elsewhere is computed.
 */
function readUrl(tokens: readonly Token[], at: number, line: number): ImportFound[] {
  if (!is(tokens[at + 1], '(')) return []
  const inside = tokens.slice(at + 2, closingOf(tokens, at + 1))
  const isOfThisFile = inside.some(
    (token, index) => token.text === 'import' && inside[index + 2]?.text === 'meta',
  )
  if (!isOfThisFile) return []
  const paths = inside
    .filter(
      ({ kind, text }) => (kind === 'string' || kind === 'template') && /^\.{1,2}\//.test(text),
    )
    .map(({ text }) => text)
  return (paths.length === 0 ? [undefined] : paths).map((specifier) => ({
    specifier,
    kind: 'url',
    typeOnly: false,
    names: [],
    line,
  }))
}

function is(token: Token | undefined, punctuation: string): boolean {
  return token?.kind === 'punctuation' && token.text === punctuation
}

function isText(token: Token | undefined): boolean {
  return token?.kind === 'string'
}
