/**
 * Runs our own synchronous code with a deadline, for the few things a peer's schema can make slow: backtracking
 * patterns, recursion, compiling. Starting the watch costs a fraction of a millisecond, so the rest runs without.
 */
import { types } from 'node:util'
import { createContext, Script } from 'node:vm'

export type WithDeadline = <T>(work: () => T, deadlineMs: number) => T

/** Thrown by a `WithDeadline` whose work did not end in time. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed'
}

/** @returns a runner that holds one context for all its work. Not for work that waits. */
export function createDeadline(): WithDeadline {
  const holder: { work: (() => void) | undefined } = { work: undefined }
  const context = createContext(holder)
  const script = new Script('work()')
  return <T>(work: () => T, deadlineMs: number): T => {
    let result: { readonly value: T } | undefined
    holder.work = () => {
      result = { value: work() }
    }
    try {
      script.runInContext(context, { timeout: deadlineMs })
    } catch (error) {
      // Made in the other context: no instance of our Error.
      if (types.isNativeError(error) && 'code' in error && error.code === TIMED_OUT) {
        throw new DeadlinePassed(`did not end within ${deadlineMs} ms`)
      }
      throw error
    } finally {
      holder.work = undefined
    }
    if (result === undefined) throw new DeadlinePassed('did not end')
    return result.value
  }
}

const TIMED_OUT = 'ERR_SCRIPT_EXECUTION_TIMEOUT'
