/** Options that several commands share: durations, JSON and pairs given in words. */
import { readFileSync } from 'node:fs'
import { ComityError } from '../gateway/admin/errors.ts'
import { parseExact } from '../gateway/admin/exact-json.ts'
import { parseDuration } from '../gateway/config/duration.ts'

/** `30s`, `5m`, `2h` in milliseconds; `true` (the bare option) is `fallback`. @throws ComityError `usage` */
export function durationOf(option: string, value: string | true, fallback: string): number {
  const text = value === true ? fallback : value
  const ms = parseDuration(text)
  if (ms === undefined)
    throw new ComityError(
      'usage',
      `${option} expects a duration such as 30s, 5m or 2h, got ${JSON.stringify(text)}`,
    )
  return ms
}

/** JSON as given, or the file behind `@`. @throws ComityError `usage` */
export function jsonOption(option: string, value: string | undefined): unknown {
  if (value === undefined) return undefined
  const text = value.startsWith('@') ? readText(option, value.slice(1)) : value
  try {
    return parseExact(text)
  } catch (error) {
    throw new ComityError('usage', `${option} expects JSON: ${(error as Error).message}`)
  }
}

/** `name=value` in two. @throws ComityError `usage` */
export function pairOf(option: string, pair: string): readonly [name: string, value: string] {
  const at = pair.indexOf('=')
  if (at < 1)
    throw new ComityError('usage', `${option} expects name=value, got ${JSON.stringify(pair)}`)
  return [pair.slice(0, at), pair.slice(at + 1)]
}

function readText(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ComityError('usage', `${option}: cannot read ${file}: ${(error as Error).message}`)
  }
}
