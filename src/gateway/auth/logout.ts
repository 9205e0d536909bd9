/** Logging out: what was granted is taken back where it came from, as far as that is possible, and forgotten here in any case. */
import { ComityError } from '../../core/words/errors.ts'
import { OAuthFailure } from './oauth-failure.ts'
import type { AuthPeer, OAuth } from './oauth.ts'
import type { KeptTokens, TokenPlace, TokenStore } from './words.ts'

export interface LoggedOut {
  readonly issuer: string
  readonly resource: string
  /** The authorization server took them back. */
  readonly revoked: boolean
  /** Why not. No secret. */
  readonly detail?: string
}

/** @throws ComityError when the tokens cannot be written. */
export async function logOut(
  { oauth, store }: { readonly oauth: OAuth; readonly store: TokenStore },
  owner: string,
  peer: AuthPeer,
  signal: AbortSignal,
): Promise<readonly LoggedOut[]> {
  const out: LoggedOut[] = []
  for (const place of store.placesOf(owner, peer.name)) {
    // After a renewal that is under way: what that one brings is taken back too.
    out.push(
      await store.exclusively(place, async () => {
        const kept = loadReadable(store, place)
        // First: whatever the server says, nobody here uses them any more.
        store.remove(place, store.versionOf(place))
        const { issuer, resource } = place
        return { issuer, resource, ...(await takeBack(oauth, peer, place, kept, signal)) }
      }),
    )
  }
  return out
}

async function takeBack(
  oauth: OAuth,
  peer: AuthPeer,
  place: TokenPlace,
  kept: KeptTokens | undefined,
  signal: AbortSignal,
): Promise<Pick<LoggedOut, 'revoked' | 'detail'>> {
  if (kept === undefined) return { revoked: false, detail: 'they could not be opened' }
  try {
    const discovered = await oauth.discover(peer, undefined, signal)
    // To nobody but who gave them.
    if (discovered.server.issuer !== place.issuer)
      return { revoked: false, detail: `${peer.name} names another authorization server now` }
    if (await oauth.revoke(peer, discovered, kept.tokens, signal)) return { revoked: true }
    return {
      revoked: false,
      detail: 'the authorization server takes none back: they run out there',
    }
  } catch (error) {
    if (error instanceof OAuthFailure) return { revoked: false, detail: error.message }
    throw error
  }
}

function loadReadable(store: TokenStore, place: TokenPlace): KeptTokens | undefined {
  try {
    return store.load(place)
  } catch (error) {
    if (error instanceof ComityError && error.code === 'store_corrupt') return undefined
    throw error
  }
}
