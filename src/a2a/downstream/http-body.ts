/** Reads a request body within its bounds: bytes, and silence between them. */
import type { IncomingMessage } from 'node:http'
import { Pieces } from '../../core/pieces.ts'
import type { HttpRefusal } from './http-guard.ts'

/** Bounds of one body. */
export interface BodyLimits {
  readonly maxMessageBytes: number
  readonly bodyIdleMs: number
}

/** @returns the whole body; a refusal when it is too large or stops coming; undefined when the caller went away. */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
): Promise<Uint8Array | HttpRefusal | undefined> {
  const closed = { connection: 'close' }
  const tooLarge: HttpRefusal = {
    status: 413,
    message: `a message of more than ${limits.maxMessageBytes} bytes is not taken; send large files in parts or as a url`,
    headers: closed,
  }
  const silent: HttpRefusal = {
    status: 408,
    message: `nothing arrived for ${limits.bodyIdleMs} ms`,
    headers: closed,
  }
  if (Number(request.headers['content-length'] ?? 0) > limits.maxMessageBytes) {
    return Promise.resolve(tooLarge)
  }
  return new Promise((resolve) => {
    const pieces = new Pieces()
    let size = 0
    const finish = (read: Uint8Array | HttpRefusal | undefined): void => {
      clearTimeout(idle)
      request.off('data', take)
      request.pause()
      resolve(read)
    }
    const idle = setTimeout(() => finish(silent), limits.bodyIdleMs)
    const take = (chunk: Buffer): void => {
      size += chunk.length
      if (size > limits.maxMessageBytes) return finish(tooLarge)
      idle.refresh()
      pieces.add(chunk)
    }
    request.on('data', take)
    request.once('end', () => finish(Buffer.concat(pieces.take(), size)))
    request.once('close', () => finish(undefined))
    request.once('error', () => finish(undefined))
  })
}
