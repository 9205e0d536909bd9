/** Migrations only go forward. `user_version` counts those applied; a store from a newer comity is refused, not guessed at. */
import type { DatabaseSync } from 'node:sqlite'

import { ComityError } from '../../core/words/errors.ts'
import { FIRST } from './0001-first.ts'
import { INSISTS } from './0002-insists.ts'
import { APPROVALS_BY_PRINCIPAL } from './0003-approvals-by-principal.ts'
import { SESSIONS } from './0004-sessions.ts'
import { ERA_VERDICTS } from './0005-era-verdicts.ts'
import { CHECKPOINTS } from './0006-checkpoints.ts'
import { KEPT_LISTINGS } from './0007-kept-listings.ts'
import { REVISION_DECISIONS } from './0008-revision-decisions.ts'
import { FEWER_ROWS } from './0009-fewer-rows.ts'

/** In order; position + 1 is the number. Never edit one that was released. */
const MIGRATIONS: readonly string[] = [
  FIRST,
  INSISTS,
  APPROVALS_BY_PRINCIPAL,
  SESSIONS,
  ERA_VERDICTS,
  CHECKPOINTS,
  KEPT_LISTINGS,
  REVISION_DECISIONS,
  FEWER_ROWS,
]

/** Marks the file as ours in its header: "comi". */
export const APPLICATION_ID = 0x63_6f_6d_69

/** A number that a pragma answers with. */
export function pragmaNumber(db: DatabaseSync, name: string): number {
  const value = Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  return typeof value === 'number' ? value : 0
}

/**
 * Refuses what is not a store of ours.
 *
 * @returns the schema version, 0 for an empty file.
 * @throws ComityError `store_corrupt` for another program's database, `not_in_this_version` for a newer store's.
 */
export function judgeSchema(db: DatabaseSync, file: string): number {
  const version = pragmaNumber(db, 'user_version')
  const marked = pragmaNumber(db, 'application_id') === APPLICATION_ID
  const tables = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n']
  if (version === 0 && !marked && tables === 0) return 0
  if (version > MIGRATIONS.length && marked) {
    throw new ComityError(
      'not_in_this_version',
      `the store ${file} has schema ${version}, this comity knows up to ${MIGRATIONS.length}: use the newer comity that made it`,
    )
  }
  if (!marked || version < 1) {
    throw new ComityError(
      'store_corrupt',
      `${file} is a database, but not a comity store: name another file, or restore this one`,
    )
  }
  return version
}

/** Brings the schema up to date, each migration in its own transaction. */
export function migrate(db: DatabaseSync, file: string): void {
  for (let version = judgeSchema(db, file); version < MIGRATIONS.length; version += 1) {
    db.exec(
      `BEGIN IMMEDIATE; ${MIGRATIONS[version] ?? ''} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version + 1}; COMMIT`,
    )
  }
}
