/** The EraVerdicts port: reads from the reader, writes through the committer. */
import type { DatabaseSync } from 'node:sqlite'

import type { EraVerdicts } from '../core/ports/era-verdicts.ts'
import { readVerdict, SELECT_VERDICT } from './apply/era-verdicts.ts'
import type { Committer } from './commit.ts'

/** The verdicts of one store. */
export function createEraVerdicts(deps: {
  readonly committer: Committer
  readonly reader: DatabaseSync
}): EraVerdicts {
  const { committer, reader } = deps
  return {
    read(endpoint) {
      const row = reader.prepare(SELECT_VERDICT).get({ endpoint })
      return row === undefined ? undefined : readVerdict(row)
    },
    // Not among the words that are kept when the disk refuses: one that is missing costs a question.
    write: (endpoint, verdict) => {
      committer.submit({ do: 'verdict_write', endpoint, verdict }).catch(() => undefined)
    },
    forget: (endpoint) => {
      committer.submit({ do: 'verdict_forget', endpoint }).catch(() => undefined)
    },
  }
}
