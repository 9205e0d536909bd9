/** A person's decision about the revisions of a peer: an entry, and nothing beside it that could say something else. */
import type { RevisionDecision } from '../../core/ports/migration.ts'
import { clip } from '../canonical-text.ts'
import type { Writer } from '../writer.ts'

/** In order, so that the last one about a move is the one that holds. The kind is written out: only so the index serves. */
export const SELECT_DECISIONS = `SELECT at, facts FROM entries WHERE kind = 'revision_decided' ORDER BY seq`

/** Longest text of an entry that is a name. */
const LONGEST = 400

/** Puts it on record. @returns when, as the entry has it. */
export function decideRevision(
  writer: Writer,
  { peer, endpoint, from, to, share, decided, by }: Omit<RevisionDecision, 'at'>,
): string {
  writer.append({
    kind: 'revision_decided',
    facts: {
      peer: clip(peer, LONGEST),
      endpoint,
      from: clip(from, LONGEST),
      to: clip(to, LONGEST),
      share,
      decided,
      by: clip(by, LONGEST),
    },
  })
  return new Date(writer.now).toISOString()
}

/** @returns undefined for an entry that this version does not understand. */
export function readDecision(row: Readonly<Record<string, unknown>>): RevisionDecision | undefined {
  const facts = JSON.parse(String(row['facts'])) as Readonly<Record<string, unknown>>
  const { decided } = facts
  if (decided !== 'promoted' && decided !== 'rolled_back') return undefined
  return {
    peer: String(facts['peer']),
    endpoint: String(facts['endpoint']),
    from: String(facts['from']),
    to: String(facts['to']),
    share: Number(facts['share']),
    decided,
    at: String(row['at']),
    by: String(facts['by']),
  }
}
