/** What tells a request that nobody wants its answer any more. */

/** Whoever is told of it. An object is as good as a function, and needs none made for it. */
export type CancelListener = (() => void) | { handleEvent(): void }

/** What an AbortSignal is to those who wait for it. One made for each call may cost less than a true one. */
export interface CancelSignal {
  readonly aborted: boolean
  addEventListener(
    type: 'abort',
    listener: CancelListener,
    options?: { readonly once?: boolean },
  ): void
  removeEventListener(type: 'abort', listener: CancelListener): void
}

/** For `addEventListener`, made once. */
export const ONCE = { once: true } as const

/** A true one, for those who combine several. */
export function abortSignalOf(signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  if (signal.aborted) return AbortSignal.abort()
  const controller = new AbortController()
  signal.addEventListener('abort', () => controller.abort(), ONCE)
  return controller.signal
}
