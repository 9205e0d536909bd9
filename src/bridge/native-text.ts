/** Plain values as native bytes, for translated messages. */
import { parseExact } from '../core/words/exact-json.ts'
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

/** A native's value with every number's lexeme kept, for values that are only handed over. */
export function exactValue({ bytes }: JsonText): unknown {
  return parseExact(new TextDecoder().decode(bytes))
}
