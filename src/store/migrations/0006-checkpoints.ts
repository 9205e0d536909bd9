/** Signed positions of the chain; the same stand in a file outside, by which a cut tail is found. */
export const CHECKPOINTS = `
CREATE TABLE checkpoints (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  hash TEXT NOT NULL,
  key TEXT NOT NULL,
  signature TEXT NOT NULL
) STRICT;
`
