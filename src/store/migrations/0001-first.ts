/**
 * 0001: the first form of the store. What each record means is in STORAGE.md.
 *
 * SQL lives in a .ts file so that the emitted package needs no assets. Every mutable record carries `sum`, a checksum over
 * its own columns: SQLite has none per page, and a flipped byte must be reported, not believed.
 */
export const FIRST = `
CREATE TABLE store (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id TEXT NOT NULL,
  run TEXT NOT NULL
) STRICT;

CREATE TABLE entries (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  kind TEXT NOT NULL,
  call_id TEXT,
  task_id TEXT,
  facts TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE INDEX entries_by_call ON entries (call_id, seq) WHERE call_id IS NOT NULL;
CREATE INDEX entries_by_task ON entries (task_id, seq) WHERE task_id IS NOT NULL;
CREATE INDEX entries_of_pins ON entries (seq) WHERE kind = 'pin_accepted';

CREATE TABLE payloads (
  digest TEXT NOT NULL,
  call_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  size INTEGER NOT NULL,
  salt BLOB NOT NULL,
  bytes BLOB
) STRICT;
CREATE INDEX payloads_by_call ON payloads (call_id);

CREATE TABLE calls (
  call_id TEXT PRIMARY KEY,
  opened_seq INTEGER NOT NULL,
  opened_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'caller_gone', 'unknown', 'settled', 'refused')),
  side_effect INTEGER NOT NULL,
  act_key TEXT,
  principal TEXT NOT NULL,
  task_id TEXT,
  outcome TEXT,
  settled_at INTEGER,
  idempotency_key TEXT,
  idempotency_digest TEXT,
  sum TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX calls_by_key ON calls (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX calls_unsettled ON calls (act_key, opened_seq) WHERE state IN ('unknown', 'caller_gone');
CREATE INDEX calls_open ON calls (opened_seq) WHERE state IN ('open', 'caller_gone');

CREATE TABLE approvals (
  id TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  digest TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'spent')),
  asked TEXT NOT NULL,
  asked_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  answered_at INTEGER,
  answered_by TEXT,
  spent_by TEXT,
  sum TEXT NOT NULL
) STRICT;
CREATE INDEX approvals_by_digest ON approvals (digest, seq);
CREATE INDEX approvals_by_seq ON approvals (seq);

CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  principal TEXT NOT NULL,
  state TEXT NOT NULL,
  call_id TEXT NOT NULL,
  document TEXT NOT NULL,
  created_seq INTEGER NOT NULL,
  sum TEXT NOT NULL
) STRICT;
CREATE INDEX tasks_by_principal ON tasks (principal, created_seq);
CREATE INDEX tasks_by_created ON tasks (created_seq);

CREATE TABLE leases (
  task_id TEXT PRIMARY KEY,
  fence INTEGER NOT NULL,
  owner TEXT,
  until INTEGER NOT NULL,
  lease_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE effects (
  task_id TEXT NOT NULL,
  effect TEXT NOT NULL CHECK (effect IN ('follow', 'find', 'judge')),
  due_at INTEGER NOT NULL,
  asked_version INTEGER NOT NULL,
  PRIMARY KEY (task_id, effect)
) STRICT;
CREATE INDEX effects_due ON effects (due_at);

CREATE TABLE parts (
  task_id TEXT NOT NULL,
  artifact_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('text', 'raw', 'url', 'data')),
  content BLOB NOT NULL,
  media_type TEXT,
  filename TEXT,
  sum TEXT NOT NULL,
  PRIMARY KEY (task_id, artifact_id, position)
) STRICT;

CREATE TABLE pins (
  peer TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  definition TEXT NOT NULL,
  seq INTEGER NOT NULL,
  sum TEXT NOT NULL,
  PRIMARY KEY (peer, endpoint, kind, name, fingerprint)
) STRICT;

CREATE TABLE pin_changes (
  peer TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  definition TEXT NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (peer, endpoint, kind, name)
) STRICT;
`
