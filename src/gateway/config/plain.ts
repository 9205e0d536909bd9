/** Looking into a value that came from a file before its form is known. */
import { isObject } from '../../core/words/is-object.ts'

/** The value as a mapping; empty when it is not one. */
export function asMapping(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

/** The value as a list; a single text is a list of one; empty when it is neither. */
export function asTexts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

/** The value when it is text. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
