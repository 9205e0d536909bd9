/** The Judge: everything acceptance needs beyond the records. Reads through dispatch, so the gate holds for it too. */
import type { Artifact } from '../words/artifact.ts'
import type { TaskRecord } from '../words/task.ts'

export interface Judge {
  /** Reasons to refuse, empty when none; `checks` says what was looked at, with counts. @throws Error when it cannot judge now. */
  judge(
    task: TaskRecord,
    artifacts: readonly Artifact[],
  ): Promise<{ readonly reasons: readonly string[]; readonly checks: readonly string[] }>
}
