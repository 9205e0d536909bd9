/** Long work at an MCP server: each task by the codec that it began with. */
import type { Work } from '../../core/ports/upstream.ts'
import type { Handle } from '../../core/words/outcome.ts'
import { createLegacyTaskWork } from './legacy-task-work.ts'
import { openTask } from './task-ref.ts'
import { createTaskWork, type TaskWorkDeps } from './task-work.ts'

export function createAnyTaskWork(deps: TaskWorkDeps): Work {
  const extension = createTaskWork(deps)
  const legacy = createLegacyTaskWork(deps)
  const of = (handle: Handle | undefined): Work =>
    handle !== undefined && openTask(handle).codec === 'legacy' ? legacy : extension
  return {
    follow: (handle, after, signal) => of(handle).follow(handle, after, signal),
    inspect: (handle, signal) => of(handle).inspect(handle, signal),
    answer: (call, exchange, dispatched) =>
      of(call.continuation?.handle).answer(call, exchange, dispatched),
    cancel: (handle, signal) => of(handle).cancel(handle, signal),
    find: (callId, sentAt, signal) => extension.find(callId, sentAt, signal),
  }
}
