/**
 * Which scopes are asked for, and which texts are scopes.
 *
 * @source MCP 2026-07-28, authorization, scope selection strategy and step-up authorization flow; SEP-2207.
 */

/** All that is known when scopes are chosen. */
export interface ScopeWords {
  /** Of the refusal: what this very message needs. */
  readonly challenged?: readonly string[] | undefined
  /** All that the peer's own metadata lists. */
  readonly resource?: readonly string[] | undefined
  /** All that the authorization server lists. */
  readonly server?: readonly string[] | undefined
  /** That the operator asks for beside. */
  readonly configured: readonly string[]
  /** That were asked for or granted before. */
  readonly earlier: readonly string[]
  /** Whether a refresh token is wanted: a person is not asked again. */
  readonly wantsRefresh: boolean
}

/** A scope as it may be sent. @source RFC 6749, section 3.3 */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/
const MAX_SCOPES = 100
/** More than this of what a server says of them is not read, characters. */
const MAX_TEXT = 16 * 1024
const OFFLINE = 'offline_access'

/** @returns each once; none when the parameter is to be left out. */
export function chooseScopes(words: ScopeWords): readonly string[] {
  const { challenged, resource, server, configured, earlier } = words
  const wanted = new Set([...earlier, ...(challenged ?? resource ?? []), ...configured])
  const asked = [...wanted].filter((scope) => scope !== OFFLINE && isScope(scope))
  // Alone it would replace what the server gives to those who ask for nothing.
  const isOffline = words.wantsRefresh && asked.length > 0 && server?.includes(OFFLINE) === true
  return [...asked.slice(0, MAX_SCOPES), ...(isOffline ? [OFFLINE] : [])]
}

/** Whether a text is one scope. */
export function isScope(text: string): boolean {
  return SCOPE.test(text)
}

/** The scopes of a server's text: what is none is passed over. */
export function splitScopes(text: string): readonly string[] {
  return text.slice(0, MAX_TEXT).split(/ +/).filter(isScope)
}
