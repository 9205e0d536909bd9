/**
 * Leases: one writer a task. A claim counts the task's fence up; whoever comes back with an older number is refused.
 * An owner that claims anew what it still holds keeps its number: a quiet worker of its own is not fenced off by it.
 *
 * The lease is the task's, not the effect's, so two effects of one task never run at the same time.
 */
import type { Writer } from '../writer.ts'
import { loadTaskRow, type TaskRow } from './task-row.ts'

export interface ClaimedRow {
  readonly task: TaskRow
  readonly effect: string
  readonly fence: number
}

const DUE = `SELECT effects.task_id AS taskId, effects.effect AS effect FROM effects
  LEFT JOIN leases ON leases.task_id = effects.task_id
  WHERE effects.due_at <= :now AND effects.effect IN (SELECT value FROM json_each(:effects))
    AND (leases.owner IS NULL OR leases.until <= :now)
  ORDER BY effects.due_at, effects.task_id, effects.effect LIMIT :rows`

/** Whether any effect could be claimed now; asked of a reader, so that idle polling writes nothing. */
export const SELECT_ANY_DUE = DUE

/** Claims due effects, at most one a task. */
export function claimEffects(
  writer: Writer,
  claim: {
    readonly owner: string
    readonly limit: number
    readonly leaseMs: number
    readonly effects: string
  },
): readonly ClaimedRow[] {
  const claimed = new Map<string, ClaimedRow>()
  // At most three effects a task, so this many rows hold `limit` tasks when there are as many.
  for (const due of writer.all(DUE, {
    now: writer.now,
    rows: claim.limit * 3,
    effects: claim.effects,
  })) {
    const taskId = String(due['taskId'])
    if (claimed.size >= claim.limit || claimed.has(taskId)) continue
    const task = loadTaskRow(writer, taskId)
    if (task === undefined) continue
    const fence = takeLease(writer, taskId, claim)
    claimed.set(taskId, { task, effect: String(due['effect']), fence })
  }
  return [...claimed.values()]
}

function takeLease(
  writer: Writer,
  taskId: string,
  claim: { readonly owner: string; readonly leaseMs: number },
): number {
  const lease = writer.get(
    `INSERT INTO leases (task_id, fence, owner, until, lease_ms) VALUES (:taskId, 1, :owner, :until, :leaseMs)
     ON CONFLICT (task_id) DO UPDATE SET
       fence = fence + CASE WHEN owner = excluded.owner THEN 0 ELSE 1 END, owner = excluded.owner,
       until = excluded.until, lease_ms = excluded.lease_ms
     RETURNING fence`,
    { taskId, owner: claim.owner, until: writer.now + claim.leaseMs, leaseMs: claim.leaseMs },
  )
  return Number(lease?.['fence'])
}

/** An expired lease that nobody else took still holds. */
export function holdsFence(
  writer: Writer,
  taskId: string,
  fence: { readonly owner: string; readonly number: number },
): boolean {
  const lease = writer.get('SELECT fence, owner FROM leases WHERE task_id = :taskId', { taskId })
  return lease?.['owner'] === fence.owner && lease['fence'] === fence.number
}

/** A holder that writes is alive: its lease starts again. */
export function renewLease(writer: Writer, taskId: string): void {
  writer.run('UPDATE leases SET until = :now + lease_ms WHERE task_id = :taskId', {
    taskId,
    now: writer.now,
  })
}

/** Gives a claimed effect back: done, or due again later. A fenced holder changes nothing. */
export function releaseEffect(
  writer: Writer,
  release: {
    readonly taskId: string
    readonly effect: string
    readonly claimedVersion: number
    readonly owner: string
    readonly fence: number
    readonly delayMs: number | null
  },
): void {
  const { taskId, effect, claimedVersion: version } = release
  if (!holdsFence(writer, taskId, { owner: release.owner, number: release.fence })) return
  writer.run('UPDATE leases SET owner = NULL, until = 0 WHERE task_id = :taskId', { taskId })
  // An effect asked for again since the claim stays due now.
  if (release.delayMs === null) {
    writer.run(
      'DELETE FROM effects WHERE task_id = :taskId AND effect = :effect AND asked_version <= :version',
      { taskId, effect, version },
    )
  } else {
    writer.run(
      'UPDATE effects SET due_at = :due WHERE task_id = :taskId AND effect = :effect AND asked_version <= :version',
      { taskId, effect, version, due: writer.now + release.delayMs },
    )
  }
}

/** Every lease of an owner that is gone: released, with a higher fence. */
export function releaseAll(writer: Writer): number {
  return writer.run(
    'UPDATE leases SET owner = NULL, until = 0, fence = fence + 1 WHERE owner IS NOT NULL',
    {},
  )
}
