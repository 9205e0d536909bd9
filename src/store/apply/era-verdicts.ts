/** Era verdicts on disk. A row that is wrong costs a peer one question more, so it has no checksum and no entry. */
import type { EraVerdict } from '../../core/ports/era-verdicts.ts'
import { clip } from '../canonical-text.ts'
import type { Row, Writer } from '../writer.ts'

/** Newest verdicts that are kept; each change of a launch line is an endpoint of its own. */
const MOST = 1000

export const SELECT_VERDICT =
  'SELECT era, revision, at FROM era_verdicts WHERE endpoint = :endpoint'

/** Reads a row. */
export function readVerdict({ era, revision, at }: Row): EraVerdict {
  return { era: era === 'modern' ? 'modern' : 'legacy', revision: String(revision), at: String(at) }
}

/** Keeps what an endpoint was found to speak. */
export function writeVerdict(
  writer: Writer,
  endpoint: string,
  { era, revision, at }: EraVerdict,
): void {
  writer.run(
    `INSERT INTO era_verdicts (endpoint, era, revision, at)
     VALUES (:endpoint, :era, :revision, :at)
     ON CONFLICT (endpoint) DO UPDATE SET era = :era, revision = :revision, at = :at`,
    { endpoint, era, revision: clip(revision, 40), at: clip(at, 40) },
  )
  writer.run(
    `DELETE FROM era_verdicts WHERE endpoint IN
     (SELECT endpoint FROM era_verdicts ORDER BY at DESC, endpoint LIMIT -1 OFFSET :most)`,
    { most: MOST },
  )
}

/** Forgets it. */
export function forgetVerdict(writer: Writer, endpoint: string): void {
  writer.run('DELETE FROM era_verdicts WHERE endpoint = :endpoint', { endpoint })
}
