/** Ends a background process that nobody and nothing needs: no pipe, no running call or verb, no followed task, no pending approval. */
import { OPERATOR } from '../../core/words/principal.ts'
import { type TaskRecord, isTerminal, SEARCHED } from '../../core/words/task.ts'
import type { Store } from '../../store/store.ts'

/** What a process may be busy with. */
export interface IdleParts {
  readonly pipes: () => number
  readonly acts: () => number
  readonly serving: () => number
  readonly approvals: Store['approvals']
  readonly tasks: Store['tasks']
  /** Milliseconds that only grow. */
  readonly monotonic: () => number
}

/** Looks this often within the idle time. */
const LOOKS = 10
const LONGEST_LOOK_MS = 15_000

/** What keeps the process up now, in a word; undefined when nothing does. */
export async function busyWith(parts: IdleParts): Promise<string | undefined> {
  if (parts.pipes() > 0) return 'pipes'
  if (parts.acts() > 0) return 'acts'
  if (parts.serving() > 0) return 'verbs'
  if (parts.approvals.list().some(({ state }) => state === 'pending')) return 'approvals'
  return (await parts.tasks.list(OPERATOR)).some(isFollowed) ? 'tasks' : undefined
}

/**
 * Calls `end` once nothing has kept the process up for `idleMs`.
 *
 * @returns the way to stop looking.
 */
export function endWhenIdle(
  parts: IdleParts,
  idleMs: number,
  end: () => void,
  onFault: (error: unknown) => void,
): () => void {
  let idleSince = parts.monotonic()
  let looking = false
  const look = async (): Promise<void> => {
    if ((await busyWith(parts)) !== undefined) idleSince = parts.monotonic()
    else if (parts.monotonic() - idleSince >= idleMs) end()
  }
  const everyMs = Math.max(10, Math.min(LONGEST_LOOK_MS, idleMs / LOOKS))
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    void look()
      .catch(onFault)
      .finally(() => (looking = false))
  }, everyMs)
  return () => clearInterval(timer)
}

/** A worker looks after it: it moves by itself, waits for an answer that may come another way, or is still looked for. */
function isFollowed({ state, handle, cursor, verdict }: TaskRecord): boolean {
  if (verdict.state === 'pending') return true
  if (isTerminal(state)) return false
  if (state === 'unknown' && (handle === undefined || cursor === SEARCHED))
    return cursor !== SEARCHED
  return handle !== undefined && handle.kind !== 'mcp_state'
}
