/** When a revision is given up: so many faults among the last of its calls and lists. Pure. */

export interface FaultLimits {
  /** Faults that suspend it. Default 5. */
  readonly most?: number
  /** Among so many of the last. Default 20. */
  readonly of?: number
}

export interface FaultWindow {
  sound(): void
  fault(why: string): void
  /** All since the beginning. */
  readonly faults: number
  /** Why it is suspended, in words; undefined while it is not. */
  readonly suspended: string | undefined
  /** It is tried again. */
  reset(): void
}

/** Makes the memory of one revision. */
export function createFaultWindow({ most = 5, of = 20 }: FaultLimits = {}): FaultWindow {
  let last: boolean[] = []
  let faults = 0
  let suspended: string | undefined
  const take = (isFault: boolean): number => {
    last.push(isFault)
    if (last.length > of) last = last.slice(-of)
    return last.filter(Boolean).length
  }
  return {
    sound: () => void take(false),
    fault(why) {
      faults += 1
      const now = take(true)
      if (now >= most)
        suspended ??= `${now} of its last ${last.length} calls and lists failed against the protocol or on the way, the newest: ${why.slice(0, 600)}`
    },
    get faults() {
      return faults
    },
    get suspended() {
      return suspended
    },
    reset() {
      last = []
      suspended = undefined
    },
  }
}
