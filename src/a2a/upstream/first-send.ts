/**
 * The first send of a delegation: once, and never again by itself.
 *
 * An agent that declares streaming is sent to by SendStreamingMessage: its first event names the task
 * at once even where `returnImmediately` is not heeded, and the open stream is handed to the follower,
 * so that nothing said in between is missed. Every other agent is sent to by SendMessage.
 *
 * @source A2A 1.0.1, 3.1.1, 3.1.2 and 3.2.2
 */
import type { Exchange } from '../../core/ports/upstream.ts'
import type { Outcome } from '../../core/words/outcome.ts'
import type { NoAnswer, NotSent } from '../bindings/http.ts'
import type { RpcStream, StreamItem } from '../bindings/jsonrpc.ts'
import type { Received } from '../bindings/rpc-response.ts'
import { describeViolations, parseWire, REPLY_LIMITS } from '../wire/codec.ts'
import { METHODS } from '../wire/rev-1-0.ts'
import { spanAt } from '../wire/span.ts'
import type { ArtifactLimits } from './artifacts.ts'
import { outcomeOfError, outcomeOfSilence } from './failure.ts'
import { sealHandle, type TaskRef } from './handle.ts'
import type { AgentLink } from './link.ts'
import { outcomeOfMessage, outcomeOfStatus } from './outcome.ts'
import type { OpenStreams } from './open-streams.ts'
import { type Snapshot, takeTask } from './read-task.ts'
import { isResting } from './watch.ts'

/** One send, ready to go. */
export interface FirstSend {
  readonly link: AgentLink
  /** Of SendMessage, as JSON text. */
  readonly params: string
  readonly wireId: string
  readonly exchange: Exchange
  readonly timeoutMs: number
  readonly limits?: ArtifactLimits
  onSending(): void
}

/** What an agent's reply to a send was, before it is an outcome. */
export type Reply =
  | { readonly kind: 'task'; readonly snapshot: Snapshot }
  | { readonly kind: 'outcome'; readonly outcome: Outcome }

/** Sends with SendMessage and reads the reply. Used for answers too. */
export async function sendMessage(send: FirstSend, ref: Partial<TaskRef>): Promise<Reply> {
  const reply = await send.link.rpc.send({
    method: METHODS.sendMessage,
    params: send.params,
    wireId: send.wireId,
    signal: send.exchange.signal,
    timeoutMs: send.timeoutMs,
    act: true,
    onSending: () => send.onSending(),
  })
  if (reply.kind === 'error') return { kind: 'outcome', outcome: outcomeOfError(reply.error) }
  if (reply.kind !== 'result') {
    const outcome = outcomeOfSilence(reply, send.exchange.stopReason())
    return { kind: 'outcome', outcome }
  }
  return readReply(send, reply.received, ref)
}

/** Sends with SendStreamingMessage, reads the first event, and hands the open stream on. */
export async function sendStreaming(send: FirstSend, streams: OpenStreams): Promise<Outcome> {
  const life = new AbortController()
  let isLate = false
  const stop = (): void => life.abort()
  const timer = setTimeout(() => {
    isLate = true
    stop()
  }, send.timeoutMs)
  send.exchange.signal.addEventListener('abort', stop, { once: true })
  if (send.exchange.signal.aborted) stop()
  // Ended by us, a stream looks broken from below: say why.
  const silence = (reply: NotSent | NoAnswer): Outcome =>
    outcomeOfSilence(
      isLate
        ? { ...reply, because: 'deadline' }
        : life.signal.aborted
          ? { ...reply, because: 'canceled' }
          : reply,
      send.exchange.stopReason(),
    )
  try {
    const reply = await send.link.rpc.stream({
      method: METHODS.sendStreamingMessage,
      params: send.params,
      wireId: send.wireId,
      signal: life.signal,
      timeoutMs: send.timeoutMs,
      act: true,
      onSending: () => send.onSending(),
    })
    if (reply.kind === 'error') return outcomeOfError(reply.error)
    if (reply.kind !== 'stream') return silence(reply)
    return await readFirst(send, reply, streams, silence)
  } finally {
    // From here on the stream belongs to the follower: the caller's leaving ends it no more.
    clearTimeout(timer)
    send.exchange.signal.removeEventListener('abort', stop)
  }
}

