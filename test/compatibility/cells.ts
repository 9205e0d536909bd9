/** A cell of a table: what a run found. */
import type { Message } from './caller.ts'
import type { Json } from './peer.ts'

/** `works`, or why it cannot. Anything else is a fault. */
export type Finding = 'works' | `impossible because ${string}`

export interface Cell {
  readonly row: string
  readonly column: string
  readonly finding: Finding | `FAILS: ${string}`
}

/** Runs one check; what it throws is the finding. */
export async function findCell(
  row: string,
  column: string,
  check: () => Promise<Finding>,
): Promise<Cell> {
  const late = AbortSignal.timeout(CELL_MS)
  try {
    const finding = await Promise.race([check(), rejectWhen(late)])
    return { row, column, finding }
  } catch (error) {
    return { row, column, finding: `FAILS: ${error instanceof Error ? error.message : error}` }
  }
}

const CELL_MS = 15_000

function rejectWhen(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('no end within 15 s')), { once: true })
  })
}

/** The one text of a tool's result. */
export function textOf(message: Message): string {
  const { result, error } = message
  if (result === undefined) return `error ${String(error?.['code'])} ${String(error?.['message'])}`
  const content = (result['content'] ?? []) as readonly Json[]
  return content.map((block) => String(block['text'])).join('')
}

/** @throws Error that says what came instead. */
export function expectText(message: Message, expected: string): void {
  const said = textOf(message)
  if (said !== expected)
    throw new Error(
      `expected ${JSON.stringify(expected)}, got ${JSON.stringify(said.slice(0, 300))}`,
    )
}

export function expectThat(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}

/** Looks again until it holds, at most ten seconds. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + 10_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A table in Markdown, rows and columns in the order in which they were found. */
export function tableOf(head: string, cells: readonly Cell[]): string {
  const rows = [...new Set(cells.map(({ row }) => row))]
  const columns = [...new Set(cells.map(({ column }) => column))]
  const notes: string[] = []
  const say = (row: string, column: string): string => {
    const cell = cells.find((one) => one.row === row && one.column === column)
    if (cell === undefined) return ''
    if (cell.finding === 'works') return 'works'
    const why = cell.finding.replace(/^impossible because /u, '')
    if (!notes.includes(why)) notes.push(why)
    return cell.finding.startsWith('FAILS') ? 'FAILS' : `impossible [${notes.indexOf(why) + 1}]`
  }
  return [
    `| ${[head, ...columns].join(' | ')} |`,
    `|${'---|'.repeat(columns.length + 1)}`,
    ...rows.map((row) => `| ${[row, ...columns.map((column) => say(row, column))].join(' | ')} |`),
    '',
    ...notes.map((why, index) => `${index + 1}. impossible because ${why}`),
  ].join('\n')
}
