/** Bytes kept as received. Decisions read the parsed value; the wire gets the bytes. */

export type Protocol = 'mcp' | 'a2a'

/** One JSON text, already scanned strictly: no duplicate keys, no lone surrogates, no non-finite numbers. */
export interface JsonText {
  readonly bytes: Uint8Array
  /** Parses once and remembers. Numbers beyond 2^53 lose digits here and only here. */
  value(): unknown
}

/**
 * A message body in the form of one protocol revision.
 *
 * For a request: MCP `params`, or the A2A `Message`. For an outcome: MCP `result` or `error`, or the A2A `Message` or `Task`.
 */
export interface Native extends JsonText {
  readonly protocol: Protocol
  readonly revision: string
}

/**
 * JSON as it was written, for people: numbers keep every digit, unlike those of `value()`.
 *
 * @throws URIError when the bytes are not UTF-8; a message that passed a door is.
 */
export function textOfJson(json: JsonText): string {
  // Core has no TextDecoder; percent-decoding is UTF-8 by definition.
  let escaped = ''
  for (const byte of json.bytes) {
    const plain = byte < 0x80 && byte !== 0x25
    escaped += plain ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`
  }
  return decodeURIComponent(escaped)
}
