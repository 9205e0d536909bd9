/**
 * Texts of A2A objects as core keeps them: bytes as received, parsed once when asked.
 */
import type { Native } from '../../core/words/native.ts'

/** Wraps a JSON text of an A2A 1.0 Message, Task or error. */
export function toNative(text: string): Native {
  let bytes: Uint8Array | undefined
  let parsed: { readonly value: unknown } | undefined
  return {
    protocol: 'a2a',
    revision: '1.0',
    // Large tasks pass through here on every read; bytes are made only when something keeps them.
    get bytes() {
      return (bytes ??= new TextEncoder().encode(text))
    },
    value: () => (parsed ??= { value: JSON.parse(text) as unknown }).value,
  }
}
