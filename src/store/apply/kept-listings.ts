/** Kept listings on disk: names, order and fingerprints. What a capability looked like is in the pins, which the chain vouches for. */
import type { KeptListing, KeptPeer, ListingToKeep } from '../../core/ports/kept-listings.ts'
import { rowSum } from '../chain.ts'
import type { Row, Writer } from '../writer.ts'

/** Newest listings that are kept; each change of a launch line is an endpoint of its own. */
const MOST = 500
/** Longest listing, in characters: the largest that a peer may have, with names of usual length. */
const MAX_LISTING = 4_194_304

export const SELECT_LISTING =
  'SELECT at, listing, sum FROM kept_listings WHERE peer = :name AND endpoint = :endpoint'

export const SELECT_DEFINITIONS = `SELECT kind, name, fingerprint, definition FROM pins
  WHERE peer = :name AND endpoint = :endpoint`

/** @returns undefined when the row does not fit its checksum: then it is as if it was not there. */
export function readListing(
  { name, endpoint }: KeptPeer,
  row: Row,
  definitions: readonly Row[],
): KeptListing | undefined {
  const at = Number(row['at'])
  const text = String(row['listing'])
  if (row['sum'] !== rowSum(name, endpoint, at, text)) return undefined
  const listing = JSON.parse(text) as ListingToKeep
  const accepted = new Map(
    definitions.map(({ kind, name: own, fingerprint, definition }) => [
      keyOf(String(kind), String(own), String(fingerprint)),
      String(definition),
    ]),
  )
  return {
    ...listing,
    at: new Date(at).toISOString(),
    capabilities: listing.capabilities.flatMap((one) => {
      const definition = accepted.get(keyOf(one.kind, one.name, one.fingerprint))
      return definition === undefined ? [] : [{ ...one, definition }]
    }),
  }
}

/** Keeps what a peer offers now. One that is too large to keep is not kept at all: an older one would say what is not so. */
export function writeListing(
  writer: Writer,
  { name, endpoint }: KeptPeer,
  listing: ListingToKeep,
): void {
  const text = JSON.stringify(listing)
  if (text.length > MAX_LISTING) {
    writer.run('DELETE FROM kept_listings WHERE peer = :name AND endpoint = :endpoint', {
      name,
      endpoint,
    })
    return
  }
  const at = writer.now
  writer.run(
    `INSERT INTO kept_listings (peer, endpoint, at, listing, sum)
     VALUES (:name, :endpoint, :at, :text, :sum)
     ON CONFLICT DO UPDATE SET at = :at, listing = :text, sum = :sum`,
    { name, endpoint, at, text, sum: rowSum(name, endpoint, at, text) },
  )
  writer.run(
    `DELETE FROM kept_listings WHERE (peer, endpoint) IN
     (SELECT peer, endpoint FROM kept_listings ORDER BY at DESC, peer, endpoint LIMIT -1 OFFSET :most)`,
    { most: MOST },
  )
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts)
}
