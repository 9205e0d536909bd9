/**
 * How much of this process one server's event streams may take for being read: a server that talks
 * without end must not keep the others' answers waiting.
 *
 * What an answer needs is free; beyond, a stream that has used up the share is read no further for a while.
 */

export interface ReadShare {
  /**
   * One more piece of a stream was read.
   *
   * @param streamedBytes how much of this stream was read by now.
   * @param tookMs how long reading this piece took, milliseconds.
   * @returns how long it is to be read no further, milliseconds; 0 nearly always.
   */
  spend(streamedBytes: number, tookMs: number): number
}

/** The first bytes of each stream count for nothing: most are one answer. */
const FREE_BYTES = 256 * 1024
/** Of the time that passes. */
const SHARE = 0.25
/** What may be taken in one go, milliseconds: an answer as large as a message may be needs about so much. */
const BURST_MS = 250
const LONGEST_MS = 1_000

/** Makes the share of one link. @param monotonic milliseconds that only grow. */
export function createReadShare(monotonic: () => number): ReadShare {
  let left = BURST_MS
  let at = monotonic()
  return {
    spend(streamedBytes, tookMs) {
      if (streamedBytes <= FREE_BYTES) return 0
      const now = monotonic()
      left = Math.min(BURST_MS, left + (now - at) * SHARE) - tookMs
      at = now
      return left >= 0 ? 0 : Math.min(-left / SHARE, LONGEST_MS)
    },
  }
}
