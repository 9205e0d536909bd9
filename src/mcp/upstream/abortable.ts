/** Waiting that one caller may give up while what is waited for goes on for the others. */
import { ONCE, type CancelSignal } from './cancel.ts'
import { LinkFailure } from './link.ts'

/** The promise, or an unsent `aborted` failure once the signal says so. */
export function abortable<T>(promise: Promise<T>, signal: CancelSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new LinkFailure('aborted', false, 'canceled before sending'))
    signal.addEventListener('abort', abort, ONCE)
    const done = promise.then(resolve, reject)
    void done.finally(() => signal.removeEventListener('abort', abort))
    if (signal.aborted) abort()
  })
}
