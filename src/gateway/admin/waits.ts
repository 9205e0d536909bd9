/** How long the operator's verbs wait: for a task, for anything, always bounded; what is waited for goes on either way. */
import { ComityError } from '../../core/words/errors.ts'
import { OPERATOR } from '../../core/words/principal.ts'
import { nextMover, SEARCHED, type TaskRecord } from '../../core/words/task.ts'
import type { Live } from './operator.ts'
import type { HostParts } from './parts.ts'
import { reportTask } from './reports.ts'

/** Timers hold less than 25 days; a longer wait is as good as that. */
export const LONGEST_TIMER_MS = 0x7fffffff

/** Waits for a task to end or ask, at most `waitMs`, telling every change; the work goes on either way. */
export async function waitForTask(
  parts: HostParts,
  taskId: string,
  waitMs: number,
  live: Live,
): Promise<ReturnType<typeof reportTask>> {
  const stop = waitMs <= 0 ? AbortSignal.abort() : AbortSignal.any([live.signal, timeoutOf(waitMs)])
  let state: string | undefined
  const tell = (seen: TaskRecord): void => {
    if (seen.state !== state && waitMs > 0)
      live.event({
        event: 'task',
        taskId,
        state: seen.state,
        ...(seen.theirWords === undefined ? {} : { text: seen.theirWords }),
      })
    state = seen.state
  }
  let task = await parts.resume.wait(taskId, OPERATOR, stop, tell)
  // A first send whose reply was lost is being looked for: its fate is worth the rest of the wait.
  while (task !== undefined && isLookedFor(task) && !stop.aborted) {
    await parts.store.tasks.changed(taskId, task.version, stop)
    task = await parts.resume.wait(taskId, OPERATOR, stop, tell)
  }
  if (task === undefined) throw new ComityError('not_found', `no task ${taskId}`)
  const goesOn = nextMover(task.state) === 'agent' || task.verdict.state === 'pending'
  return reportTask(task, waitMs > 0 && goesOn ? 'still_working' : 'over')
}

function isLookedFor({ state, handle, cursor }: TaskRecord): boolean {
  return state === 'unknown' && handle === undefined && cursor !== SEARCHED
}

function timeoutOf(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.min(Math.max(1, ms), LONGEST_TIMER_MS))
}

/** `promise`, or undefined when the time or the signal is first. */
export async function raced<T>(
  promise: Promise<T>,
  ms: number,
  signal: AbortSignal,
): Promise<T | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<undefined>()
  const end = (): void => resolve(undefined)
  const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS))
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await Promise.race([promise, over])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}
