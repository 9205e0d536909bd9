/** What peers were found to speak, kept so that a restart need not ask again. A verdict is a hint: one that is missing costs a question. */

/** What the peer itself said, and when. */
export interface EraVerdict {
  readonly era: 'modern' | 'legacy'
  readonly revision: string
  /** ISO string. */
  readonly at: string
}

/** Verdicts by endpoint. Nobody waits for a write. */
export interface EraVerdicts {
  read(endpoint: string): EraVerdict | undefined
  write(endpoint: string, verdict: EraVerdict): void
  forget(endpoint: string): void
}