async function readFirst(
  send: FirstSend,
  stream: RpcStream,
  streams: OpenStreams,
  silence: (reply: NoAnswer) => Outcome,
): Promise<Outcome> {
  const items = stream.items[Symbol.asyncIterator]()
  const first = (await items.next()) as IteratorResult<StreamItem, undefined>
  const item = first.value
  if (item === undefined || item.kind === 'end') {
    const detail = item?.detail ?? 'the stream ended'
    return silence({ kind: 'no_answer', because: 'broken', detail })
  }
  if (item.kind === 'error') {
    stream.close()
    return outcomeOfError(item.error)
  }
  const early = namedEarly(send, item.received)
  const reply = early ?? readReply(send, item.received, {})
  if (reply.kind === 'outcome') {
    stream.close()
    return reply.outcome
  }
  const { snapshot } = reply
  if (!isResting(snapshot.task.status.state)) {
    streams.park(snapshot, { items, close: () => stream.close() })
  } else {
    stream.close()
  }
  return outcomeOfSnapshot(snapshot)
}

/**
 * An agent that begins with an update where the Task should stand has still named its task: the work
 * is followed, where calling it unknown would lose it. @source A2A 1.0.1, 3.1.2 (Task or Message first)
 */
function namedEarly(send: FirstSend, received: Received): Reply | undefined {
  const parsed = parseWire('StreamResponse', received.value, REPLY_LIMITS)
  if (!parsed.ok || 'task' in parsed.value || 'message' in parsed.value) return undefined
  const event =
    'statusUpdate' in parsed.value ? parsed.value.statusUpdate : parsed.value.artifactUpdate
  const { tenant } = send.link
  const handle = sealHandle(send.link.peer, {
    taskId: event.taskId,
    ...(event.contextId === '' ? {} : { contextId: event.contextId }),
    ...(tenant === undefined ? {} : { tenant }),
  })
  return { kind: 'outcome', outcome: { state: 'working', handle } }
}

/** A Task or a Message, by the agent's contract. */
function readReply(send: FirstSend, received: Received, ref: Partial<TaskRef>): Reply {
  const { value, text } = received
  const of = (member: string): Received => {
    const span = spanAt(text, [[member]])
    return {
      value: (value as Readonly<Record<string, unknown>>)[member],
      text: span === undefined ? 'null' : text.slice(span.start, span.end),
    }
  }
  const unclear = (detail: string): Reply => ({
    kind: 'outcome',
    outcome: { state: 'unknown', because: 'peer_unclear', detail },
  })
  const parsed = parseWire('SendMessageResponse', value, REPLY_LIMITS)
  if (!parsed.ok) {
    return unclear(`the agent's reply is not A2A 1.0: ${describeViolations(parsed.violations)}`)
  }
  if ('message' in parsed.value) {
    return { kind: 'outcome', outcome: outcomeOfMessage(parsed.value.message, of('message').text) }
  }
  const tenant = ref.tenant ?? send.link.tenant
  const named = { ...ref, ...(tenant === undefined ? {} : { tenant }) }
  const taken = takeTask(send.link.peer, of('task'), named, send.limits)
  return 'snapshot' in taken
    ? { kind: 'task', snapshot: taken.snapshot }
    : unclear(taken.unreadable)
}

/** The outcome a task as read means. */
export function outcomeOfSnapshot(snapshot: Snapshot): Outcome {
  const { task, handle, text, artifacts } = snapshot
  return outcomeOfStatus({ status: task.status, handle, text, artifacts })
}
