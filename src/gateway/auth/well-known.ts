/** Where metadata lies, made from the identifier that it is of. Pure. */

/** The canonical URI of a peer: lower-case scheme and host, no fragment, no slash alone. @source RFC 8707; MCP 2026-07-28, authorization */
export function canonicalResource(peerUrl: string): string {
  const { origin, pathname, search } = new URL(peerUrl)
  return pathname === '/' ? `${origin}${search}` : `${origin}${pathname}${search}`
}

/**
 * Whether a resource that metadata names is this peer, or a parent of it: same origin, same path or whole segments of its
 * beginning.
 *
 * @source RFC 9728, section 3.3; MCP 2026-07-28, authorization, canonical server URI.
 */
export function coversPeer(resource: string, peerUrl: string): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false
  const named = new URL(resource)
  const peer = new URL(peerUrl)
  if (named.origin !== peer.origin || named.username !== '' || named.password !== '') return false
  if (named.search !== '' && named.search !== peer.search) return false
  const parent = named.pathname.replace(/\/$/, '')
  return peer.pathname === named.pathname || `${peer.pathname}/`.startsWith(`${parent}/`)
}

/** The places of a protected resource's metadata, in their order. @source RFC 9728, section 3.1; MCP 2026-07-28, authorization */
export function resourcePlaces(peerUrl: string): readonly string[] {
  const { origin, pathname, search } = new URL(peerUrl)
  const root = `${origin}/.well-known/oauth-protected-resource`
  const path = pathname.replace(/\/$/, '')
  return path === '' ? [root] : [`${root}${path}${search}`, root]
}

/** The places of an authorization server's metadata, in their order. @source RFC 8414, section 3.1; MCP 2026-07-28, authorization */
export function serverPlaces(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ]
  return path === '' ? places : [...places, `${origin}${path}/.well-known/openid-configuration`]
}
