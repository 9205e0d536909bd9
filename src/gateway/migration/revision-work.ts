/**
 * Long work at a peer between two revisions: each task goes on by the revision that it began with, whatever was decided since.
 *
 * The revision is written into the task's own handle, beside what its connection needs: a peer without a canary reads the same
 * handle and passes it over.
 */
import type { Work } from '../../core/ports/upstream.ts'
import { isObject } from '../../core/words/is-object.ts'
import type { Handle, Outcome } from '../../core/words/outcome.ts'

/** @returns the same outcome, its task marked with the revision that it is followed by. */
export function markTask(outcome: Outcome, revision: string): Outcome {
  if (!('handle' in outcome) || outcome.handle?.kind !== 'mcp_task') return outcome
  const ref = readRef(outcome.handle)
  if (ref === undefined) return outcome
  const sealed = JSON.stringify({ ...ref, revision })
  return { ...outcome, handle: { ...outcome.handle, sealed } } as Outcome
}

/** @returns undefined for handles that say nothing of it. */
export function revisionOf(handle: Handle): string | undefined {
  const revision = handle.kind === 'mcp_task' ? readRef(handle)?.['revision'] : undefined
  return typeof revision === 'string' ? revision : undefined
}

function readRef({ sealed }: Handle): Readonly<Record<string, unknown>> | undefined {
  try {
    const ref: unknown = JSON.parse(sealed)
    return isObject(ref) ? ref : undefined
  } catch {
    return undefined
  }
}

/** @param workOf the work of the side that a handle belongs to; without one that of the lists. */
export function createRevisionWork(workOf: (handle: Handle | undefined) => Work): Work {
  return {
    follow: (handle, after, signal) => workOf(handle).follow(handle, after, signal),
    inspect: (handle, signal) => workOf(handle).inspect(handle, signal),
    answer: (call, exchange, dispatched) =>
      workOf(call.continuation?.handle).answer(call, exchange, dispatched),
    cancel: (handle, signal) => workOf(handle).cancel(handle, signal),
    find: (callId, sentAt, signal) => workOf(undefined).find(callId, sentAt, signal),
  }
}
