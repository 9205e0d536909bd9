/** Why no token could be had. What it says may be shown to a person; it never holds a secret. */

/**
 * What kind of failure it is.
 *
 * - `unreachable`: an address did not answer, or not in time. It may be tried again.
 * - `forbidden_address`: an address that came from outside is none that we go to.
 * - `no_metadata`: nobody says where to log in.
 * - `untrustworthy`: what was said breaks a rule that protects us (other issuer, other resource, no PKCE). Nothing was sent.
 * - `client_needed`: the operator has to configure a client.
 * - `rejected`: the authorization server said no.
 * - `config`: the configuration cannot be used as it is.
 */
export type OAuthFailureReason =
  | 'unreachable'
  | 'forbidden_address'
  | 'no_metadata'
  | 'untrustworthy'
  | 'client_needed'
  | 'rejected'
  | 'config'

/** A stranger's text within a message of ours: quoted, short, and without what a terminal or a reader would take for more than text. */
export function quote(text: string): string {
  return JSON.stringify(text.slice(0, 300).replaceAll(/[^\x20-\x7e]/g, '?'))
}

/** Thrown by everything here that talks to, or judges, an authorization server. */
export class OAuthFailure extends Error {
  readonly reason: OAuthFailureReason
  /** The `error` of an authorization server, when it gave one of the registered form. */
  readonly code: string | undefined

  constructor(
    reason: OAuthFailureReason,
    message: string,
    options?: { readonly cause?: unknown; readonly code?: string | undefined },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'OAuthFailure'
    this.reason = reason
    this.code = options?.code
  }
}
