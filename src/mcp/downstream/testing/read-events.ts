/** Reads an event stream event by event. */
import { EventSourceParserStream } from 'eventsource-parser/stream'

export interface ReadEvent {
  readonly id?: string
  readonly data: string
  /** The message in it; undefined for an event without content. */
  readonly message: unknown
}

export interface EventReader {
  /** The next event. @throws Error when the stream ends before, or nothing comes for long. */
  next(): Promise<ReadEvent>
  /** All that is left until the stream ends. */
  rest(): Promise<readonly ReadEvent[]>
  /** What the stream said to wait before coming back, milliseconds. */
  retryMs(): number | undefined
  cancel(): Promise<void>
}

const PATIENCE_MS = 10_000

export function readEvents(response: Response): EventReader {
  if (response.body === null) throw new Error('the response has no body')
  let retryMs: number | undefined
  const reader = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(
      new EventSourceParserStream({
        onRetry: (ms) => {
          retryMs = ms
        },
      }),
    )
    .getReader()
  const read = async (): Promise<ReadEvent | undefined> => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('no event came in time')), PATIENCE_MS)
    })
    try {
      const { value, done } = await Promise.race([reader.read(), late])
      if (done) return undefined
      const message: unknown = value.data === '' ? undefined : JSON.parse(value.data)
      return { ...(value.id === undefined ? {} : { id: value.id }), data: value.data, message }
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    next: async () => {
      const event = await read()
      if (event === undefined) throw new Error('the stream ended')
      return event
    },
    rest: async () => {
      const events: ReadEvent[] = []
      for (;;) {
        const event = await read()
        if (event === undefined) return events
        events.push(event)
      }
    },
    retryMs: () => retryMs,
    cancel: () => reader.cancel(),
  }
}
