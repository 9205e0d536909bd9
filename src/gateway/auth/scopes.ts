/**
 * Which scopes are asked for, and how often more of them.
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
const OFFLINE = 'offline_access'

/** @returns each once; none when the parameter is to be left out. */
export function chooseScopes(words: ScopeWords): readonly string[] {
  const { challenged, resource, server, configured, earlier } = words
  const wanted = new Set([...earlier, ...(challenged ?? resource ?? []), ...configured])
  const asked = [...wanted].filter((scope) => scope !== OFFLINE && SCOPE.test(scope))
  // Alone it would replace what the server gives to those who ask for nothing.
  const isOffline = words.wantsRefresh && asked.length > 0 && server?.includes(OFFLINE) === true
  return [...asked.slice(0, MAX_SCOPES), ...(isOffline ? [OFFLINE] : [])]
}

/** Counts what was asked for again, so that a server that is never content is not asked for ever. */
export interface StepUps {
  /**
   * Whether more scopes may be asked for once more.
   *
   * @param key whose, where and for what.
   */
  admit(key: string): boolean
  /** It worked: counted from the beginning. */
  succeed(key: string): void
}

/** How often, and for how many keys it is counted. */
export interface StepUpOptions {
  readonly now: () => number
  /** Default 2: with the first login a person is sent there three times. */
  readonly limit?: number
  /** After that it is forgotten. Default ten minutes. */
  readonly maxAgeMs?: number
  /** Default 1000; the oldest is forgotten. */
  readonly maxKeys?: number
}

/** @returns a count of nothing yet. */
export function createStepUps(options: StepUpOptions): StepUps {
  const { now, limit = 2, maxAgeMs = 600_000, maxKeys = 1000 } = options
  const counts = new Map<string, { readonly since: number; count: number }>()
  return {
    admit(key) {
      const known = counts.get(key)
      if (known !== undefined && now() - known.since < maxAgeMs) {
        known.count += 1
        return known.count <= limit
      }
      const oldest = counts.keys().next().value
      if (counts.size >= maxKeys && oldest !== undefined) counts.delete(oldest)
      counts.delete(key)
      counts.set(key, { since: now(), count: 1 })
      return true
    },
    succeed(key) {
      counts.delete(key)
    },
  }
}
