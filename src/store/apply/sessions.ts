/** Sessions on disk. They are no part of the record: who opened one and what it agreed on drives nothing that is written there. */
import type { KeptSession } from '../../core/ports/sessions.ts'
import { ComityError } from '../../core/words/errors.ts'
import { rowSum } from '../chain.ts'
import type { Row, Writer } from '../writer.ts'

/** Longest terms of one session, in characters. */
const MAX_TERMS = 262_144

const COLUMNS = 'id, principal, terms, last_used_at AS lastUsedAt, sum'

export const SELECT_SESSION = `SELECT ${COLUMNS} FROM sessions WHERE id = :id`
export const SELECT_SESSIONS = `SELECT ${COLUMNS} FROM sessions ORDER BY last_used_at, id`

/**
 * Reads a row. @returns undefined when it does not fit its checksum: such a session is one that is not there, and its
 * caller opens another.
 */
export function readSession(row: Row): KeptSession | undefined {
  const id = String(row['id'])
  const principal = String(row['principal'])
  const terms = String(row['terms'])
  if (row['sum'] !== sumOf(id, principal, terms)) return undefined
  return { id, principal, terms, lastUsedAt: Number(row['lastUsedAt']) }
}

/** Makes a session or replaces its terms. */
export function saveSession(
  writer: Writer,
  { id, principal, terms, lastUsedAt }: KeptSession,
): void {
  if (terms.length > MAX_TERMS) {
    throw new ComityError(
      'usage',
      `what a session agreed on must be at most ${MAX_TERMS} characters, it is ${terms.length}`,
    )
  }
  writer.run(
    `INSERT INTO sessions (id, principal, terms, last_used_at, sum)
     VALUES (:id, :principal, :terms, :lastUsedAt, :sum)
     ON CONFLICT (id) DO UPDATE SET terms = :terms, last_used_at = :lastUsedAt, sum = :sum
     WHERE principal = :principal`,
    { id, principal, terms, lastUsedAt, sum: sumOf(id, principal, terms) },
  )
}

/** Notes a use. When it was is left out of the sum: it is written often, and a wrong one costs no more than a session. */
export function touchSession(writer: Writer, id: string, lastUsedAt: number): void {
  writer.run('UPDATE sessions SET last_used_at = :lastUsedAt WHERE id = :id', { id, lastUsedAt })
}

/** Ends sessions. */
export function removeSessions(writer: Writer, ids: readonly string[]): void {
  for (const id of ids) writer.run('DELETE FROM sessions WHERE id = :id', { id })
}

function sumOf(id: string, principal: string, terms: string): string {
  return rowSum(id, principal, terms)
}
