/** Durations as people write them in the config: `500ms`, `90s`, `15m`, `2h`, `1d`. */

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** @returns milliseconds, or undefined when the text is not a whole number above 0 with one unit. */
export function parseDuration(text: string): number | undefined {
  const found = /^([1-9][0-9]{0,5})(ms|s|m|h|d)$/.exec(text)
  const unit = UNIT_MS[found?.[2] ?? '']
  return found === null || unit === undefined ? undefined : Number(found[1]) * unit
}
