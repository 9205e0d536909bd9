/**
 * Which lines changed between two texts.
 *
 * Lines that stand once in both are the anchors; between them small gaps are compared exactly and
 * large ones are one change. So the work stays near the size of the texts, whatever they are, and
 * what is called the same is the same.
 */
import type { LineRange } from './lines.ts'

/** A run of lines that others took the place of. An empty side has its end below its start. */
export interface LineChange {
  readonly from: LineRange
  readonly to: LineRange
}

/** Gaps up to this many pairs of lines are compared pair by pair. */
const MAX_EXACT = 250_000
const MAX_LEVELS = 24

/** Half-open windows into both, counted from 0. */
interface Window {
  readonly fromStart: number
  readonly fromEnd: number
  readonly toStart: number
  readonly toEnd: number
  readonly level: number
}

/** @returns changes in order; none when the texts have the same lines. */
export function compareLines(from: readonly string[], to: readonly string[]): LineChange[] {
  const numbers = new Map<string, number>()
  const numbered = (lines: readonly string[]): Uint32Array =>
    Uint32Array.from(lines, (line) => {
      const number = numbers.get(line) ?? numbers.size
      numbers.set(line, number)
      return number
    })
  const before = numbered(from)
  const after = numbered(to)
  const changes: LineChange[] = []
  const waiting: Window[] = [
    { fromStart: 0, fromEnd: before.length, toStart: 0, toEnd: after.length, level: 0 },
  ]
  for (let window = waiting.pop(); window !== undefined; window = waiting.pop()) {
    const trimmed = trim(before, after, window)
    const { fromStart, fromEnd, toStart, toEnd, level } = trimmed
    const rows = fromEnd - fromStart
    const columns = toEnd - toStart
    if (rows === 0 || columns === 0) {
      if (rows + columns > 0) put(changes, trimmed)
      continue
    }
    const parts =
      rows * columns <= MAX_EXACT
        ? exactGaps(before, after, trimmed)
        : level < MAX_LEVELS
          ? anchoredGaps(before, after, trimmed)
          : undefined
    // Last in, first out: the changes come in order.
    if (parts === undefined) put(changes, trimmed)
    else waiting.push(...parts.toReversed())
  }
  return changes
}

function trim(before: Uint32Array, after: Uint32Array, window: Window): Window {
  let { fromStart, fromEnd, toStart, toEnd } = window
  while (fromStart < fromEnd && toStart < toEnd && before[fromStart] === after[toStart]) {
    fromStart++
    toStart++
  }
  while (fromStart < fromEnd && toStart < toEnd && before[fromEnd - 1] === after[toEnd - 1]) {
    fromEnd--
    toEnd--
  }
  return { fromStart, fromEnd, toStart, toEnd, level: window.level }
}

function put(changes: LineChange[], window: Window): void {
  const { fromStart, fromEnd, toStart, toEnd } = window
  const last = changes.at(-1)
  if (last !== undefined && last.from.end === fromStart && last.to.end === toStart) {
    changes[changes.length - 1] = {
      from: { start: last.from.start, end: fromEnd },
      to: { start: last.to.start, end: toEnd },
    }
    return
  }
  changes.push({
    from: { start: fromStart + 1, end: fromEnd },
    to: { start: toStart + 1, end: toEnd },
  })
}

/** The gaps between pairs of equal lines, pairs given as places in both, in order. */
function gapsBetween(window: Window, pairs: readonly (readonly [number, number])[]): Window[] {
  const gaps: Window[] = []
  let { fromStart, toStart } = window
  for (const [row, column] of [...pairs, [window.fromEnd, window.toEnd] as const]) {
    if (row > fromStart || column > toStart) {
      gaps.push({
        fromStart,
        fromEnd: row,
        toStart,
        toEnd: column,
        level: window.level + 1,
      })
    }
    fromStart = row + 1
    toStart = column + 1
  }
  return gaps
}

/** The longest common run of lines, by the table of lengths; only gaps without equal lines are left. */
function exactGaps(before: Uint32Array, after: Uint32Array, window: Window): Window[] | undefined {
  const { fromStart, toStart } = window
  const rows = window.fromEnd - fromStart
  const columns = window.toEnd - toStart
  const width = columns + 1
  const lengths = new Uint32Array((rows + 1) * width)
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      lengths[row * width + column] =
        before[fromStart + row] === after[toStart + column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const pairs: [number, number][] = []
  for (let row = 0, column = 0; row < rows && column < columns;) {
    if (before[fromStart + row] === after[toStart + column]) {
      pairs.push([fromStart + row++, toStart + column++])
    } else if (at(row + 1, column) >= at(row, column + 1)) row++
    else column++
  }
  return pairs.length === 0 ? undefined : gapsBetween(window, pairs)
}

/** Lines that stand once on each side, the longest run of them that is in the same order on both. */
function anchoredGaps(
  before: Uint32Array,
  after: Uint32Array,
  window: Window,
): Window[] | undefined {
  const places = new Map<number, { row: number; column: number; rows: number; columns: number }>()
  const note = (number: number | undefined, row: number, column: number): void => {
    if (number === undefined) return
    const known = places.get(number) ?? { row: -1, column: -1, rows: 0, columns: 0 }
    if (row >= 0) {
      known.row = row
      known.rows++
    } else {
      known.column = column
      known.columns++
    }
    places.set(number, known)
  }
  for (let row = window.fromStart; row < window.fromEnd; row++) note(before[row], row, -1)
  for (let column = window.toStart; column < window.toEnd; column++) note(after[column], -1, column)
  const unique = [...places.values()]
    .filter(({ rows, columns }) => rows === 1 && columns === 1)
    .toSorted((one, other) => one.row - other.row)
  const run = longestRising(unique.map(({ column }) => column))
  const pairs = run.flatMap((index): [number, number][] => {
    const found = unique[index]
    return found === undefined ? [] : [[found.row, found.column]]
  })
  return pairs.length === 0 ? undefined : gapsBetween(window, pairs)
}

/** Indexes of a longest rising run, by patience sorting. */
function longestRising(values: readonly number[]): number[] {
  const tops: number[] = []
  const previous: (number | undefined)[] = []
  for (const [index, value] of values.entries()) {
    let low = 0
    let high = tops.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((values[tops[middle] ?? 0] ?? 0) < value) low = middle + 1
      else high = middle
    }
    previous.push(low === 0 ? undefined : tops[low - 1])
    tops[low] = index
  }
  const run: number[] = []
  for (let index = tops.at(-1); index !== undefined; index = previous[index]) run.push(index)
  return run.toReversed()
}
