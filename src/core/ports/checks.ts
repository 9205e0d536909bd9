/** The checks the gate asks, each a leaf. All synchronous but approvals, which live in the store. */
import type { Approval, ApprovalCase } from '../words/approval.ts'
import type { JsonText } from '../words/native.ts'
import type { PinState } from '../words/pin.ts'
import type { Decision } from '../words/policy.ts'
import type { Principal } from '../words/principal.ts'
import type { QuestionKind } from '../words/question.ts'
import type { Route } from '../words/route.ts'

export interface PolicyCheck {
  /** A capability no rule could ever allow this principal is not shown and not known. */
  visible(principal: Principal, route: Route): boolean
  decide(principal: Principal, route: Route, args: JsonText): Decision
  /** Whether this peer, at work on a call by this route, may ask: rules match it as the capability `?<kind>`. */
  decideQuestion(principal: Principal, route: Route, kind: QuestionKind): Decision
}

export interface PinCheck {
  /** Whether the definition this route stands on is an accepted one. */
  state(route: Route): PinState
}

export interface ArgumentFault {
  /** JSON pointer into the arguments. */
  readonly path: string
  /** What was expected there. */
  readonly expected: string
}

export interface ArgumentCheck {
  /** Against the capability's full schema. Empty: nothing wrong. */
  check(route: Route, args: JsonText): readonly ArgumentFault[]
}

export interface Approvals {
  /** The newest unexpired approval for this digest that is pending, approved or denied. */
  find(digest: string): Promise<Approval | undefined>
  /** Durable when it resolves. An unexpired pending one with the same digest is returned instead of a second. */
  request(asked: ApprovalCase, ttlMs: number): Promise<Approval>
  /** Our words about the capability's definition for the case, and the peer's description. */
  describe(route: Route): string
  /** The whole command line that approves this case. Default: `comity approve <id>`. */
  commandFor?(approvalId: string): string
}
