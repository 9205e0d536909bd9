/** Which peer linked which URI to which principal: what a resource outside every list may be read at. Bounded, oldest out first. */

export interface Links {
  add(principal: string, peer: string, uri: string): void
  find(principal: string, uri: string): string | undefined
}

/** @param limit how many links are kept in all. */
export function createLinks(limit: number): Links {
  const peers = new Map<string, string>()
  const keyOf = (principal: string, uri: string): string => JSON.stringify([principal, uri])
  return {
    add(principal, peer, uri) {
      const key = keyOf(principal, uri)
      // The first link stands: a later peer cannot take over a URI that another one gave.
      if (peers.has(key)) return
      peers.set(key, peer)
      if (peers.size <= limit) return
      for (const oldest of peers.keys()) {
        peers.delete(oldest)
        break
      }
    },
    find: (principal, uri) => peers.get(keyOf(principal, uri)),
  }
}
