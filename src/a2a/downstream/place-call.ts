/**
 * From a chosen skill to dispatch: one call as a task of ours. The spine of this door.
 *
 * The work is not tied to the connection it was asked on: a lost one never cancels. It ends by itself, by CancelTask, by its
 * deadline or with this process.
 */
import type { Dispatched } from '../../core/ports/doors.ts'
import type { Exchange, StopReason } from '../../core/ports/upstream.ts'
import type { NewCall } from '../../core/words/call.ts'
import type { JsonText } from '../../core/words/native.ts'
import type { Principal } from '../../core/words/principal.ts'
import { CANNOT_BE_ASKED } from '../../core/words/question.ts'
import type { Route } from '../../core/words/route.ts'
import type { Message } from '../wire/messages.ts'
import type { Stand, Work } from './memory.ts'
import type { A2aDesk } from './options.ts'
import { INSIST_META } from './words.ts'

/** What is asked for, ready to be placed. */
export interface Order {
  /** The published agent. */
  readonly agent: string
  readonly route: Route
  readonly principal: Principal
  readonly message: Message
  /** The message as received. */
  readonly messageText: string
  /** Of the message's canonical form. */
  readonly digest: string
  readonly argumentsText: string
  readonly contextId: string
  /** The caller's JSON-RPC id as text. */
  readonly requestId: string
}

const MAX_REQUEST_ID = 200

/** Places the call. @returns where its task stands: refused, or placed with its work under way. */
export async function placeCall(desk: A2aDesk, order: Order): Promise<Stand> {
  const { exchange, stop, gone, close } = openExchange(desk, desk.limits.taskMs)
  const { callId, task, reply, earlier } = await desk.ports
    .begin(callOf(desk, order), exchange)
    .catch((fault: unknown) => {
      close()
      throw fault
    })
  if (earlier === true && task !== undefined) {
    close()
    return { kind: 'placed', task, work: ELSEWHERE }
  }
  if (task === undefined) {
    const dispatched = await reply.finally(close)
    return { kind: 'refused', dispatched: { ...dispatched, callId } }
  }
  let dispatched: Dispatched | undefined
  let running = true
  const done = reply
    .then((settled) => void (dispatched = settled), desk.report)
    .finally(() => {
      running = false
      close()
      desk.working.delete(done)
    })
  desk.working.add(done)
  const work: Work = {
    running: () => running,
    done,
    dispatched: () => dispatched,
    cancel: () => stop('caller_canceled'),
    callerGone: gone,
  }
  return { kind: 'placed', task, work }
}

/** Of a message that made its task before this process, or before it was forgotten here: the row alone tells of it. */
export const ELSEWHERE: Work = {
  running: () => false,
  done: Promise.resolve(),
  dispatched: () => undefined,
  cancel: () => undefined,
  callerGone: () => undefined,
}

function callOf(desk: A2aDesk, order: Order): NewCall {
  const insist = order.message.metadata?.[INSIST_META]
  return {
    route: order.route,
    principal: order.principal,
    operation: 'call',
    native: { protocol: 'a2a', revision: '1.0', ...jsonText(order.messageText) },
    arguments: jsonText(order.argumentsText),
    door: 'a2a 1.0',
    requestId: order.requestId.slice(0, MAX_REQUEST_ID),
    deadlineAt: desk.clock.now() + desk.limits.taskMs,
    trace: {},
    asTask: true,
    servedAs: order.agent,
    contextId: order.contextId,
    idempotency: {
      key: JSON.stringify(['a2a', order.agent, order.message.messageId]),
      digest: order.digest,
    },
    ...(typeof insist === 'string' ? { insist } : {}),
  }
}

function jsonText(text: string): JsonText {
  let read: { readonly value: unknown } | undefined
  return {
    bytes: new TextEncoder().encode(text),
    value: () => (read ??= { value: JSON.parse(text) as unknown }).value,
  }
}

/** What goes on is not tied to its caller's connection. @param forMs how long at most. */
export function openExchange(
  desk: A2aDesk,
  forMs: number,
): {
  readonly exchange: Exchange
  readonly stop: (why: StopReason) => void
  readonly gone: () => void
  readonly close: () => void
} {
  const stopping = new AbortController()
  const listeners: (() => void)[] = []
  let reason: StopReason | undefined
  const stop = (why: StopReason): void => {
    reason ??= why
    stopping.abort()
  }
  const shutDown = (): void => stop('shutdown')
  const timer = setTimeout(stop, forMs, 'deadline')
  desk.closing.addEventListener('abort', shutDown)
  if (desk.closing.aborted) shutDown()
  return {
    exchange: {
      signal: stopping.signal,
      stopReason: () => reason,
      stop,
      onGone: (listener) => void listeners.push(listener),
      // Streaming is not declared: progress has nowhere to go.
      emit: () => undefined,
      // What is asked stands on the task's row, and a server's own task is followed on it.
      can: { ...CANNOT_BE_ASKED, form: true, tasks: 'held' },
    },
    stop,
    gone: () => {
      for (const listener of listeners.splice(0)) listener()
    },
    close: () => {
      clearTimeout(timer)
      desk.closing.removeEventListener('abort', shutDown)
    },
  }
}
