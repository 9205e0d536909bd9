/** How long a probe may take: each request, and everything together. Whatever the server does, it ends. */

export interface Budget {
  /** Aborted when all time is used up, and when the caller goes. */
  readonly signal: AbortSignal
  /** How long the next request may take, milliseconds; 0 when there is no time left. @param wanted default that of any request. */
  request(wanted?: number): number
}

/** Starts the clock. @param wholeMs all requests together. @param requestMs each. */
export function startBudget(wholeMs: number, requestMs: number, signal: AbortSignal): Budget {
  const endsAt = performance.now() + wholeMs
  return {
    signal: AbortSignal.any([signal, AbortSignal.timeout(wholeMs)]),
    request(wanted = requestMs) {
      if (signal.aborted) return 0
      return Math.max(0, Math.floor(Math.min(wanted, endsAt - performance.now())))
    },
  }
}
