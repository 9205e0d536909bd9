/**
 * Reads payloads back. What an entry names by its salted digest stands under the entry's number, what an earlier comity wrote
 * under the call's id. Whoever erases one takes its row away: the entry gives nothing away without it.
 */
import type { DatabaseSync } from 'node:sqlite'

import { ComityError } from '../core/words/errors.ts'
import { saltedSha256 } from './chain.ts'
import { ENTRY_COLUMNS, type EntryRow, parseFacts, unfoldRow } from './entry-row.ts'
import { SALT_BYTES } from './payload-limits.ts'
import type { StoredPayload } from './store.ts'

const PAYLOAD = 'SELECT digest, call_id, kind, size, salt, bytes FROM payloads'

interface Said {
  readonly kind: string
  readonly size: number
  readonly digest: string
}

/** The payload of a call that its facts name. @returns undefined when there is none any more. */
export function loadPayloadOf(
  db: DatabaseSync,
  callId: string,
  kind: string,
  said: unknown,
): StoredPayload | undefined {
  const named = parseSaid(kind, said)
  if (named === undefined) return undefined
  const { digest } = named
  const entry = db
    .prepare('SELECT seq FROM entries WHERE call_id = :callId AND instr(facts, :digest) > 0')
    .get({ callId, digest })
  const found = entry && loadContent(db, Number(entry['seq']), { callId, digest })
  if (found !== undefined) return found
  const row = db
    .prepare(`${PAYLOAD} WHERE call_id = :callId AND digest = :digest`)
    .get({ callId, digest })
  return row === undefined ? undefined : parsePayload(row)
}

/** Without an index: random digests would cost every commit two more pages, and this is a person's question. */
export function loadPayload(db: DatabaseSync, digest: string): StoredPayload | undefined {
  const entry = db
    .prepare('SELECT seq, call_id FROM entries WHERE instr(facts, :digest) > 0')
    .get({ digest })
  const callId = String(entry?.['call_id'] ?? '')
  const found = entry && loadContent(db, Number(entry['seq']), { callId, digest })
  if (found !== undefined) return found
  const row = db.prepare(`${PAYLOAD} WHERE digest = :digest`).get({ digest })
  return row === undefined ? undefined : parsePayload(row)
}

/** @param seq of the row whose facts have the digest in them. */
function loadContent(
  db: DatabaseSync,
  seq: number,
  wanted: { readonly callId: string; readonly digest: string },
): StoredPayload | undefined {
  // A store that no newer comity has opened yet has no such table.
  const known = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'contents'`).get()
  const row = db.prepare(`SELECT ${ENTRY_COLUMNS} FROM entries WHERE seq = :seq`).get({ seq })
  if (known === undefined || row === undefined) return undefined
  for (const link of unfoldRow(db, row as unknown as EntryRow)) {
    const facts = parseFacts(link.facts)
    const said = findSaid(facts, wanted.digest)
    if (said === undefined) continue
    const content = db
      .prepare('SELECT salted FROM contents WHERE seq = :seq')
      .get({ seq: link.seq })
    if (content === undefined) return undefined
    const callId = said.kind === 'approval' ? String(facts['approvalId']) : wanted.callId
    return payloadOf(content['salted'] as Uint8Array, said, callId)
  }
  return undefined
}

function payloadOf(salted: Uint8Array, said: Said, callId: string): StoredPayload {
  const { digest, kind, size } = said
  const salt = salted.subarray(0, SALT_BYTES)
  const bytes = salted.subarray(SALT_BYTES)
  // Above the limit the salt alone is kept.
  if (bytes.byteLength === 0 && size > 0) return { digest, callId, kind, size, salt }
  return checked({ digest, callId, kind, size, salt, bytes })
}

/** Where facts of one entry, of whatever kind, name a payload. */
function findSaid(facts: Readonly<Record<string, unknown>>, digest: string): Said | undefined {
  const outcome = inside(facts, 'outcome')
  const places = [
    parseSaid('arguments', facts['arguments']),
    parseSaid('arguments', inside(facts, 'call')['arguments']),
    parseSaid('result', facts['result']),
    parseSaid('result', outcome['result']),
    parseSaid('approval', facts['case']),
  ]
  return places.find((said) => said?.digest === digest)
}

function inside(facts: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> {
  const found = facts[name]
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {}
}

function parseSaid(kind: string, said: unknown): Said | undefined {
  if (typeof said !== 'object' || said === null || !('digest' in said)) return undefined
  const size = 'bytes' in said ? Number(said.bytes) : 0
  return { kind, size, digest: String(said.digest) }
}

function parsePayload(row: Record<string, unknown>): StoredPayload {
  const bytes = row['bytes'] as Uint8Array | null
  return checked({
    digest: String(row['digest']),
    callId: String(row['call_id']),
    kind: String(row['kind']),
    size: Number(row['size']),
    salt: row['salt'] as Uint8Array,
    ...(bytes === null ? {} : { bytes }),
  })
}

function checked(payload: StoredPayload): StoredPayload {
  const { digest, salt, bytes } = payload
  if (bytes !== undefined && saltedSha256(salt, bytes) !== digest) {
    throw new ComityError(
      'store_corrupt',
      `the payload ${digest} does not fit its digest: it was damaged or changed from outside`,
    )
  }
  return payload
}
