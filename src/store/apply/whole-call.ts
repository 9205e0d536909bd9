/** The row that a call would have which stands whole in the chain, made from its entries. */
import type { DatabaseSync } from 'node:sqlite'

import { ENTRY_COLUMNS, type EntryRow, parseFacts, SEVERAL, unfoldRow } from '../entry-row.ts'
import type { CallRow } from './call-row.ts'

const SELECT_WHOLE = `SELECT ${ENTRY_COLUMNS} FROM entries
  WHERE call_id = :callId AND kind = '${SEVERAL}' ORDER BY seq LIMIT 1`

/** @returns undefined when there is no such call. */
export function loadWhole(db: DatabaseSync, callId: string): CallRow | undefined {
  const row = db.prepare(SELECT_WHOLE).get({ callId }) as EntryRow | undefined
  const links = row === undefined ? [] : unfoldRow(db, row)
  const opened = links[0]
  const settled = links.at(-1)
  if (opened?.kind !== 'opened' || settled?.kind !== 'settled') return undefined
  const { openedAt, principal } = parseFacts(opened.facts) as {
    readonly openedAt: string
    readonly principal: { readonly id: string }
  }
  return {
    callId,
    openedSeq: opened.seq,
    openedAt: Date.parse(openedAt),
    state: 'settled',
    sideEffect: 0,
    actKey: null,
    principal: principal.id,
    taskId: null,
    outcome: settled.facts,
    settledAt: Date.parse(settled.at),
    idempotencyKey: null,
    idempotencyDigest: null,
  }
}
