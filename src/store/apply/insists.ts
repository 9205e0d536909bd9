/**
 * Insisting: one unsettled call named, one equal call sent in its place. Whoever wants another one names the newest, so that
 * many who know of the same unsettled call do not all send.
 */
import { ComityError } from '../../core/words/errors.ts'
import { rowSum } from '../chain.ts'
import type { Writer } from '../writer.ts'

const SELECT_INSIST = `SELECT call_id, by_call, sum FROM insists WHERE call_id = :callId`

/** The newest call that was sent in the place of this one; this one when none was. */
export function newestInsisting(writer: Writer, callId: string): string {
  let newest = callId
  for (;;) {
    const row = writer.get(SELECT_INSIST, { callId: newest })
    if (row === undefined) return newest
    const by = String(row['by_call'])
    if (row['sum'] !== rowSum(newest, by)) {
      throw new ComityError(
        'store_corrupt',
        `the record of who insisted on call ${newest} does not fit its checksum: restore the store from a copy`,
      )
    }
    newest = by
  }
}

/** The call is overridden, for good. */
export function recordInsist(writer: Writer, callId: string, by: string): void {
  writer.run(`INSERT INTO insists (call_id, by_call, sum) VALUES (:callId, :by, :sum)`, {
    callId,
    by,
    sum: rowSum(callId, by),
  })
}
