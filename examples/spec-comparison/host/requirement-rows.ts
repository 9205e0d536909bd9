/**
 * The host's own reading of a requirement list, line by line and with no YAML library.
 *
 * It shares nothing with the agent's parser, so that a fault of one is not a fault of both. A line
 * that it does not understand is an error: a row passed over in silence would pass as covered.
 */

export type Leg = 'server' | 'client'

/** One requirement, with its line, counted from 1. */
export interface Row {
  readonly leg: Leg
  readonly scenario: string
  readonly line: number
}

/** What one list says. */
export interface RowList {
  readonly rows: readonly Row[]
  /** First row to last row of each leg. */
  readonly sections: Readonly<Record<Leg, { readonly first: number; readonly last: number }>>
  /** How many rows are run without counting. */
  readonly notScored: number
}

const SECTION = /^(server|client|not_scored):$/
const ROW = /^ {2}- ([A-Za-z0-9][A-Za-z0-9_./-]*)$/
const UNSCORED = /^ {2}- scenario: \S+$/

/** @throws Error with the line that is none of: section, row, not scored row, comment, blank. */
export function parseRows(document: string, text: string): RowList {
  const rows: Row[] = []
  let section: string | undefined
  let notScored = 0
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const next = SECTION.exec(line)?.[1]
    const scenario = ROW.exec(line)?.[1]
    if (next !== undefined) section = next
    else if (section === 'not_scored' && UNSCORED.test(line)) notScored += 1
    else if (section === 'not_scored' && line.startsWith('    ')) continue
    else if ((section === 'server' || section === 'client') && scenario !== undefined) {
      rows.push({ leg: section, scenario, line: index + 1 })
    } else {
      throw new Error(
        `${document}, line ${index + 1}: the host cannot tell what this line requires`,
      )
    }
  }
  if (new Set(rows.map(keyOf)).size < rows.length) {
    throw new Error(`${document}: a row stands there twice`)
  }
  return {
    rows,
    sections: { server: span(rows, 'server'), client: span(rows, 'client') },
    notScored,
  }
}

/** The same requirement in two lists has the same key. */
export function keyOf({ leg, scenario }: Pick<Row, 'leg' | 'scenario'>): string {
  return `${leg} ${scenario}`
}

/** Rows of `list` that `other` does not have. */
export function rowsOnlyIn(list: RowList, other: RowList): readonly Row[] {
  const known = new Set(other.rows.map(keyOf))
  return list.rows.filter((row) => !known.has(keyOf(row)))
}

function span(rows: readonly Row[], leg: Leg): { readonly first: number; readonly last: number } {
  const lines = rows.filter((row) => row.leg === leg).map(({ line }) => line)
  return { first: lines[0] ?? 0, last: lines.at(-1) ?? 0 }
}
