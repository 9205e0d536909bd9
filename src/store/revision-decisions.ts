/** The RevisionDecisions port: what holds in memory, each decision an entry of the chain. */
import type { DatabaseSync } from 'node:sqlite'

import type { RevisionDecision, RevisionDecisions, RevisionMove } from '../core/ports/migration.ts'
import { readDecision, SELECT_DECISIONS } from './apply/revision-decisions.ts'
import type { Committer } from './commit.ts'

/** The decisions of one store. */
export function createRevisionDecisions(deps: {
  readonly committer: Committer
  readonly reader: DatabaseSync
}): RevisionDecisions {
  const known = new Map<string, RevisionDecision>()
  for (const row of deps.reader.prepare(SELECT_DECISIONS).iterate()) {
    const decision = readDecision(row)
    if (decision !== undefined) known.set(keyOf(decision), decision)
  }
  return {
    find: (move) => known.get(keyOf(move)),
    async decide(decision) {
      const at = await deps.committer.submit({ do: 'revision_decide', decision })
      const made = { ...decision, at: String(at) }
      known.set(keyOf(decision), made)
      return made
    },
  }
}

function keyOf({ peer, endpoint, from, to, share }: RevisionMove): string {
  return JSON.stringify([peer, endpoint, from, to, share])
}
