/**
 * Judging a completed task: the verdict is its own record, written once, whatever news comes late meanwhile.
 *
 * Acceptance by records is a leaf, anything deeper the Judge port's. What happens after a refusal is a person's decision.
 */
import type { Judge } from './ports/judge.ts'
import type { Claimed, Tasks } from './ports/tasks.ts'
import type { Clock } from './ports/world.ts'
import { judgeRecords, sayRefusal, type Verdict } from './words/acceptance.ts'
import { OPERATOR } from './words/principal.ts'

export interface JudgePorts {
  readonly tasks: Tasks
  readonly judge: Judge
  readonly clock: Clock
}

/** Compare-and-set is retried against other writers of the same row; more than this many in a row is a fault of ours. */
const MAX_TRIES = 50

/** Judges a task whose verdict is pending. `fenced`: another owner holds it now, and judges it. */
export async function judgeTask(ports: JudgePorts, claimed: Claimed): Promise<'judged' | 'fenced'> {
  const { task } = claimed
  if (task.verdict.state !== 'pending') return 'judged'
  const refusals =
    task.acceptance === undefined
      ? []
      : judgeRecords(task.artifacts, task.acceptance).map(sayRefusal)
  // A delivery whose records already fail is not read further: its citations may point at what is not there.
  const deeper =
    refusals.length > 0
      ? { reasons: [], checks: [] }
      : await ports.judge.judge(task, await ports.tasks.artifacts(task.id))
  return commitVerdict(ports, claimed, [...refusals, ...deeper.reasons], deeper.checks)
}

/** Late news counts the version up and changes nothing that was judged: the verdict is then written on the newer row. */
async function commitVerdict(
  ports: JudgePorts,
  { task, fence }: Claimed,
  reasons: readonly string[],
  checks: readonly string[],
): Promise<'judged' | 'fenced'> {
  const judgedAt = new Date(ports.clock.now()).toISOString()
  const verdict: Verdict =
    reasons.length > 0
      ? { state: 'refused', judgedAt, reasons }
      : { state: 'accepted', judgedAt, checks }
  const facts = { verdict: verdict.state, reasons: reasons.slice(0, 20), checks }
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const now = tries === 0 ? task : await ports.tasks.load(task.id, OPERATOR)
    if (now?.verdict.state !== 'pending') return 'judged'
    const done = await ports.tasks.commit(
      {
        next: { ...now, verdict, updatedAt: judgedAt },
        writes: [],
        effects: [],
        entry: { kind: 'judged', facts },
      },
      fence,
    )
    if (done !== 'stale') return done === 'fenced' ? 'fenced' : 'judged'
  }
  throw new Error(`task ${task.id} changed under every one of ${MAX_TRIES} tries to judge it`)
}
