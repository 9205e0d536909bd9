/**
 * The state of an export that waits for its language, in the caller's hands.
 *
 * Sealed, bound to the caller, the tool and its arguments, good for ten minutes and for one use:
 * the caller gets it back, and so can whoever overhears them. A new process has a new key and
 * knows no older state.
 */
import { createSeal } from '../mcp/downstream/seal.ts'

const LIFETIME_MS = 10 * 60_000
/** Used states are remembered until they expire; with so many at once further ones are refused. */
const MAX_REMEMBERED = 100_000
/** How often the caller is asked again when the answer names no language. */
const MAX_ROUNDS = 5

/** What a state belongs to. */
export interface ExportBinding {
  readonly principal: string
  readonly document: string
}

/** States of exports. */
export interface ExportStates {
  /** A state for a question that is about to be asked; undefined when it was asked too often. */
  issue(binding: ExportBinding, round: number): string | undefined
  /**
   * Takes a state back; it is used up then.
   *
   * @returns its round, or why it is refused, in words for the caller.
   */
  redeem(
    state: string,
    binding: ExportBinding,
  ): { readonly round: number } | { readonly refused: string }
}

interface Content extends ExportBinding {
  readonly tool: string
  readonly round: number
  readonly expiresAt: number
  readonly nonce: string
}

/**
 * States under one key.
 *
 * @param key 32 secret bytes, new in every process.
 * @param now epoch milliseconds.
 * @param createNonce gives another text each time.
 */
export function createExportStates({
  key,
  now,
  createNonce,
}: {
  readonly key: Uint8Array
  readonly now: () => number
  readonly createNonce: () => string
}): ExportStates {
  const seal = createSeal(key)
  const used = new Map<string, number>()
  return {
    issue(binding, round) {
      if (round > MAX_ROUNDS) return undefined
      const content: Content = {
        principal: binding.principal,
        tool: 'export_report',
        document: binding.document,
        round,
        expiresAt: now() + LIFETIME_MS,
        nonce: createNonce(),
      }
      return seal.seal('question', content)
    },
    redeem(state, { principal, document }) {
      // Only we can have sealed it, so its form is known.
      const content = seal.open('question', state) as Content | undefined
      const isTheirs =
        content?.tool === 'export_report' &&
        content.principal === principal &&
        content.document === document
      if (content === undefined || !isTheirs) {
        return { refused: 'requestState: it was not given to you for this call' }
      }
      if (content.expiresAt <= now()) return { refused: 'requestState: it has expired' }
      forgetExpired(used, now())
      if (used.has(content.nonce)) return { refused: 'requestState: it was used already' }
      if (used.size >= MAX_REMEMBERED) return { refused: 'requestState: too many at once' }
      used.set(content.nonce, now() + LIFETIME_MS)
      return { round: content.round }
    },
  }
}

/** Stops at the first that is still good: all live equally long and stand in the order of their use. */
function forgetExpired(used: Map<string, number>, now: number): void {
  for (const [nonce, forgetAt] of used) {
    if (forgetAt > now) return
    used.delete(nonce)
  }
}
