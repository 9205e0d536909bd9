/**
 * Bytes that arrive in pieces, until they are whole.
 *
 * A piece costs the runtime hundreds of bytes beside its own. Who sends a message byte by byte would otherwise decide how much
 * memory it takes: small pieces, once there are many, are put together as they come.
 */

/** So many pieces are kept as they come, however small: nearly every message has fewer. */
const FEW = 32
/** From so many bytes on a piece is worth its own place. */
const LARGE = 1024
const ROOM_BYTES = 16_384

export class Pieces {
  #parts: Uint8Array[] = []
  /** Where small ones are put together; used again for the next. */
  #room: Uint8Array | undefined
  #used = 0

  add(piece: Uint8Array): void {
    const { length } = piece
    if (length >= LARGE || this.#parts.length < FEW) {
      this.#empty()
      this.#parts.push(piece)
      return
    }
    this.#room ??= new Uint8Array(ROOM_BYTES)
    if (this.#used + length > ROOM_BYTES) this.#empty()
    this.#room.set(piece, this.#used)
    this.#used += length
  }

  /** All of them in their order, to be joined; none is left here. */
  take(): readonly Uint8Array[] {
    this.#empty()
    const parts = this.#parts
    this.#parts = []
    this.#room = undefined
    return parts
  }

  #empty(): void {
    if (this.#used === 0 || this.#room === undefined) return
    this.#parts.push(this.#room.slice(0, this.#used))
    this.#used = 0
  }
}
