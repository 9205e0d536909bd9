/**
 * The event stream of a session that belongs to no request: opened, kept open, opened again after a
 * break where it stopped. A server without one says so and is not asked again.
 *
 * @source MCP 2025-11-25, transports, Streamable HTTP, listening for messages from the server.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { parseMessage } from '../wire/json-rpc.ts'
import type { Post, PostAnswer, StreamMark } from './http-exchange.ts'
import { saysSessionLost, splitBatch } from './http-status.ts'
import { LinkFailure } from './link.ts'

export interface GetStreamDeps {
  /** Sends the GET. */
  open(options: OpenStream): Post
  /** The server does not know the session any more. */
  onSessionLost(): void
  /** What came between two streams may have been missed, or may be missed from now on. */
  onGap(): void
  /** Milliseconds that only grow. */
  monotonic(): number
}

export interface OpenStream {
  readonly lastEventId: string | undefined
  readonly onHead: (status: number, streamed: boolean) => void
  readonly onMark: (mark: StreamMark) => void
}

export interface GetStream {
  isOpen(): boolean
  wasOpen(): boolean
  close(): void
}

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/** A server may ask for no pause at all, or for years. */
const RETRY_RANGE_MS = { least: 100, most: 300_000 }
/** A stream that stood this long has paid for the failures before it. */
const HEALTHY_MS = 10_000

/** Statuses after which the same question may be answered otherwise. */
const MAY_PASS = new Set([408, 409, 425, 429])

/** Opens it and keeps it. */
export function openGetStream(deps: GetStreamDeps): GetStream {
  const stream = new KeptStream(deps)
  void stream.run()
  return stream
}

type Ended = 'none' | 'session_lost' | 'broke' | 'failed'

class KeptStream implements GetStream {
  readonly #deps: GetStreamDeps
  readonly #closing = new AbortController()
  #current: Post | undefined
  #isOpen = false
  /** It was open once. */
  #exists = false
  #lastEventId: string | undefined
  #retryMs = FIRST_PAUSE_MS
  /** Owners were told that it is down, or have never heard of it. */
  #toldDown = true

  constructor(deps: GetStreamDeps) {
    this.#deps = deps
  }

  isOpen = (): boolean => this.#isOpen

  wasOpen = (): boolean => this.#exists

  close = (): void => {
    this.#closing.abort()
    this.#isOpen = false
    this.#current?.abort(new LinkFailure('aborted', true, 'the connection was closed'))
  }

  async run(): Promise<void> {
    const { signal } = this.#closing
    for (let failures = 0; !signal.aborted;) {
      const since = this.#deps.monotonic()
      const ended = await this.#once()
      if (signal.aborted) return
      if (ended === 'none') return
      if (ended === 'session_lost') return this.#deps.onSessionLost()
      const healthy = ended === 'broke' && this.#deps.monotonic() - since >= HEALTHY_MS
      failures = healthy ? 0 : failures + 1
      // A break is told once the stream could not be had again at once: most are mended by then.
      if (ended === 'failed') this.#tellDown()
      await delay(this.#pause(failures), undefined, { signal, ref: false }).catch(() => {})
    }
  }

  async #once(): Promise<Ended> {
    let opened = false
    let status = 0
    let lost = false
    const post = this.#deps.open({
      lastEventId: this.#lastEventId,
      onHead: (code, streamed) => {
        status = code
        opened = streamed
        if (streamed) this.#opened()
        // A page instead of a stream may never end.
        else if (code < 300) post.abort(new LinkFailure('unreadable', true, 'no event stream'))
      },
      onMark: ({ lastEventId, retryMs }) => {
        if (lastEventId !== undefined)
          this.#lastEventId = lastEventId === '' ? undefined : lastEventId
        if (retryMs !== undefined) this.#retryMs = retryMs
      },
    })
    this.#current = post
    try {
      lost = saysLost(await post.answer)
    } catch (error) {
      if (!(error instanceof LinkFailure)) throw error
    }
    this.#isOpen = false
    return opened ? 'broke' : this.#judge(status, lost)
  }

  #opened(): void {
    this.#isOpen = true
    const again = this.#exists
    this.#exists = true
    // Whether the server keeps what was missed is its own choice, id or none.
    if (again) this.#deps.onGap()
    this.#toldDown = false
  }

  #judge(status: number, lost: boolean): Ended {
    if (this.#exists && lost) return 'session_lost'
    if (status === 0 || (status >= 500 && status !== 501) || MAY_PASS.has(status)) return 'failed'
    if (this.#exists) {
      // It refuses to go on from there: from now on is better than not at all.
      if (this.#lastEventId === undefined) return 'none'
      this.#lastEventId = undefined
      return 'failed'
    }
    return 'none'
  }

  #tellDown(): void {
    if (this.#toldDown) return
    this.#toldDown = true
    this.#deps.onGap()
  }

  #pause(failures: number): number {
    const { least, most } = RETRY_RANGE_MS
    const asked = Math.min(Math.max(this.#retryMs, least), most)
    const backoff =
      failures < 2 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 2), LONGEST_PAUSE_MS)
    return Math.max(asked, backoff)
  }
}

function saysLost(answer: PostAnswer): boolean {
  if (answer.streamed || answer.status < 400) return false
  const messages = answer.body.length === 0 ? [] : splitBatch(answer.body)
  return saysSessionLost(
    answer,
    messages.map((bytes) => parseMessage(bytes)),
  )
}
