/**
 * The operator's calls while they run: what a peer asks in mid-call goes back to the command as questions, and the command's
 * next word takes the call over.
 *
 * The call goes on here meanwhile, in the process that owns the store: over the socket too, nothing is held open for it.
 */
import type { CallEvent, StopReason } from '../../core/ports/upstream.ts'
import { drain } from '../../mcp/downstream/drain.ts'
import { createDeadline } from '../../mcp/downstream/exchange.ts'
import {
  createParkedCalls,
  type ParkableExchange,
  type ParkedCalls,
} from '../../mcp/downstream/parked.ts'
import type { Live } from './operator.ts'
import { LONGEST_TIMER_MS } from './waits.ts'

/** How long a person may take, milliseconds; then the peer hears that nobody answered. */
export const QUESTION_MS = 600_000
/** How long a call whose question was canceled may take to end with its process, milliseconds. */
const LAST_WORDS_MS = 2_000
const MAX_ASKING = 100
const MAX_BYTES = 128 * 1024 * 1024

const CAN_ANSWER = {
  form: true,
  url: true,
  sampling: false,
  roots: false,
  tasks: 'held',
} as const
const CANNOT_ANSWER = { ...CAN_ANSWER, form: false, url: false } as const

export interface AskingCalls extends ParkedCalls<Live> {
  /** This process ends: questions are canceled, and peers may say for a moment what that made of their calls. */
  leave(): Promise<void>
}

/** @param onFault told of calls that failed while nobody waited. */
export function createAskingCalls(onFault: (what: string, error: unknown) => void): AskingCalls {
  const limits = {
    questionMs: QUESTION_MS,
    maxParked: MAX_ASKING,
    maxParkedEach: MAX_ASKING,
    maxParkedBytes: MAX_BYTES,
  }
  const leaving = new AbortController()
  const calls = createParkedCalls<Live>(
    limits,
    (fault) => onFault('a call that waited for answers', fault),
    () => true,
    leaving.signal,
  )
  return {
    ...calls,
    leave: () => {
      leaving.abort('shutdown')
      // What still runs after that ends with its peer.
      return drain(calls.settled, LAST_WORDS_MS, new AbortController())
    },
  }
}

/** The exchange of one call. Its time stands still while a person is asked. */
export function openLive(
  first: Live,
  timeoutMs: number,
  canAnswer: boolean,
): ParkableExchange<Live> {
  const stopping = new AbortController()
  let reason: StopReason | undefined
  let present: Live | undefined
  const stop = (why: StopReason): void => {
    reason ??= why
    stopping.abort(why)
  }
  const left = (): void => stop('caller_canceled')
  const leave = (): void => {
    present?.signal.removeEventListener('abort', left)
    present = undefined
  }
  const attach = (live: Live): void => {
    leave()
    present = live
    if (live.signal.aborted) left()
    else live.signal.addEventListener('abort', left, { once: true })
  }
  const deadline = createDeadline(Math.min(timeoutMs, LONGEST_TIMER_MS), () => stop('deadline'))
  attach(first)
  return {
    exchange: {
      signal: stopping.signal,
      stopReason: () => reason,
      emit: (event) => (present === undefined ? undefined : tellEvent(present, event)),
      can: canAnswer ? CAN_ANSWER : CANNOT_ANSWER,
    },
    park: leave,
    attach,
    hold: deadline.hold,
    close: () => {
      leave()
      deadline.stop()
    },
  }
}

function tellEvent(live: Live, event: CallEvent): void {
  const value = event.native.value()
  const params = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >
  if (event.kind === 'progress') {
    live.event({
      event: 'progress',
      ...(typeof params['progress'] === 'number' ? { progress: params['progress'] } : {}),
      ...(typeof params['total'] === 'number' ? { total: params['total'] } : {}),
      ...(typeof params['message'] === 'string' ? { message: params['message'] } : {}),
    })
    return
  }
  live.event({ event: 'log', level: String(params['level']), text: JSON.stringify(params['data']) })
}
