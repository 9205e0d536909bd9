/**
 * The answer to one POST of a session: plain JSON when it is quick, else an event stream that the caller can come back to.
 *
 * What belongs to the call goes out on the call's stream, wherever that is carried just now. A caller that is away loses
 * nothing and cancels nothing.
 *
 * @source MCP 2025-11-25, transports, Streamable HTTP, sending messages; SEP-1699
 */
import type { RpcId } from '../wire/json-rpc.ts'
import { LEGACY_REVISION } from '../wire/rev-2025-11-25.ts'
import type { Reply } from './answer.ts'
import type { EventStream } from './event-stream.ts'
import type { HttpAnswer } from './http-answer.ts'
import type { LegacyArrival } from './legacy.ts'
import type { DoorLimits } from './options.ts'
import type { HttpSession } from './sessions.ts'

/** The parts of an arrival that depend on where its answer goes. */
export type ArrivalParts = Pick<LegacyArrival, 'transport' | 'caller' | 'sendQuestion' | 'news'>

export interface StreamDesk {
  readonly answer: HttpAnswer
  readonly closing: AbortSignal
  readonly door: { readonly limits: DoorLimits }
}

/** @returns undefined when the answer went out on the stream. */
export async function answerOnStream(
  desk: StreamDesk,
  session: HttpSession,
  requestId: RpcId | undefined,
  work: (arrival: ArrivalParts) => Promise<Reply>,
): Promise<Reply | undefined> {
  const { answer, closing } = desk
  const { streams } = session
  const stream = streams.openCall(requestId)
  carry(desk, session, stream)
  const hold = pollLater(desk, session, stream)
  try {
    const reply = await work({
      transport: 'http',
      caller: {
        notify: (message) => stream.push(message, { droppable: true }),
        signal: closing,
        gone: answer.closed,
      },
      sendQuestion: (message) => questionStream(session, stream).push(message),
    })
    const isShown = stream.isKnown() || answer.hasBegun()
    if (reply.body === undefined || !isShown || stream.isOver()) {
      streams.discard(stream)
      return reply
    }
    stream.finish(reply.body)
    streams.keep(stream)
    return undefined
  } catch (fault) {
    streams.discard(stream)
    throw fault
  } finally {
    hold()
  }
}

/** Carries a stream over this connection. @param after the last event that the caller has, when it comes back. */
export function carry(
  { answer, door }: StreamDesk,
  session: HttpSession,
  stream: EventStream,
  after?: number,
): void {
  // Older clients take an event without content for a message.
  if (session.terms.revision === LEGACY_REVISION) {
    const { resumableAfterMs, retryMs } = door.limits
    answer.prepare({ afterMs: resumableAfterMs, first: () => stream.primer(retryMs) })
  }
  stream.attach(answer.sink, after)
}

/** A call that takes long is not held: its caller comes back for the answer. @returns the way to hold it after all. */
export function pollLater(
  { answer, door }: StreamDesk,
  session: HttpSession,
  stream: EventStream,
): () => void {
  const { pollAfterMs } = door.limits
  if (pollAfterMs === 0 || session.terms.revision !== LEGACY_REVISION) return () => undefined
  const timer = setTimeout(() => {
    if (answer.hasBegun()) stream.release(answer.sink)
  }, pollAfterMs)
  timer.unref()
  return () => clearTimeout(timer)
}

/** Where the caller is: on the call's stream, or on its own; else where it looks first when it comes back. */
function questionStream({ streams }: HttpSession, call: EventStream): EventStream {
  const isHere = call.isAttached() || (call.isKnown() && !streams.own.isAttached())
  return isHere ? call : streams.own
}
