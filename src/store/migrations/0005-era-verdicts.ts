/** Which protocol era an endpoint was found to speak: a hint that spares a question, no part of the record. */
export const ERA_VERDICTS = `
CREATE TABLE era_verdicts (
  endpoint TEXT PRIMARY KEY,
  era TEXT NOT NULL CHECK (era IN ('modern', 'legacy')),
  revision TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`
