/**
 * One HTTP answer: a single JSON object, or an event stream once there is something to say before the end.
 *
 * @source MCP 2026-07-28, transports, Streamable HTTP: comments keep a stream alive, `X-Accel-Buffering: no`
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Due } from '../wire/deadlines.ts'
import type { Place } from '../wire/in-flight.ts'
import { wholeBody, type Reply } from './answer.ts'
import type { EventSink } from './event-stream.ts'
import { Outgoing, type Behind, type OutgoingTerms } from './outgoing.ts'

export interface StreamBegin {
  readonly afterMs: number
  /** What stands before the first message. Default: a comment, when nothing else is there to say. */
  readonly first?: () => Uint8Array
}

/** What all answers of a door go by. */
export interface AnswerTerms extends OutgoingTerms {
  readonly streamAfterMs: number
  readonly keepAliveMs: number
  readonly lines: Lines
}

/** Who wants to know how an answer goes. */
export interface AnswerWatcher {
  /** The connection closed before its answer was ended. */
  answerLost(): void
  /** All of it was taken by the operating system, or the connection is gone. */
  answerOver(): void
}

const JSON_TYPE = 'application/json'
const COMMENT = Buffer.from(':\n\n')
const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export class HttpAnswer implements Due {
  readonly #response: ServerResponse
  readonly #terms: AnswerTerms
  readonly #watcher: AnswerWatcher
  readonly #outgoing: Outgoing
  readonly #line: Line | undefined
  /** When the stream begins by itself; once it has, its next sign of life. */
  #dueAt: number
  readonly #place: Place<Due>
  #ended = false
  #isLost = false
  #closed: AbortController | undefined
  #sink: EventSink | undefined
  #first: (() => Uint8Array) | undefined

  constructor(response: ServerResponse, terms: AnswerTerms, watcher: AnswerWatcher) {
    this.#response = response
    this.#terms = terms
    this.#watcher = watcher
    this.#outgoing = new Outgoing(response, terms, this)
    this.#dueAt = performance.now() + terms.streamAfterMs
    this.#place = terms.deadlines.add(this)
    this.#line = terms.lines.carry(response.socket, this)
    response.on('error', ignore)
    // It comes right behind `finish`, and without it when the connection is gone.
    response.on('close', () => this.#close())
    if (response.destroyed) this.#outgoing.finish()
  }

  /** The connection closed before its answer was ended. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Fires then. */
  get closed(): AbortSignal {
    if (this.#closed === undefined) {
      this.#closed = new AbortController()
      if (this.#isLost) this.#closed.abort('caller_canceled')
    }
    return this.#closed.signal
  }

  /** For whoever frames events: writing one begins the stream, `end` ends it. */
  get sink(): EventSink {
    return (this.#sink ??= {
      send: (event) => this.#send(event),
      end: () => this.#endStream(undefined),
      closed: this.closed,
    })
  }

  hasBegun(): boolean {
    return this.#response.headersSent
  }

  /** How and when the stream begins by itself. */
  prepare(begin: StreamBegin): void {
    this.#first = begin.first
    if (this.hasBegun() || this.#isOver()) return
    this.#dueAt = performance.now() + begin.afterMs
    this.#terms.deadlines.heed(this)
  }

  /** Begins the stream now. */
  begin(): void {
    this.#beginStream()
    if (this.#first === undefined) this.#sayAlive()
  }

  /** Sends a message before the answer; begins the stream. */
  notify(message: Uint8Array): void | Promise<void> {
    return this.#send(encodeEvent(message))
  }

  /** Nothing when the stream was ended already. */
  end(reply: Reply): void {
    if (this.hasBegun()) {
      const whole = wholeBody(reply)
      return this.#endStream(whole === undefined ? undefined : encodeEvent(whole))
    }
    if (!this.#isOver()) this.#response.writeHead(reply.status, headersOf(reply))
    this.#endStream(reply.body, reply)
  }

  get dueAt(): number {
    return this.#dueAt
  }

  pass(now: number): void {
    if (!this.hasBegun()) return this.begin()
    this.#dueAt = now + this.#terms.keepAliveMs
    this.#sayAlive()
  }

  /** The end of what the caller sends was seen: a turn before the close, in time for an equal request right behind it. */
  leave(): void {
    this.#stopTimes()
    if (this.#ended || this.#isLost) return
    this.#isLost = true
    this.#closed?.abort('caller_canceled')
    this.#watcher.answerLost()
  }

  outgoingOver(): void {
    this.#watcher.answerOver()
  }

  #close(): void {
    this.#outgoing.finish()
    if (this.#line?.answer === this) this.#line.answer = undefined
    this.leave()
  }

  #isOver(): boolean {
    return this.#ended || this.#isLost
  }

  #beginStream(): void {
    if (this.hasBegun() || this.#isOver()) return
    this.#response.writeHead(200, STREAM_HEADERS)
    this.#dueAt = performance.now() + this.#terms.keepAliveMs
    this.#terms.deadlines.heed(this)
    if (this.#first !== undefined) void this.#outgoing.write(this.#first())
  }

  /** Behind bytes that wait to be read, a sign of life would only wait too. */
  #sayAlive(): void {
    if (!this.#outgoing.isWaiting && !this.#isOver()) void this.#outgoing.write(COMMENT)
  }

  #send(event: Uint8Array): Promise<void> | undefined {
    if (this.#isOver()) return undefined
    this.#beginStream()
    // A caller that stops reading holds back only its own call; one that is gone holds back nothing.
    return this.#outgoing.write(event)
  }

  #endStream(event: Uint8Array | undefined, behind?: Behind): void {
    this.#stopTimes()
    if (this.#isOver()) return
    this.#ended = true
    this.#outgoing.end(event, behind)
  }

  #stopTimes(): void {
    this.#dueAt = Infinity
    this.#terms.deadlines.remove(this.#place)
  }
}

/** The answer that one connection carries just now: others on it wait for theirs. */
interface Line {
  answer: HttpAnswer | undefined
}

/** The connections of a door: one listener each for the end of what is sent, however many requests come on it. */
export class Lines {
  readonly #lines = new WeakMap<Socket, Line>()

  /** @param socket none for an answer that waits for those before it. */
  carry(socket: Socket | null, answer: HttpAnswer): Line | undefined {
    if (socket === null) return undefined
    const known = this.#lines.get(socket)
    if (known !== undefined) {
      known.answer = answer
      return known
    }
    const line: Line = { answer }
    this.#lines.set(socket, line)
    socket.on('end', () => line.answer?.leave())
    return line
  }
}

function ignore(): void {
  // What cannot be written any more is known by `close`.
}

/** Names and values in turn: they go out as they stand. */
function headersOf({ body, middle, tail, headers }: Reply): string[] {
  const length = String((body?.length ?? 0) + (middle?.length ?? 0) + (tail?.length ?? 0))
  const flat =
    body === undefined
      ? ['content-length', length]
      : ['content-type', JSON_TYPE, 'content-length', length]
  if (headers === undefined) return flat
  for (const [name, value] of Object.entries(headers)) flat.push(name, value)
  return flat
}

/** Raw line ends stand between JSON tokens only, where a space means the same: one message is one data line. */
export function oneLine(message: Uint8Array): Uint8Array {
  if (message.indexOf(0x0a) < 0 && message.indexOf(0x0d) < 0) return message
  return message.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte))
}

function encodeEvent(message: Uint8Array): Uint8Array {
  return Buffer.concat([
    Buffer.from('event: message\ndata: '),
    oneLine(message),
    Buffer.from('\n\n'),
  ])
}
