/** Places for what stays open: so many in all, so many for one principal. */

export interface Places {
  /** @returns the way to give it back; undefined when none is free. */
  take(principal: string): (() => void) | undefined
}

/** @param most in all; @param each of these, for one principal. */
export function createPlaces(most: number, each: number): Places {
  const held = new Map<string, number>()
  let all = 0
  return {
    take(principal) {
      const own = held.get(principal) ?? 0
      if (all >= most || own >= each) return undefined
      all += 1
      held.set(principal, own + 1)
      let given = true
      return () => {
        if (!given) return
        given = false
        all -= 1
        const left = (held.get(principal) ?? 1) - 1
        if (left === 0) held.delete(principal)
        else held.set(principal, left)
      }
    },
  }
}
