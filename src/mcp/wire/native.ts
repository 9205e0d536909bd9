/** Scanned bytes as the core words JsonText and Native: parsed once, and only when somebody asks. */
import type { JsonText, Native } from '../../core/words/native.ts'
import { readLargeValue } from './large-value.ts'
import type { Member } from './spans.ts'

/** Bytes that were scanned, as a JsonText. */
export function jsonText(bytes: Uint8Array): JsonText {
  return new ScannedText(bytes)
}

/**
 * Bytes that were scanned, as an MCP message body of that revision.
 *
 * @param members of these bytes, where they were told when the bytes were checked: whoever sends them on need not look again.
 */
export function mcpNative(
  bytes: Uint8Array,
  revision: string,
  members?: readonly Member[],
): Native {
  return new ScannedNative(bytes, revision, members)
}

/** What `mcpNative` was told of the bytes; undefined when they are to be checked first. */
export function membersOf(native: Native): readonly Member[] | undefined {
  return native instanceof ScannedNative ? native.members : undefined
}

class ScannedText implements JsonText {
  readonly bytes: Uint8Array
  #value: unknown
  #isRead = false

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  value(): unknown {
    if (!this.#isRead) this.#value = readLargeValue(this.bytes)
    this.#isRead = true
    return this.#value
  }
}

class ScannedNative implements Native {
  readonly protocol = 'mcp'
  readonly revision: string
  readonly bytes: Uint8Array
  readonly members: readonly Member[] | undefined
  /** Made when it is parsed: most are not. */
  #text: ScannedText | undefined

  constructor(bytes: Uint8Array, revision: string, members: readonly Member[] | undefined) {
    this.bytes = bytes
    this.revision = revision
    this.members = members
  }

  value(): unknown {
    return (this.#text ??= new ScannedText(this.bytes)).value()
  }
}
