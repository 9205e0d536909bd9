/** Plain values as native bytes, for translated messages. */
import type { JsonText, Native, Protocol } from '../core/words/native.ts'

/** A JSON text of ours: the value is already known. */
export function jsonTextOf(value: unknown): JsonText {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  return { bytes, value: () => value }
}

/** The same, marked with protocol and revision. */
export function nativeOf(protocol: Protocol, revision: string, value: unknown): Native {
  return { protocol, revision, ...jsonTextOf(value) }
}

/** What the engine tells a reviver of a primitive: its lexeme. Not in the compiler's library yet. */
type Reviver = (
  this: unknown,
  key: string,
  value: unknown,
  context: { readonly source?: string },
) => unknown
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/**
 * One member of a JSON object as JSON text with every number's lexeme kept: integers beyond 2^53 arrive as they were sent.
 *
 * @returns undefined when the object has no such member.
 * @source ECMAScript, JSON.parse source text access and JSON.rawJSON
 */
export function memberText(bytes: Uint8Array, member: string): string | undefined {
  const value = parseWithSource(new TextDecoder().decode(bytes), (_key, item, { source }) =>
    typeof item === 'number' && source !== undefined ? rawJSON(source) : item,
  )
  return typeof value === 'object' && value !== null && Object.hasOwn(value, member)
    ? JSON.stringify((value as Record<string, unknown>)[member])
    : undefined
}
