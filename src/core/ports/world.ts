/** Clock, ids, digests: what core may not make itself. */
import type { JsonText } from '../words/native.ts'

export interface Clock {
  /** Epoch milliseconds. */
  now(): number
}

export interface Ids {
  call(): string
  task(): string
}

export interface Digest {
  /** Hex SHA-256 of a text's UTF-8 bytes. */
  text(text: string): string
  /** Hex SHA-256 over the canonical form of a JSON text: key order and white space do not count, number lexemes do. */
  json(json: JsonText): string
  /** As `json`, and numbers of the same exact value are the same in any spelling: 1, 1.0, 1e0. */
  jsonValue(json: JsonText): string
}
