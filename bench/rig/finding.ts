/** What a measurement says: a figure beside its target, and whether it is met. */
import { formatTable } from './statistics.ts'

export interface Finding {
  readonly what: string
  readonly measured: string
  readonly target: string
  readonly verdict: 'met' | 'NOT met' | 'not built' | 'not measured'
  /** What it was made of, or why there is none. */
  readonly note: string
}

/** How a run is made. */
export interface RunOptions {
  readonly rounds: number
  /** How long one load lasts, milliseconds. */
  readonly durationMs: number
  /** Files of other gateways, to be measured beside. */
  readonly also: readonly string[]
  /** Bytes and calls in flight, as `100x16`; all when left out. */
  readonly cells?: readonly string[]
  /** Smaller amounts, for a look: figures of a quick run are noisy. */
  readonly quick: boolean
  say(line: string): void
}

/** A figure that must not be above its target. */
export function judge(
  what: string,
  measured: number,
  target: number,
  unit: '×' | 'ms' | 'MiB',
  note: string,
): Finding {
  const verdict = measured <= target ? 'met' : 'NOT met'
  return { what, measured: show(measured, unit), target: `≤ ${show(target, unit)}`, verdict, note }
}

/** Something that cannot be measured here. */
export function notMeasured(what: string, note: string): Finding {
  return { what, measured: '-', target: '-', verdict: 'not measured', note }
}

export function showFindings(findings: readonly Finding[]): string {
  const rows = findings.map((one) => [one.verdict, one.what, one.measured, one.target, one.note])
  return formatTable([['', 'what', 'measured', 'target', 'made of'], ...rows])
}

function show(value: number, unit: '×' | 'ms' | 'MiB'): string {
  return unit === '×' ? `${value.toFixed(2)} ×` : `${value.toFixed(2)} ${unit}`
}
