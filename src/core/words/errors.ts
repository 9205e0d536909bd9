/**
 * What a caller cannot handle: faults of configuration, of the store, of ourselves. What a caller should expect
 * (refused, denied, unknown) is an Outcome, never one of these.
 */

/** The closed set; each protocol's wire table must map every one of them. */
export type ComityErrorCode =
  | 'config_invalid'
  | 'not_in_this_version'
  | 'store_locked'
  | 'store_unwritable'
  | 'store_corrupt'
  | 'not_found'
  | 'not_allowed'
  | 'conflict'
  | 'usage'
  | 'internal'

/** An error whose message may be shown: it says what was expected, what came, what to change, and holds no secret. */
export class ComityError extends Error {
  readonly code: ComityErrorCode

  constructor(code: ComityErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'ComityError'
    this.code = code
  }
}
