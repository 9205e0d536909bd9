/** Sessions of callers: what each agreed on with its door, found again after a restart. */
export const SESSIONS = `
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  principal TEXT NOT NULL,
  terms TEXT NOT NULL,
  last_used_at INTEGER NOT NULL,
  sum TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`
