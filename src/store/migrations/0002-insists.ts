/** Which unsettled call was overridden by which: an insist on one call lets one other through. */
export const INSISTS = `
CREATE TABLE insists (
  call_id TEXT PRIMARY KEY,
  by_call TEXT NOT NULL,
  sum TEXT NOT NULL
) STRICT;
`
