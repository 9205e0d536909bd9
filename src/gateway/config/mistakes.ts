/**
 * Mistakes in a config file and how they are said: where, what was expected, what came, what to change.
 *
 * A value that may be a secret is described by its kind only; decides which those are by the path.
 */

/** Path in the file: keys and list positions from the root. */
export type ConfigPath = readonly (string | number)[]

export interface Mistake {
  readonly path: ConfigPath
  readonly message: string
  /** From 1; undefined when the mistake is about something that is not in the file. */
  readonly line?: number
}

/** Below these keys every value may be or hold a secret. */
const SECRET_KEYS = new Set(['env', 'headers', 'auth', 'tokens', 'token', 'args', 'url', 'card'])
const SHOWN_VALUE = 60

/** A path as people write it: `mcpServers.docs.args[2]`. Keys that are not plain words are quoted. */
export function sayPath(path: ConfigPath): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[A-Za-z0-9_$-]+$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${JSON.stringify(step.slice(0, SHOWN_VALUE))}]`
  }
  return text === '' ? 'the file' : text
}

/** What came, fit for a terminal: the value when it is short and cannot be a secret, else its kind. */
export function sayValue(value: unknown, path: ConfigPath): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'an empty value'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (path.some((step) => typeof step === 'string' && SECRET_KEYS.has(step))) {
    return typeof value === 'string' ? 'text (not shown)' : `a ${kindOf(value)} (not shown)`
  }
  const text = JSON.stringify(value) ?? kindOf(value)
  return text.length > SHOWN_VALUE ? `a ${kindOf(value)} of ${text.length} characters` : text
}

function kindOf(value: unknown): string {
  return typeof value === 'boolean'
    ? 'true or false'
    : typeof value === 'string'
      ? 'text'
      : 'number'
}

/**
 * The known word nearest to one that was written, when it is near enough to be what was meant.
 *
 * @returns undefined when none is within a third of the longer word's length.
 */
export function nearest(written: string, known: readonly string[]): string | undefined {
  let best: { readonly word: string; readonly distance: number } | undefined
  for (const word of known) {
    const distance = editDistance(written.toLowerCase().slice(0, 64), word.toLowerCase())
    if (best === undefined || distance < best.distance) best = { word, distance }
  }
  if (best === undefined) return undefined
  const allowed = Math.max(1, Math.floor(Math.max(written.length, best.word.length) / 3))
  return best.distance <= allowed ? best.word : undefined
}

/** Levenshtein distance with swapped neighbours counted once. */
function editDistance(left: string, right: string): number {
  let before: number[] = []
  let last = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const next = [row]
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1]
      let cost = Math.min(
        at(next, column - 1) + 1,
        at(last, column) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      )
      const swapped =
        row > 1 &&
        column > 1 &&
        left[row - 1] === right[column - 2] &&
        left[row - 2] === right[column - 1]
      if (swapped) cost = Math.min(cost, at(before, column - 2) + 1)
      next.push(cost)
    }
    before = last
    last = next
  }
  return at(last, right.length)
}

function at(list: readonly number[], index: number): number {
  return list[index] ?? Number.MAX_SAFE_INTEGER
}

const SAID_MISTAKES = 50

/** The mistakes, one a line, in the order of the file; past fifty only their number. */
export function sayMistakes(file: string, mistakes: readonly Mistake[]): string {
  const sorted = mistakes.toSorted((left, right) => (left.line ?? 0) - (right.line ?? 0))
  const more = sorted.length > SAID_MISTAKES ? [`  and ${sorted.length - SAID_MISTAKES} more`] : []
  const lines = sorted.slice(0, SAID_MISTAKES).map(({ path, line, message }) => {
    const where = line === undefined ? '' : ` (line ${line})`
    return `  ${sayPath(path)}${where}: ${message}`
  })
  const count = mistakes.length === 1 ? 'one mistake' : `${mistakes.length} mistakes`
  return `${file} has ${count}:\n${[...lines, ...more].join('\n')}`
}
