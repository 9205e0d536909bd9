/** The KeptListings port: reads from the reader, writes through the committer. */
import type { DatabaseSync } from 'node:sqlite'

import type { KeptListings } from '../core/ports/kept-listings.ts'
import { readListing, SELECT_DEFINITIONS, SELECT_LISTING } from './apply/kept-listings.ts'
import type { Committer } from './commit.ts'

/** The kept listings of one store. */
export function createKeptListings(deps: {
  readonly committer: Committer
  readonly reader: DatabaseSync
}): KeptListings {
  const { committer, reader } = deps
  return {
    read({ name, endpoint }) {
      const row = reader.prepare(SELECT_LISTING).get({ name, endpoint })
      if (row === undefined) return undefined
      const definitions = reader.prepare(SELECT_DEFINITIONS).all({ name, endpoint })
      return readListing({ name, endpoint }, row, definitions)
    },
    // Not among the words that are kept when the disk refuses: one that is missing costs a wait.
    write: ({ name, endpoint }, listing) => {
      const peer = { name, endpoint }
      committer.submit({ do: 'listing_write', peer, listing }).catch(() => undefined)
    },
  }
}
