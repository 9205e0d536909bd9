/** Long work whose half of the program is loaded when there is some. */
import type { Work } from '../../core/ports/upstream.ts'

/** @param make asked once. */
export function createLazyWork(make: () => Promise<Work>): Work {
  let made: Promise<Work> | undefined
  const work = (): Promise<Work> => (made ??= make())
  return {
    async *follow(handle, after, signal) {
      yield* (await work()).follow(handle, after, signal)
    },
    inspect: async (handle, signal) => (await work()).inspect(handle, signal),
    answer: async (call, exchange, dispatched) => (await work()).answer(call, exchange, dispatched),
    cancel: async (handle, signal) => (await work()).cancel(handle, signal),
    find: async (callId, sentAt, signal) => (await work()).find(callId, sentAt, signal),
  }
}
