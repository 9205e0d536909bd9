/**
 * The era that a server was found to speak, remembered so that it is not asked each time.
 *
 * Kept beyond this process only when the server itself said so; what silence or a lost connection let
 * us assume holds for this process alone. A session era may end by an update: it is asked again in time.
 */
import type { EraVerdicts } from '../../core/ports/era-verdicts.ts'
import type { Clock } from '../../core/ports/world.ts'
import type { Agreement } from './link.ts'

export interface Era {
  /** What to assume; undefined: ask. */
  assumed(): Agreement | undefined
  /** @param sure whether the server itself said so. */
  found(agreement: Agreement, sure: boolean): void
  /** What was assumed is not so. */
  broke(): void
  /** What was assumed led nowhere: it is not assumed the next time. */
  doubt(): void
}

/** After this a server is asked whether it speaks the modern era by now. */
const LEGACY_HOLDS_MS = 7 * 24 * 60 * 60 * 1000

/** Makes the memory of one endpoint. */
export function createEra(endpoint: string, clock: Clock, verdicts: EraVerdicts | undefined): Era {
  let known: Agreement | undefined
  let stored = verdicts?.read(endpoint)
  return {
    assumed() {
      if (known !== undefined || stored === undefined) return known
      const age = clock.now() - Date.parse(stored.at)
      return stored.era === 'legacy' && !(age < LEGACY_HOLDS_MS) ? undefined : stored
    },
    found({ era, revision }, sure) {
      known = { era, revision }
      if (!sure) return
      const at = new Date(clock.now()).toISOString()
      stored = { era, revision, at }
      verdicts?.write(endpoint, stored)
    },
    broke() {
      known = undefined
      if (stored === undefined) return
      stored = undefined
      verdicts?.forget(endpoint)
    },
    doubt() {
      known = undefined
      stored = undefined
    },
  }
}
