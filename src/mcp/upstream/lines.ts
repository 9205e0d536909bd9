/**
 * Lines of bytes: cuts a stream at line feeds without decoding it, so that a character split
 * between two chunks is whole again. A line beyond the limit ends the stream for good.
 *
 * @source MCP 2026-07-28, transports, stdio: newline-delimited, no embedded newlines.
 */
import { Pieces } from '../../core/pieces.ts'

export interface LineSplitter {
  /** @returns false once the limit was passed; nothing more is told then. */
  feed(chunk: Uint8Array): boolean
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/**
 * @param maxBytes longest line.
 * @param onLine told of each line that is not blank, without its end, CR and byte order mark.
 */
export function createLineSplitter(
  maxBytes: number,
  onLine: (line: Uint8Array) => void,
): LineSplitter {
  const parts = new Pieces()
  let size = 0
  let over = false
  const finish = (last: Uint8Array): void => {
    const line = size === 0 ? last : Buffer.concat([...parts.take(), last])
    size = 0
    const bare = stripLine(line)
    if (bare.length > 0) onLine(bare)
  }
  return {
    feed(chunk) {
      let start = 0
      while (!over) {
        const end = chunk.indexOf(LINE_FEED, start)
        const piece = chunk.subarray(start, end < 0 ? chunk.length : end)
        if (size + piece.length > maxBytes) {
          over = true
          parts.take()
          return false
        }
        if (end < 0) {
          if (piece.length > 0) parts.add(piece)
          size += piece.length
          return true
        }
        finish(piece)
        start = end + 1
      }
      return false
    },
  }
}

function stripLine(line: Uint8Array): Uint8Array {
  let start = 0
  let end = line.length
  if (line[end - 1] === CARRIAGE_RETURN) end -= 1
  if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) start = 3
  while (start < end && (line[start] === 0x20 || line[start] === 0x09)) start += 1
  return line.subarray(start, end)
}
