/**
 * How long a notice that lists changed waits before the lists are read anew: a burst is one change, and
 * a server that goes on and on is read ever less often, whatever its lists cost.
 */

/** @returns how long this change waits, milliseconds. */
export type ChangePace = () => number

/** Several notices in a burst are one change, milliseconds. */
const QUIET_MS = 100
/** So many changes in a row wait no longer than that. */
const FREE = 8
const LONGEST_MS = 5_000
/** A pause after which no change is in a row with the one before. */
const PAUSE_MS = 1_000

/** Makes the pace of one server. @param monotonic milliseconds that only grow. */
export function createChangePace(monotonic: () => number): ChangePace {
  let last = -Infinity
  let inARow = 0
  let wait = QUIET_MS
  return () => {
    const now = monotonic()
    inARow = now - last >= Math.max(PAUSE_MS, 2 * wait) ? 1 : inARow + 1
    last = now
    wait = inARow <= FREE ? QUIET_MS : Math.min(QUIET_MS * 2 ** (inARow - FREE), LONGEST_MS)
    return wait
  }
}
