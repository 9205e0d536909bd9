/** Reads a request body within its bounds: bytes, and silence between them. */
import type { IncomingMessage } from 'node:http'
import { InFlight } from '../wire/in-flight.ts'
import type { HttpRefusal } from './http-guard.ts'

export interface BodyLimits {
  readonly maxMessageBytes: number
  readonly bodyIdleMs: number
}

/** Bodies that are still coming, the oldest first: who sends slowly makes room when there is none. */
export interface Arrivals {
  /** @param giveUp ends it. @returns the way to say that it is over. */
  begin(giveUp: () => void): () => void
  /** Gives up the oldest one. @returns whether there was one. */
  makeRoom(): boolean
}

export function createArrivals(): Arrivals {
  const coming = new InFlight<() => void>()
  return {
    begin(giveUp) {
      const place = coming.add(giveUp)
      return () => coming.remove(place)
    },
    makeRoom() {
      const oldest = coming.oldest()
      oldest?.()
      return oldest !== undefined
    },
  }
}

/** @returns the whole body; a refusal when it is too large or stops coming; undefined when the caller went away. */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  arrivals: Arrivals,
): Promise<Uint8Array | HttpRefusal | undefined> {
  const tooLarge: HttpRefusal = {
    status: 413,
    message: `a message of more than ${limits.maxMessageBytes} bytes is not taken`,
    headers: { connection: 'close' },
  }
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > limits.maxMessageBytes) return Promise.resolve(tooLarge)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = (read: Uint8Array | HttpRefusal | undefined): void => {
      clearTimeout(idle)
      over()
      request.off('data', take)
      request.pause()
      resolve(read)
    }
    const silent = (): void =>
      finish({
        status: 408,
        message: `nothing arrived for ${limits.bodyIdleMs} ms`,
        headers: { connection: 'close' },
      })
    const over = arrivals.begin(() =>
      finish({
        status: 408,
        message: 'the message came in too slowly while others waited for its place',
        headers: { connection: 'close' },
      }),
    )
    const idle = setTimeout(silent, limits.bodyIdleMs)
    const take = (chunk: Buffer): void => {
      size += chunk.length
      if (size > limits.maxMessageBytes) return finish(tooLarge)
      idle.refresh()
      chunks.push(chunk)
    }
    request.on('data', take)
    request.once('end', () => finish(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size)))
    request.once('close', () => finish(undefined))
    request.once('error', () => finish(undefined))
  })
}
