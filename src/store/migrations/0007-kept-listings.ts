/** What each peer offered when it was last listed: spares callers a wait at the start, no part of the record. Definitions stand in `pins`. */
export const KEPT_LISTINGS = `
CREATE TABLE kept_listings (
  peer TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  at INTEGER NOT NULL,
  listing TEXT NOT NULL,
  sum TEXT NOT NULL,
  PRIMARY KEY (peer, endpoint)
) STRICT, WITHOUT ROWID;
`
