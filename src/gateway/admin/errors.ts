/** The errors that verbs and commands raise, for the rooms above the gateway. */
import { ComityError } from '../../core/words/errors.ts'

export { ComityError, type ComityErrorCode } from '../../core/words/errors.ts'

/** The process that owned the store ended before it answered: what it did is in the ledger, not known to who asked. */
export class OwnerGone extends ComityError {
  /** Something may have been sent to a peer. */
  readonly mayHaveActed: boolean
  /** It was there to be asked; false when it had ended before. */
  readonly reached: boolean

  constructor(mayHaveActed: boolean, cause: unknown, reached = true) {
    const message = mayHaveActed
      ? 'the process that owns the store ended before it answered: it may have run. What was sent is on record: comity ledger'
      : 'the process that owns the store ended before it answered'
    super('internal', message, { cause })
    this.name = 'OwnerGone'
    this.mayHaveActed = mayHaveActed
    this.reached = reached
  }
}
