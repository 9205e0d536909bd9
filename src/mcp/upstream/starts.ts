/**
 * How many servers of this process start at once: all of many would only take the processor from each other, and from the calls that
 * are served meanwhile.
 *
 * A place is held until the server says something, and no longer than a moment: one that is slow (it downloads itself first, it never
 * speaks) keeps none of the others waiting for its whole time.
 */
import { availableParallelism } from 'node:os'
import type { ServerProcess } from './supervise.ts'

export interface StartsOptions {
  /** Default: four times the processors, at least 16. */
  readonly most?: number
  /** How long a silent start holds its place, milliseconds. Default 500. */
  readonly holdMs?: number
}

export interface Starts {
  /**
   * Starts a server when it is its turn; turns come in order.
   *
   * @param attach begins to read its output.
   * @throws what `start` throws.
   */
  begin<T>(start: () => Promise<ServerProcess>, attach: (server: ServerProcess) => T): Promise<T>
}

/** Fewer would make twenty servers start later than by themselves where other work competes for the processor. */
const LEAST = 16
const HOLD_MS = 500

/** Makes the places of one process. */
export function createStarts({
  most = Math.max(LEAST, 4 * availableParallelism()),
  holdMs = HOLD_MS,
}: StartsOptions = {}): Starts {
  const waiting: (() => void)[] = []
  let free = most
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next()
  }
  let last: Promise<unknown> = Promise.resolve()
  const turn = async (): Promise<void> => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    // To start a process holds everything up for milliseconds: between two, callers are served.
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)))
    await last
  }
  return {
    async begin(start, attach) {
      await turn()
      try {
        const server = await start()
        const attached = attach(server)
        holdPlace(server, holdMs, release)
        return attached
      } catch (error) {
        release()
        throw error
      }
    },
  }
}

function holdPlace(server: ServerProcess, holdMs: number, release: () => void): void {
  let held = true
  const end = (): void => {
    clearTimeout(timer)
    if (held) release()
    held = false
  }
  const timer = setTimeout(end, holdMs)
  timer.unref()
  server.output.once('data', end)
  void server.ended.then(end)
}
