/**
 * The id of an analysis: a handle in the caller's hands that a later call passes back.
 *
 * Sealed, bound to the caller and to the exact bytes that were compared, good for a day. It opens
 * nothing by itself: what it names must still be there, unchanged and open to the same caller.
 */
import { hkdfSync } from 'node:crypto'
import { createSeal } from '../mcp/downstream/seal.ts'

const LIFETIME_MS = 24 * 3_600_000

/** One side of an analysis. */
export interface AnalysedSide {
  readonly document: string
  readonly digest: string
}

/** What an id stands for. */
export interface AnalysedVersions {
  readonly from: AnalysedSide
  readonly to: AnalysedSide
}

/** Ids of analyses. */
export interface AnalysisHandles {
  /** @returns the id, and until when it is good, epoch milliseconds. */
  issue(
    principal: string,
    analysed: AnalysedVersions,
  ): { readonly id: string; readonly expiresAt: number }
  /** @returns what it stands for, or why it is refused, in words for the caller. */
  open(id: string, principal: string): AnalysedVersions | { readonly refused: string }
}

interface Content extends AnalysedVersions {
  readonly kind: 'analysis'
  readonly principal: string
  readonly expiresAt: number
}

/**
 * Ids under one key: whoever has the same key knows them, also another process.
 *
 * @param key 32 secret bytes; used for nothing else, another one is derived from it.
 * @param now epoch milliseconds.
 */
export function createAnalysisHandles(key: Uint8Array, now: () => number): AnalysisHandles {
  const own = hkdfSync('sha256', key, new Uint8Array(), 'comity docs, ids of analyses', 32)
  const seal = createSeal(new Uint8Array(own))
  return {
    issue(principal, { from, to }) {
      const expiresAt = now() + LIFETIME_MS
      const content: Content = { kind: 'analysis', principal, from, to, expiresAt }
      return { id: seal.seal('question', content), expiresAt }
    },
    open(id, principal) {
      // Only we can have sealed it, so its form is known.
      const content = seal.open('question', id) as Content | undefined
      // The same words for another's id and for none: whether it is somebody's is not told.
      if (content?.kind !== 'analysis' || content.principal !== principal) {
        return { refused: 'analysis_id: it was not given to you by analyze_versions' }
      }
      if (content.expiresAt <= now()) return { refused: 'analysis_id: it has expired' }
      return { from: content.from, to: content.to }
    },
  }
}
