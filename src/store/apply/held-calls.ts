/**
 * The rows of calls that are on their way, as the batch has them: a row is written once a batch, however often it moves in it,
 * and one that this owner wrote is not read back.
 *
 * Whoever asks the table itself asks after a flush. What is held is what the table says, or will when the batch commits:
 * a command that is undone takes its changes with it, a batch that is undone takes everything.
 */
import type { CallRow } from './call-row.ts'

interface Held {
  readonly row: CallRow
  /** The table has a row of this call. */
  readonly stored: boolean
  /** The table has not this row. */
  readonly dirty: boolean
}

/** Open calls that are held between batches. Beyond it the oldest are read back when they move. */
const MAX_HELD = 4096

export class HeldCalls {
  readonly #held = new Map<string, Held>()
  readonly #dirty = new Set<string>()
  #moved = false
  #undo: (readonly [callId: string, before: Held | undefined])[] = []

  get(callId: string): CallRow | undefined {
    return this.#held.get(callId)?.row
  }

  /** Whether the table does not know yet which acts are unsettled, whose twins others may be. */
  get moved(): boolean {
    return this.#moved
  }

  /** Holds a row that was read from the table. */
  keep(row: CallRow): void {
    this.#held.set(row.callId, { row, stored: true, dirty: false })
  }

  /** Holds a row that the table has not yet. @param stored whether it has another one of this call. */
  put(row: CallRow, stored: boolean): void {
    const before = this.#held.get(row.callId)
    this.#undo.push([row.callId, before])
    this.#held.set(row.callId, { row, stored: before?.stored ?? stored, dirty: true })
    this.#dirty.add(row.callId)
    if (isUnsettled(row) || isUnsettled(before?.row)) this.#moved = true
  }

  /** From here on changes belong to the next command. */
  begin(): void {
    if (this.#undo.length > 0) this.#undo = []
  }

  /** Takes back what was put since `begin`. */
  undo(): void {
    for (const [callId, before] of this.#undo.toReversed()) {
      if (before === undefined) this.#held.delete(callId)
      else this.#held.set(callId, before)
      if (before?.dirty !== true) this.#dirty.delete(callId)
    }
    this.#undo = []
  }

  /** Hands out every row that the table has not. Not between `begin` and `undo`: what is written then would be undone unseen. */
  flush(write: (row: CallRow, stored: boolean) => void): void {
    for (const callId of this.#dirty) {
      const held = this.#held.get(callId)
      if (held === undefined) continue
      write(held.row, held.stored)
      if (held.row.state === 'open') {
        this.#held.set(callId, { row: held.row, stored: true, dirty: false })
      } else this.#held.delete(callId)
    }
    this.#dirty.clear()
    this.#moved = false
    this.#undo = []
    for (const callId of this.#held.keys()) {
      if (this.#held.size <= MAX_HELD) break
      this.#held.delete(callId)
    }
  }

  clear(): void {
    this.#held.clear()
    this.#dirty.clear()
    this.#moved = false
    this.#undo = []
  }
}

function isUnsettled(row: CallRow | undefined): boolean {
  return row?.state === 'unknown' || row?.state === 'caller_gone'
}
