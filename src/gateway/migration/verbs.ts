/** The verbs of a migration in small steps. What compares is loaded when somebody compares. */
import type { Operator } from '../admin/operator.ts'
import type { HostParts } from '../admin/parts.ts'
import { decideRevision } from './decide.ts'

/** See above. */
export function createMigrationVerbs(
  parts: HostParts,
): Pick<Operator, 'compat' | 'promote' | 'rollback'> {
  return {
    compat: async (input, live) =>
      (await import('./compat.ts')).compareRevisions(parts, input, live),
    promote: ({ peer }) => decideRevision(parts, peer, 'promoted'),
    rollback: ({ peer }) => decideRevision(parts, peer, 'rolled_back'),
  }
}
