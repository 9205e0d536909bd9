/**
 * Which callers take the newer revision: by a digest of peer and principal, so that each sees one of them, in every process.
 *
 * A larger share keeps all who were in the smaller one. Whoever could not be served there stays with the older revision.
 */
import { WHOLE } from '../config/share.ts'

export interface CallerSplit {
  /** Whether this principal is one of the share. */
  isChosen(principal: string): boolean
  /** The principal is served by the older revision from now on. */
  keepBack(principal: string): void
  /** How many that are. */
  readonly heldBack: number
  /** Nobody is kept back any more. */
  release(): void
}

/** Principals that are remembered; one that is forgotten is told anew by its digest. */
const MOST_REMEMBERED = 10_000

/** @param share ten-thousandths of all principals. @param digest of text, in hex. */
export function createCallerSplit(
  peer: string,
  share: number,
  digest: (text: string) => string,
): CallerSplit {
  const chosen = new Map<string, boolean>()
  const keptBack = new Set<string>()
  return {
    isChosen(principal) {
      if (keptBack.has(principal)) return false
      let is = chosen.get(principal)
      if (is === undefined) {
        is = placeOf(digest(JSON.stringify([peer, principal]))) < share
        if (chosen.size >= MOST_REMEMBERED) chosen.clear()
        chosen.set(principal, is)
      }
      return is
    },
    keepBack(principal) {
      if (keptBack.size >= MOST_REMEMBERED)
        for (const oldest of keptBack) {
          keptBack.delete(oldest)
          break
        }
      keptBack.add(principal)
    },
    get heldBack() {
      return keptBack.size
    },
    release: () => keptBack.clear(),
  }
}

/** From 0 to below the whole, evenly. */
function placeOf(hex: string): number {
  return Math.floor((Number.parseInt(hex.slice(0, 8), 16) / 2 ** 32) * WHOLE)
}
