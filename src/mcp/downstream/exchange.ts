/**
 * The exchange of one call: when it should stop and why, and how progress and logs reach its caller.
 *
 * A modern caller that closes its stream cancels; a legacy one that disconnects does not, and is only noted as gone.
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
  /** Nothing is sent any more, timers end. Call it once the outcome is there. */
  close(): void
}

/** @param deadlineAt epoch milliseconds; @param now the same clock. */
export function openExchange(visit: Visit, deadlineAt: number, now: number): OpenExchange {
  const { caller } = visit
  const controller = new AbortController()
  const over = new AbortController()
  let reason: StopReason | undefined
  let closed = false
  const stop = (why: StopReason): void => {
    if (closed || reason !== undefined) return
    reason = why
    controller.abort(why)
  }
  const withdrawn = (): void => stop(stopReasonOf(caller.signal))
  if (caller.signal.aborted) withdrawn()
  else caller.signal.addEventListener('abort', withdrawn, { once: true })
  const timer = setTimeout(() => stop('deadline'), Math.max(0, deadlineAt - now))
  timer.unref()
  return {
    exchange: {
      signal: controller.signal,
      onGone: (listener) => {
        if (visit.era === 'modern') return
        caller.gone.addEventListener('abort', listener, { once: true, signal: over.signal })
        if (caller.gone.aborted) listener()
      },
      stopReason: () => reason ?? (caller.gone.aborted ? 'caller_gone' : undefined),
      emit: (event) => {
        const message = closed || caller.signal.aborted ? undefined : encodeEvent(visit, event)
        return message === undefined ? undefined : caller.notify(message)
      },
      can: visit.can,
    },
    detach: () => caller.signal.removeEventListener('abort', withdrawn),
    close: () => {
      closed = true
      over.abort()
      clearTimeout(timer)
      caller.signal.removeEventListener('abort', withdrawn)
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
