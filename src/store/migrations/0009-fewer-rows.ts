/**
 * What a call costs on the disk: payloads by the number of their entry, without an index of their own, and texts that many
 * entries share, once. Entries of before stay as they are.
 */
export const FEWER_ROWS = `
CREATE TABLE contents (
  seq INTEGER PRIMARY KEY,
  salted BLOB NOT NULL
) STRICT;

CREATE TABLE texts (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL
) STRICT;
`
