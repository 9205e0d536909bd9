/** Translator: pure, asked only when the protocol of the caller's door and the peer's differ. */
import type { NewCall } from '../words/call.ts'
import type { Native, Protocol } from '../words/native.ts'
import type { Outcome } from '../words/outcome.ts'

export interface Translated<T> {
  readonly value: T
  /** Fields that have no place on the other side; recorded. */
  readonly dropped: readonly string[]
}

export interface Translator {
  /** The caller's message in the form the route's peer understands. @throws TypeError when it cannot be said there. */
  request(call: NewCall): Translated<Native>
  /** The peer's outcome in the form of the caller's protocol. */
  outcome(outcome: Outcome, to: Protocol): Translated<Outcome>
}
