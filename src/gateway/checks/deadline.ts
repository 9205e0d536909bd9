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
  /** The machine had no time for the work, rather than the work too much to do. */
  readonly starved: boolean

  constructor(message: string, starved: boolean) {
    super(message)
    this.starved = starved
  }
}

const TRIES_WHEN_STARVED = 5

/** Begins again when it was the machine that took the time: a busy one must not make a sound schema look bad. */
export function againWhenStarved<T>(attempt: () => T): T {
  for (let tries = 1; ; tries += 1) {
    try {
      return attempt()
    } catch (error) {
      const again = error instanceof DeadlinePassed && error.starved && tries < TRIES_WHEN_STARVED
      if (!again) throw error
    }
  }
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
    const began = process.cpuUsage()
    try {
      script.runInContext(context, { timeout: deadlineMs })
    } catch (error) {
      // Made in the other context: no instance of our Error.
      if (types.isNativeError(error) && 'code' in error && error.code === TIMED_OUT) {
        const { user, system } = process.cpuUsage(began)
        const starved = (user + system) / 1000 < deadlineMs / 2
        throw new DeadlinePassed(`did not end within ${deadlineMs} ms`, starved)
      }
      throw error
    } finally {
      holder.work = undefined
    }
    if (result === undefined) throw new DeadlinePassed('did not end', false)
    return result.value
  }
}

const TIMED_OUT = 'ERR_SCRIPT_EXECUTION_TIMEOUT'
