/** How much is kept, for the whole door, for callers that may come back: ended streams go first, the oldest before all. */

export interface ReplayBudget {
  add(bytes: number): void
  /** A larger event is not kept. */
  readonly maxEventBytes: number
  /** Lets ended streams go, then asks `dropOne` until there is room or nothing is left to drop. */
  makeRoom(dropOne: () => boolean): void
  /** An ended stream: kept for a while, and let go when room is short. @returns the way to let it go now. */
  keepEnded(forget: () => void): () => void
}

/** @param keepMs how long an ended stream is kept. */
export function createReplayBudget(maxBytes: number, keepMs: number): ReplayBudget {
  const ended = new Set<() => void>()
  let used = 0
  return {
    add: (bytes) => {
      used += bytes
    },
    maxEventBytes: maxBytes / 4,
    makeRoom: (dropOne) => {
      for (const forget of ended) {
        if (used <= maxBytes) return
        forget()
      }
      while (used > maxBytes && dropOne());
    },
    keepEnded: (forget) => {
      const timer = setTimeout(() => end(), keepMs)
      timer.unref()
      const end = (): void => {
        if (!ended.delete(end)) return
        clearTimeout(timer)
        forget()
      }
      ended.add(end)
      return end
    },
  }
}
