/**
 * The exchange of one call: when it should stop and why, and how progress and logs reach its caller.
 *
 * A modern caller that closes its stream cancels; a legacy one that disconnects does not, and is only noted as gone. The
 * call's time stands still while a person is asked.
 */
import type { CallEvent, Exchange, StopReason } from '../../core/ports/upstream.ts'
import { encodeNotification } from '../wire/json-rpc.ts'
import { MODERN_NOTIFICATIONS, PROGRESS_TOKEN } from '../wire/rev-2026-07-28.ts'
import { encodeJson, findMember, readString, scanObject, setMembers } from '../wire/spans.ts'
import { LOG_LEVELS } from './request-meta.ts'
import { stopReasonOf, type Visit } from './visit.ts'

export interface OpenExchange {
  readonly exchange: Exchange
  /** The caller leaving stops nothing from now on: it was shown where the work goes on. */
  detach(): void
  /** The request was answered and the work goes on without one: nobody is told anything, only the end of the door stops it. */
  park(): void
  /** Another request of the same caller takes over: its stream, its tokens, its leaving. */
  attach(visit: Visit): void
  /** The deadline stands still until the returned function was called. */
  hold(): () => void
  /** The door is closing and its time is up, whoever waits or does not. */
  shutDown(): void
  /** Nothing is sent any more, timers end. Call it once the outcome is there. */
  close(): void
}

/** @param deadlineAt epoch milliseconds; @param now the same clock. */
export function openExchange(visit: Visit, deadlineAt: number, now: number): OpenExchange {
  const controller = new AbortController()
  let reason: StopReason | undefined
  let closed = false
  /** Whose request it is now. */
  let present: Visit | undefined
  let isParked = false
  /** Takes back who wanted to know that the caller is gone. */
  let forget: (() => void)[] = []
  const stop = (why: StopReason): void => {
    if (closed || reason !== undefined) return
    reason = why
    controller.abort(why)
  }
  const withdrawn = (): void => {
    const why = present === undefined ? undefined : stopReasonOf(present.caller.signal)
    if (why !== undefined && (!isParked || why === 'shutdown')) stop(why)
  }
  const leave = (): void => present?.caller.signal.removeEventListener('abort', withdrawn)
  const attach = (next: Visit): void => {
    leave()
    present = next
    isParked = false
    if (next.caller.signal.aborted) withdrawn()
    else next.caller.signal.addEventListener('abort', withdrawn, { once: true })
  }
  const deadline = createDeadline(Math.max(0, deadlineAt - now), () => stop('deadline'))
  attach(visit)
  return {
    exchange: {
      signal: controller.signal,
      onGone: (listener) => {
        const { caller, era } = visit
        if (era === 'modern') return
        if (!closed) {
          caller.gone.addEventListener('abort', listener, { once: true })
          forget.push(() => caller.gone.removeEventListener('abort', listener))
        }
        if (caller.gone.aborted) listener()
      },
      stopReason: () => {
        const isGone = !isParked && present?.caller.gone.aborted === true
        return reason ?? (isGone ? 'caller_gone' : undefined)
      },
      emit: (event) => {
        if (closed || isParked || present === undefined || present.caller.signal.aborted)
          return undefined
        const message = encodeEvent(present, event)
        return message === undefined ? undefined : present.caller.notify(message)
      },
      can: visit.can,
      ...askLive(visit, deadline.hold),
    },
    detach: leave,
    park: () => {
      isParked = true
    },
    attach,
    hold: deadline.hold,
    shutDown: () => stop('shutdown'),
    close: () => {
      closed = true
      for (const one of forget) one()
      forget = []
      deadline.stop()
      leave()
    },
  }
}

/** A caller with a session is asked on it, and not hurried meanwhile. */
function askLive({ caller }: Visit, hold: () => () => void): Pick<Exchange, 'ask'> {
  if (caller.ask === undefined) return {}
  return {
    ask: async (question, withdrawn) => {
      const release = hold()
      try {
        return (await caller.ask?.(question, withdrawn)) ?? { key: question.key, action: 'cancel' }
      } finally {
        release()
      }
    },
  }
}

export interface Deadline {
  hold(): () => void
  stop(): void
}

/** A timer that stands still while at least one holds it. @param ms at most 24 days. */
export function createDeadline(ms: number, expire: () => void): Deadline {
  let leftMs = ms
  let startedAt = 0
  let holds = 0
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const start = (): void => {
    if (stopped) return
    startedAt = performance.now()
    timer = setTimeout(expire, leftMs)
    timer.unref()
  }
  start()
  return {
    hold: () => {
      holds += 1
      if (holds === 1) {
        clearTimeout(timer)
        leftMs = Math.max(0, leftMs - (performance.now() - startedAt))
      }
      let held = true
      return () => {
        if (!held) return
        held = false
        holds -= 1
        if (holds === 0) start()
      }
    },
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** The notification for this caller: its own token, only what it asked for. */
function encodeEvent(visit: Visit, event: CallEvent): Uint8Array | undefined {
  const { bytes, protocol } = event.native
  // News of an agent's work are told as its task's; as MCP notifications its bytes would mean nothing.
  if (protocol !== 'mcp') return undefined
  switch (event.kind) {
    case 'progress': {
      const token = visit.meta.progressToken
      if (token === undefined) return undefined
      const params = setMembers(bytes, undefined, { [PROGRESS_TOKEN]: token })
      return encodeNotification(MODERN_NOTIFICATIONS.progress, params)
    }
    case 'log': {
      // Modern: only for a request that asks for logs. Legacy: all, unless the session set a level.
      const asked = visit.meta.logLevel
      if (asked === undefined && visit.era === 'modern') return undefined
      const level = findMember(scanObject(bytes), 'level')
      const name = level?.type === 'string' ? readString(bytes, level.value) : ''
      if (asked !== undefined && rank(name) < rank(asked)) return undefined
      return encodeNotification(MODERN_NOTIFICATIONS.message, bytes)
    }
  }
}

function rank(level: string): number {
  return LOG_LEVELS.findIndex((known) => known === level)
}

/** A progress notification of our own. */
export function encodeProgress(token: Uint8Array, progress: number, message: string): Uint8Array {
  const params = setMembers(encodeJson({ progress, message }), undefined, {
    [PROGRESS_TOKEN]: token,
  })
  return encodeNotification(MODERN_NOTIFICATIONS.progress, params)
}
