/** A question from a peer to the one who asked for the work, and its answer. */
import type { Native } from './native.ts'

export type QuestionKind = 'form' | 'url' | 'text' | 'sampling' | 'roots'

export interface Question {
  readonly kind: QuestionKind
  /** Unique within its call or task: the MCP `inputRequests` key, or ours for an A2A question. */
  readonly key: string
  /** What the peer wrote, for people; quoted as the peer's. */
  readonly text: string
  /** The question in the peer's own form: an MCP input request object, or an A2A Message. */
  readonly native: Native
  /** Nothing on the wire said which of the open calls it belongs to: it was given to the most recent one of its principal. */
  readonly attributed?: true
}

export interface Answer {
  readonly key: string
  readonly action: 'accept' | 'decline' | 'cancel'
  /** Nobody was asked, and why: the rules do not let it through, or the caller cannot be asked that. */
  readonly unasked?: 'rules' | 'caller'
  /** MCP: the bare result object under the key. Otherwise text or JSON of the answer in our plain form. */
  readonly native?: Native
  readonly text?: string
  /** Structured answer, when given. */
  readonly data?: unknown
}

/** Which questions this caller can bear, for this call: what may be declared to the peer. */
export interface CallerCan {
  readonly form: boolean
  readonly url: boolean
  readonly sampling: boolean
  readonly roots: boolean
  /** A call may become a task: its handle is taken in place of its result, by the caller (`own`) or by whoever stands between (`held`). */
  readonly tasks?: 'own' | 'held'
  /** Extensions that the caller declared, by identifier with its settings; the peer hears of those that are relayed. */
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** A caller that can be asked nothing. */
export const CANNOT_BE_ASKED: CallerCan = { form: false, url: false, sampling: false, roots: false }
