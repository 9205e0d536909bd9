/** One open pipe to the process that owns the store: lines both ways, each side held back when the other does not read. */
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { createLineReader } from '../../mcp/downstream/lines.ts'

export interface OwnerLink {
  /** Resolves when more may be written, or when the link has ended. */
  write(line: Uint8Array): Promise<void>
  /** Nothing more comes from this side; what runs may still answer. */
  end(): void
  destroy(): void
  /** Resolves when nothing more can be heard. */
  readonly ended: Promise<void>
}

/** Twice the longest message: an answer is whole before a host sees a byte of it. */
const MAX_LINE_BYTES = 130 * 1024 * 1024
const NEWLINE = Buffer.from('\n')

/**
 * @param hear told of each whole line, in order; a returned promise holds the reading back until it settles. What a dying
 * owner left without its newline is no line.
 */
export function openOwnerLink(
  socket: Socket,
  hear: (line: Uint8Array) => Promise<void> | undefined,
): OwnerLink {
  let full: Promise<void> | undefined
  let waiting: Promise<void> | undefined
  socket.on('error', () => undefined)
  const reader = createLineReader(
    MAX_LINE_BYTES,
    (line) => void (full = hear(line) ?? full),
    () => socket.destroy(),
  )
  const read = async (): Promise<void> => {
    try {
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        reader.push(chunk)
        await full
        full = undefined
      }
    } catch {
      // Broken off is an end like another: what was open is answered by whoever holds the pipe.
    }
    socket.destroy()
  }
  const ended = read()
  return {
    write: (line) => {
      if (socket.destroyed || !socket.writable) return Promise.resolve()
      const flows = socket.write(Buffer.concat([line, NEWLINE]))
      if (flows) return Promise.resolve()
      waiting ??= untilDrained(socket).finally(() => (waiting = undefined))
      return waiting
    },
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
    ended,
  }
}

/** Resolves when more may be written, or never will be. */
export function untilDrained(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      output.off('drain', done)
      output.off('close', done)
      resolve()
    }
    output.on('drain', done)
    output.on('close', done)
  })
}
