/** A line diff: what was taken out, what came in, with three lines around each change. */

const CONTEXT = 3
/** Beyond this many cells the table is too large: then all of the middle counts as replaced. */
const MAX_CELLS = 4_000_000

interface Line {
  readonly mark: ' ' | '-' | '+'
  readonly text: string
}

/** @returns lines with `- `, `+ ` or two spaces before; `…` where equal lines are left out; empty when all is equal. */
export function diffLines(before: readonly string[], after: readonly string[]): readonly string[] {
  const lines = compare(before, after)
  const near = lines.map(({ mark }) => mark !== ' ')
  const shown = lines.map((_line, index) =>
    near.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).includes(true),
  )
  return lines.flatMap(({ mark, text }, index) => {
    if (shown[index] === true) return [`${mark} ${text}`]
    return shown[index - 1] === true && shown.includes(true, index) ? ['…'] : []
  })
}

function compare(before: readonly string[], after: readonly string[]): readonly Line[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1
  let end = 0
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end += 1
  }
  const same = (text: string): Line => ({ mark: ' ', text })
  return [
    ...before.slice(0, start).map(same),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ]
}

/** Longest common subsequence; taken out stands before come in. */
function middle(before: readonly string[], after: readonly string[]): readonly Line[] {
  const width = after.length + 1
  const cells = (before.length + 1) * width
  if (cells > MAX_CELLS) {
    return [
      ...before.map((text): Line => ({ mark: '-', text })),
      ...after.map((text): Line => ({ mark: '+', text })),
    ]
  }
  const common = new Uint32Array(cells)
  const at = (row: number, column: number): number => common[row * width + column] ?? 0
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      common[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const lines: Line[] = []
  let row = 0
  let column = 0
  while (row < before.length || column < after.length) {
    const left = before[row]
    const right = after[column]
    if (left !== undefined && left === right) {
      lines.push({ mark: ' ', text: left })
      row += 1
      column += 1
    } else if (
      left !== undefined &&
      (right === undefined || at(row + 1, column) >= at(row, column + 1))
    ) {
      lines.push({ mark: '-', text: left })
      row += 1
    } else {
      lines.push({ mark: '+', text: right ?? '' })
      column += 1
    }
  }
  return lines
}
