/**
 * How long files and functions are: the distribution that the style guide speaks of.
 *
 * The linter refuses what is too long; this only shows the shape of what is not. A function is
 * told by its tokens; a construct that is missed costs a figure, never a verdict.
 */
import { isGenerated, isTest, type SourceFile } from './source-tree.ts'
import { closingOf, type Token } from './tokens.ts'

/** Median, ninetieth percentile and largest of a set of lengths, in lines. */
export interface Lengths {
  readonly count: number
  readonly median: number
  readonly p90: number
  readonly largest: number
  /** Where the largest is. */
  readonly where: string
}

/** Measures files and functions that people read: neither tests nor generated ones. */
export function measureLengths(files: readonly SourceFile[]): {
  readonly files: Lengths
  readonly functions: Lengths
} {
  const read = files.filter(({ path }) => !isTest(path) && !isGenerated(path))
  return {
    files: summarize(read.map(({ path, lines }) => ({ where: path, lines }))),
    functions: summarize(
      read.flatMap(({ path, tokens }) =>
        findFunctions(tokens).map(({ line, lines }) => ({ where: `${path}:${line}`, lines })),
      ),
    ),
  }
}

function summarize(
  lengths: readonly { readonly where: string; readonly lines: number }[],
): Lengths {
  const sorted = lengths.toSorted((a, b) => a.lines - b.lines)
  const rank = (share: number) => sorted[Math.ceil(sorted.length * share) - 1]?.lines ?? 0
  const last = sorted.at(-1)
  return {
    count: sorted.length,
    median: rank(0.5),
    p90: rank(0.9),
    largest: last?.lines ?? 0,
    where: last?.where ?? '-',
  }
}

/** Words that stand before a bracket and make no function of what follows. */
const NOT_METHODS = new Set(
  'if for while switch catch with return await typeof import super'.split(' '),
)

/**
 * Finds functions with a block: declarations, expressions, methods and arrows.
 *
 * @returns each one's first line and its lines, signature included.
 */
export function findFunctions(
  tokens: readonly Token[],
): { readonly line: number; readonly lines: number }[] {
  return tokens.flatMap((token, index) => {
    const body = isArrow(token) ? index + 1 : bodyAfterParameters(tokens, index)
    if (body === undefined || tokens[body]?.text !== '{') return []
    const end = tokens[closingOf(tokens, body)]
    return [{ line: token.line, lines: (end?.line ?? token.line) - token.line + 1 }]
  })
}

function isArrow(token: Token): boolean {
  return token.kind === 'punctuation' && token.text === '=>'
}

function bodyAfterParameters(tokens: readonly Token[], index: number): number | undefined {
  const token = tokens[index]
  const before = tokens[index - 1]?.text
  if (token?.kind !== 'word' || before === '.' || before === '?.' || before === 'new')
    return undefined
  if (NOT_METHODS.has(token.text) || isNameOfFunction(tokens, index)) return undefined
  const open =
    token.text === 'function' ? afterName(tokens, index + 1) : afterTypes(tokens, index + 1)
  if (tokens[open]?.text !== '(') return undefined
  const after = closingOf(tokens, open) + 1
  return tokens[after]?.text === ':' ? afterReturnType(tokens, after + 1) : after
}

function isNameOfFunction(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]?.text === '*' ? index - 2 : index - 1
  return tokens[before]?.text === 'function'
}

function afterName(tokens: readonly Token[], at: number): number {
  const star = tokens[at]?.text === '*' ? at + 1 : at
  return afterTypes(tokens, tokens[star]?.kind === 'word' ? star + 1 : star)
}

function afterTypes(tokens: readonly Token[], at: number): number {
  if (tokens[at]?.text !== '<') return at
  let depth = 0
  for (let place = at; place < tokens.length; place += 1) {
    if (tokens[place]?.text === '<') depth += 1
    if (tokens[place]?.text === '>') depth -= 1
    if (depth === 0) return place + 1
  }
  return at
}

/** A `{` opens the body unless the type before it still waits for an operand. */
function afterReturnType(tokens: readonly Token[], begin: number): number | undefined {
  let complete = false
  for (let at = begin; at < tokens.length; at += 1) {
    const text = tokens[at]?.text ?? ''
    if (text === '{' && complete) return at
    if ('([{'.includes(text)) {
      at = closingOf(tokens, at)
      complete = true
    } else if (text === '<') {
      const after = afterTypes(tokens, at)
      // Without its end it compares: what looked like a return type was the end of a condition.
      if (after === at) return undefined
      at = after - 1
      complete = true
    } else if (
      text === '|' ||
      text === '&' ||
      text === '.' ||
      text === '=>' ||
      isTypeOperator(text)
    ) {
      complete = false
    } else if (tokens[at]?.kind === 'punctuation' || complete) {
      return undefined
    } else {
      complete = tokens[at + 1]?.text !== 'is'
    }
  }
  return undefined
}

function isTypeOperator(text: string): boolean {
  return ['is', 'asserts', 'keyof', 'typeof', 'readonly', 'unique'].includes(text)
}
