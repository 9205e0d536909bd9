/**
 * Where a link over HTTP gets its own authorisation from. It is asked before each message and told of each refusal; whose
 * credentials they are, where they lie and how they are renewed is decided elsewhere.
 *
 * @source MCP 2026-07-28 and 2025-11-25, authorization.
 */

/** A message that is about to be sent. */
export interface Bearing {
  /** Whose credentials: the id of the principal for whom it is sent. */
  readonly principal: string
  readonly method: 'POST' | 'GET' | 'DELETE'
  /** Where to, without a fragment. */
  readonly url: string
}

/** What a server refused, and with which words. */
export interface Refusal extends Bearing {
  /** 401, or 403 when the scope did not suffice. */
  readonly status: 401 | 403
  /** Each `WWW-Authenticate` field as it came. */
  readonly challenges: readonly string[]
  /** The answer's `DPoP-Nonce`, if there was one. */
  readonly nonce?: string
  /** The headers of `headersFor` that the refused message had. */
  readonly sent: Readonly<Record<string, string>>
}

/** What becomes of a refused message. */
export type AfterRefusal =
  /** There are other credentials now: it may be sent once more. Nothing ran. */
  | { readonly kind: 'again' }
  /**
   * A person has to log in.
   *
   * @property detail what was tried, and the command to run. Never a secret.
   * @property begin begins that login, for somebody who can open an address; left out where none is to be had.
   */
  | { readonly kind: 'login'; readonly detail: string; readonly begin?: BeginLogin }

/** Begins a login, or finds the one that is open: nothing is asked of any authorization server before. Never rejects but by its signal. */
export type BeginLogin = (signal: AbortSignal) => Promise<LoginAddress>

export interface LoginAddress {
  /** Good once. Left out: there is none that could be shown. */
  readonly url?: string
  /** As of a refusal. */
  readonly detail: string
}

export interface Credentials {
  /**
   * Headers that this message bears, by lower-case name; none when there are no credentials. At once when they are at hand,
   * a promise while they are renewed. Never rejects for what an authorization server did.
   */
  headersFor(
    bearing: Bearing,
  ): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
  /** Told of a refusal; renews, steps up, or says that a person is needed. Bounded: the same message is not sent again for ever. */
  afterRefusal(refusal: Refusal, signal: AbortSignal): Promise<AfterRefusal>
}
