/** Scanned bytes as the core words JsonText and Native: parsed once, and only when somebody asks. */
import type { JsonText, Native } from '../../core/words/native.ts'
import { readValue } from './spans.ts'

/** Bytes that were scanned, as a JsonText. */
export function jsonText(bytes: Uint8Array): JsonText {
  let read: { readonly value: unknown } | undefined
  return { bytes, value: () => (read ??= { value: readValue(bytes) }).value }
}

/** Bytes that were scanned, as an MCP message body of that revision. */
export function mcpNative(bytes: Uint8Array, revision: string): Native {
  const text = jsonText(bytes)
  return { protocol: 'mcp', revision, bytes, value: () => text.value() }
}
