/** Approvals for the gate and for people. What decides (single use, expiry) is in apply/approvals.ts, in the writer's thread. */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'

import type { Clock } from '../core/ports/world.ts'
import type { Approval } from '../core/words/approval.ts'
import {
  type ApprovalRow,
  parseApprovalRow,
  readApproval,
  SELECT_APPROVALS,
  SELECT_APPROVALS_BY_DIGEST,
  stateOf,
} from './apply/approvals.ts'
import type { Committer } from './commit.ts'
import type { StoredApprovals } from './store.ts'

const MAX_LISTED = 1000

/** The approvals of one store. */
export function createApprovals(
  deps: { readonly committer: Committer; readonly reader: DatabaseSync },
  clock: Clock,
): StoredApprovals {
  const { committer, reader } = deps
  return {
    find: async (digest) => findApproval(reader, digest, clock.now()),
    request: async (asked, ttlMs) => {
      const row = await committer.submit({
        do: 'approval_request',
        id: `ap_${randomBytes(8).toString('hex')}`,
        digest: asked.digest,
        asked: JSON.stringify(asked),
        facts: {
          principal: asked.principal,
          peer: asked.peer,
          capability: asked.capability,
          endpoint: asked.endpoint,
          risk: asked.risk,
          rule: asked.rule,
        },
        ttlMs,
      })
      return readApproval(row as ApprovalRow, clock.now())
    },
    list: () => listApprovals(reader, clock.now()),
    answer: async (id, state, by) => {
      const row = await committer.submit({ do: 'approval_answer', id, state, by })
      return readApproval(row as ApprovalRow, clock.now())
    },
  }
}

/** Newest first. */
export function listApprovals(reader: DatabaseSync, now: number): readonly Approval[] {
  return reader
    .prepare(SELECT_APPROVALS)
    .all({ limit: MAX_LISTED })
    .map((row) => readApproval(parseApprovalRow(row), now))
}

function findApproval(reader: DatabaseSync, digest: string, now: number): Approval | undefined {
  const newest = reader
    .prepare(SELECT_APPROVALS_BY_DIGEST)
    .all({ digest })
    .map(parseApprovalRow)
    .find((row) => stateOf(row, now) !== 'expired')
  return newest === undefined ? undefined : readApproval(newest, now)
}
