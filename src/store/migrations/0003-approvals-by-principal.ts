/** Whose approvals wait: the bound on them is each principal's own. A copy out of `asked`, so no part of the row's sum. */
export const APPROVALS_BY_PRINCIPAL = `
ALTER TABLE approvals ADD COLUMN principal TEXT NOT NULL DEFAULT '';
UPDATE approvals SET principal = json_extract(asked, '$.principal');
CREATE INDEX approvals_waiting ON approvals (principal, expires_at) WHERE state = 'pending';
`
