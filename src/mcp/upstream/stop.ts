/**
 * Why a call should stop, and when: its caller's signal, its deadline, the limits of its peer and the peer's silence as one.
 *
 * The idle limit begins with the send and anew with each sign of life; the absolute one is not moved by them.
 */
import type { Exchange, StopReason } from '../../core/ports/upstream.ts'

/** How long one peer may take. Left out: no limit but the caller's. */
export interface CallLimits {
  /** Without a sign of life after the call was sent, milliseconds. */
  readonly idleMs?: number
  /** For the whole call, milliseconds. */
  readonly callMs?: number
}

export interface Stop {
  readonly signal: AbortSignal
  reason(): StopReason | undefined
  /** Which limit of the peer was passed, in words; undefined when it was none of those. */
  limit(): string | undefined
  /** The call is sent, or its peer gave a sign of life. */
  alive(): void
  /** Stops the clocks: a person is asked. @returns the way to go on. */
  hold(): () => void
  release(): void
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** @param leftMs until the deadline. */
export function watchStop(exchange: Exchange, leftMs: number, limits: CallLimits = {}): Stop {
  const { idleMs, callMs } = limits
  const controller = new AbortController()
  let late: 'deadline' | 'call' | 'idle' | undefined
  let left = callMs === undefined ? leftMs : Math.min(leftMs, callMs)
  const whole = left < leftMs ? 'call' : 'deadline'
  let since = 0
  let holds = 0
  let sent = false
  let timer: NodeJS.Timeout | undefined
  let silence: NodeJS.Timeout | undefined
  const abort = (): void => controller.abort()
  const pass = (which: NonNullable<typeof late>): void => {
    late ??= which
    abort()
  }
  const listenForLife = (): void => {
    if (idleMs === undefined || !sent || holds > 0) return
    clearTimeout(silence)
    silence = setTimeout(pass, Math.min(idleMs, LONGEST_TIMER_MS), 'idle')
  }
  const start = (): void => {
    since = performance.now()
    timer = setTimeout(pass, Math.max(0, Math.min(left, LONGEST_TIMER_MS)), whole)
    listenForLife()
  }
  start()
  if (exchange.signal.aborted) abort()
  exchange.signal.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    reason: () => exchange.stopReason() ?? (late === undefined ? undefined : 'deadline'),
    limit: () => (exchange.stopReason() === undefined ? sayLimit(late, limits) : undefined),
    alive() {
      // Under a burst a timer is set back, not made anew.
      if (sent && silence !== undefined && holds === 0) return void silence.refresh()
      sent = true
      listenForLife()
    },
    hold() {
      holds += 1
      if (holds === 1) {
        clearTimeout(timer)
        clearTimeout(silence)
        silence = undefined
        left -= performance.now() - since
      }
      return () => {
        holds -= 1
        if (holds === 0) start()
      }
    },
    release: () => {
      // Whoever goes on afterwards starts nothing.
      holds += 1
      clearTimeout(timer)
      clearTimeout(silence)
      exchange.signal.removeEventListener('abort', abort)
    },
  }
}

function sayLimit(
  late: 'deadline' | 'call' | 'idle' | undefined,
  { idleMs = 0, callMs = 0 }: CallLimits,
): string | undefined {
  switch (late) {
    case 'idle':
      return `gave no sign of life for ${idleMs / 1000} s (its \`timeouts: { idle }\`)`
    case 'call':
      return `did not answer within ${callMs / 1000} s (its \`timeouts: { call }\`)`
    case 'deadline':
    case undefined:
      return undefined
  }
}
