/** Why a call should stop, and when: its caller's signal and its own deadline as one. */
import type { Exchange, StopReason } from '../../core/ports/upstream.ts'

export interface Stop {
  readonly signal: AbortSignal
  reason(): StopReason | undefined
  /** Stops the clock of the deadline: a person is asked. @returns the way to go on. */
  hold(): () => void
  release(): void
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** @param leftMs until the deadline. */
export function watchStop(exchange: Exchange, leftMs: number): Stop {
  const controller = new AbortController()
  let late = false
  let left = leftMs
  let since = 0
  let holds = 0
  let timer: NodeJS.Timeout | undefined
  const abort = (): void => controller.abort()
  const start = (): void => {
    since = performance.now()
    timer = setTimeout(
      () => {
        late = true
        abort()
      },
      Math.max(0, Math.min(left, LONGEST_TIMER_MS)),
    )
  }
  start()
  if (exchange.signal.aborted) abort()
  exchange.signal.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    reason: () => exchange.stopReason() ?? (late ? 'deadline' : undefined),
    hold() {
      holds += 1
      if (holds === 1) {
        clearTimeout(timer)
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
      exchange.signal.removeEventListener('abort', abort)
    },
  }
}
