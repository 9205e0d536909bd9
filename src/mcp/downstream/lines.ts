/** Newline framing over a byte stream: whole lines, bounded; a line that is too long is skipped, not the stream. */
import { Pieces } from '../../core/pieces.ts'

export interface LineReader {
  /** Takes a chunk; calls back once per line. */
  push(chunk: Uint8Array): void
  /** The stream ended: what stands without a newline is a line too. */
  end(): void
}

/**
 * @param onLine each line without its newline, blank ones left out.
 * @param onTooLong once per line that exceeded `maxBytes`; its bytes are gone.
 */
export function createLineReader(
  maxBytes: number,
  onLine: (line: Uint8Array) => void,
  onTooLong: () => void,
): LineReader {
  const pieces = new Pieces()
  let size = 0
  let skipping = false
  const finish = (): void => {
    const parts = pieces.take()
    const line = parts.length === 1 ? (parts[0] ?? new Uint8Array(0)) : Buffer.concat(parts, size)
    const skipped = skipping
    size = 0
    skipping = false
    if (!skipped && !isBlank(line)) onLine(line)
  }
  const take = (part: Uint8Array): void => {
    if (skipping || part.length === 0) return
    size += part.length
    if (size <= maxBytes) {
      pieces.add(part)
      return
    }
    skipping = true
    pieces.take()
    onTooLong()
  }
  return {
    push: (chunk) => {
      let from = 0
      for (;;) {
        const at = chunk.indexOf(0x0a, from)
        if (at < 0) break
        take(chunk.subarray(from, at))
        finish()
        from = at + 1
      }
      take(chunk.subarray(from))
    },
    end: finish,
  }
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09)
}
