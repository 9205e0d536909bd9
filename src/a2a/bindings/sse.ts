/**
 * Server-sent events out of a response body, each bounded.
 *
 * Only `data` counts here: the protocol defines no event names, ids or retry times. Comments
 * (heartbeats) keep the connection and are no news.
 *
 * @source A2A 1.0.1, 9.4.2 (each event's data is one JSON-RPC response)
 */
import { createParser } from 'eventsource-parser'

/**
 * Yields the data of each event.
 *
 * @param maxBytes of one event.
 * @throws Error when the stream breaks, is no UTF-8, or an event passes the limit.
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string> {
  let ready: string[] = []
  let tooLarge = false
  const parser = createParser({
    onEvent: (event) => {
      // The parser bounds what is unfinished; an event that came in one piece is bounded here.
      if (event.data.length > maxBytes) tooLarge = true
      else if (!tooLarge) ready.push(event.data)
    },
    onError: (error) => {
      // Unknown fields and odd retry values are errors to the parser and nothing to us.
      if (error.type === 'max-buffer-size-exceeded') tooLarge = true
    },
    maxBufferSize: maxBytes,
  })
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for await (const chunk of body) {
    parser.feed(decode(decoder, chunk))
    for (const data of ready) yield data
    ready = []
    if (tooLarge) throw new Error(`one event of the stream is longer than ${maxBytes} bytes`)
  }
}

function decode(decoder: TextDecoder, chunk: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: true })
  } catch {
    throw new Error('the stream is not UTF-8')
  }
}
