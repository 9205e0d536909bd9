/**
 * The door of the wire folder: parse what came, encode what goes.
 *
 * Bad input is a value with all its violations, never an exception. The raw value stays beside the
 * typed view, so that a relay can pass on what this revision has no name for.
 */
import type { MessageName, Messages } from './fields.ts'
import type { Part } from './messages.ts'
import { readWire } from './read.ts'
import { READ_LIMITS, type ReadLimits, type Violation } from './read-value.ts'
import { writeWire } from './write.ts'

/** Passed on so that readers of messages need one import. */
export type { ReadLimits, Violation } from './read-value.ts'
export { REPLY_LIMITS } from './read-value.ts'
export type { MessageName, Messages } from './fields.ts'

/** What reading gives: the typed view with the value it came from, or everything that is wrong. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T; readonly raw: unknown }
  | { readonly ok: false; readonly violations: readonly Violation[] }

/**
 * Parses a JSON value as the named A2A 1.0 message.
 *
 * @param value what JSON.parse gave; its bytes were bounded by whoever read them.
 * @param limits only what differs from the defaults.
 */
export function parseWire<Name extends MessageName>(
  name: Name,
  value: unknown,
  limits: Partial<ReadLimits> = {},
): Parsed<Messages[Name]> {
  const read = readWire(name, value, { ...READ_LIMITS, ...limits })
  if (read.violations.length > 0) return { ok: false, violations: read.violations }
  return { ok: true, value: read.value as Messages[Name], raw: value }
}

/**
 * Encodes a typed message as a plain JSON object: members of the table only, presence kept.
 *
 * @throws TypeError when a REQUIRED member was not set.
 */
export function encodeWire<Name extends MessageName>(
  name: Name,
  value: Messages[Name],
): Record<string, unknown> {
  return writeWire(name, value)
}

/** Violations as one line for a log or an error message. */
export function describeViolations(violations: readonly Violation[]): string {
  return violations
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
    .join('; ')
}

/** The content member a part holds. */
export function contentOf(part: Part): 'text' | 'raw' | 'url' | 'data' {
  if ('text' in part) return 'text'
  if ('raw' in part) return 'raw'
  return 'url' in part ? 'url' : 'data'
}

/** The texts of parts, joined by line ends; other parts are passed over. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n')
}
