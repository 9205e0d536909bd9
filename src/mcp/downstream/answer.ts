/**
 * An answer: what a method family says, before an era puts its own fields on it; and the reply that an era makes of it.
 */
import { ComityError, type ComityErrorCode } from '../../core/words/errors.ts'
import { RPC_ERRORS } from '../wire/rev-2026-07-28.ts'
import { concat, encodeJson, type Member } from '../wire/spans.ts'

export type Answer =
  | {
      readonly kind: 'result'
      /** A JSON object without the fields that only modern results have, unless `revision` says it is modern. */
      readonly bytes: Uint8Array
      /** All members of these bytes, when they were scanned already. */
      readonly members?: readonly Member[]
      /** The revision a peer wrote it in; absent for our own. */
      readonly revision?: string
      /** Default `complete`. */
      readonly resultType?: 'complete' | 'input_required' | 'task'
      /** For cacheable methods: how long a caller may keep it, milliseconds. */
      readonly ttlMs?: number
      /** Comes again with these very bytes, to the same method: whatever an era makes of them, it makes once. */
      readonly kept?: KeptForm
    }
  | {
      readonly kind: 'error'
      readonly code: number
      readonly message: string
      /** JSON bytes. */
      readonly data?: Uint8Array
      /** HTTP status on the modern door, when the code alone does not tell it. */
      readonly status?: number
    }

/** What an era made of a result that is given again and again. */
export interface KeptForm {
  /** All of its message that comes behind the id and `ttlMs`. */
  modernTail?: Uint8Array
}

export type ResultAnswer = Extract<Answer, { kind: 'result' }>

export type ErrorAnswer = Extract<Answer, { kind: 'error' }>

/** What goes back on the wire. */
export interface Reply {
  /** HTTP status, as long as no stream was begun. */
  readonly status: number
  /** One whole JSON-RPC message; absent for an empty body. */
  readonly body?: Uint8Array
  /** What comes behind `body`, written as it is and never copied: the bytes of a peer's large result. */
  readonly middle?: Uint8Array
  /** The rest of that message, written as it is behind them: nobody may change it, others send it too. */
  readonly tail?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** The caller took the request back: where nothing has to be answered, nothing is. */
  readonly withdrawn?: boolean
}

/** The message of a reply in one piece. */
export function wholeBody({ body, middle, tail }: Reply): Uint8Array | undefined {
  if (body === undefined || tail === undefined) return body
  return concat(middle === undefined ? [body, tail] : [body, middle, tail])
}

/** A result of our own. @param value plain JSON. */
export function ourResult(value: Readonly<Record<string, unknown>>): Answer {
  return { kind: 'result', bytes: encodeJson(value) }
}

/** An error of our own. @param data plain JSON. */
export function ourError(
  code: number,
  message: string,
  data?: Readonly<Record<string, unknown>>,
  status?: number,
): ErrorAnswer {
  return {
    kind: 'error',
    code,
    message,
    ...(data === undefined ? {} : { data: encodeJson(data) }),
    ...(status === undefined ? {} : { status }),
  }
}

/** The params are not what the method takes. */
export function badParams(message: string, data?: Readonly<Record<string, unknown>>): ErrorAnswer {
  return ourError(RPC_ERRORS.invalidParams, message, data)
}

/** How faults that no caller can handle are told. A message of ComityError may be shown, except for our own bugs. */
const FAULT_CODES = {
  config_invalid: RPC_ERRORS.internal,
  not_in_this_version: RPC_ERRORS.internal,
  store_locked: RPC_ERRORS.internal,
  store_unwritable: RPC_ERRORS.internal,
  store_corrupt: RPC_ERRORS.internal,
  not_found: RPC_ERRORS.invalidParams,
  not_allowed: RPC_ERRORS.invalidParams,
  conflict: RPC_ERRORS.internal,
  usage: RPC_ERRORS.invalidParams,
  internal: RPC_ERRORS.internal,
} as const satisfies Record<ComityErrorCode, number>

/** The answer to a request during which something of ours threw. */
export function faultAnswer(fault: unknown): Answer {
  if (fault instanceof ComityError && fault.code !== 'internal') {
    return ourError(FAULT_CODES[fault.code], fault.message)
  }
  return ourError(RPC_ERRORS.internal, 'internal error: this side failed; its log says more')
}

/** The answer when a result cannot be passed on because readers may disagree about it. */
export function unreadableResult(): ErrorAnswer {
  return ourError(
    RPC_ERRORS.internal,
    'the answer cannot be passed on: members of its result or _meta are repeated; it may have run',
  )
}
