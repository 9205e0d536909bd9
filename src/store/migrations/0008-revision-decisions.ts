/** Decisions about revisions are entries alone; what holds is found again at every opening. */
export const REVISION_DECISIONS = `
CREATE INDEX entries_of_revisions ON entries (seq) WHERE kind = 'revision_decided';
`
